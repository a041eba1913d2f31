/** A small deterministic generator (mulberry32): the same seed is the same case on every host. */
export interface Random {
  /** A whole number from 0 below n. */
  below(n: number): number;
  /** One of them. */
  pick<T>(of: readonly T[]): T;
}

export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const below = (n: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * n);
  };
  return { below, pick: (of) => of[below(of.length)] };
}

/** A whole number that follows from a text alone. */
export function hashOf(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h ^ (h >>> 13)) >>> 0;
}
