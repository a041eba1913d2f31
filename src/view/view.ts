/** A view of memory, without the memory: shape, strides and offset, the last two in BYTES. */
export interface View {
  readonly shape: readonly number[];
  /** Bytes from one index to the next along each axis; may be negative or 0. */
  readonly strides: readonly number[];
  /** Byte position of index [0, …, 0]. */
  readonly offset: number;
  /** Bytes of one element. */
  readonly itemBytes: number;
}
