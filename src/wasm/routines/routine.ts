/** What code written by hand is made for: see run/routine.ts, which runs it. */
export interface RoutineOptions {
  /** Is the memory shared? Its import has to say so. */
  readonly shared: boolean;
  readonly simd: boolean;
  /** Fused multiply-add is there. */
  readonly fma: boolean;
}
