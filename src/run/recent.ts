/** A map of limited size: what has not been asked for the longest time makes room for what is new. */
export class Recent<V> {
  readonly #most: number;
  /** From the one that was used longest ago to the last one. */
  readonly #entries = new Map<string, V>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#most) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest);
  }
}

/** Compiled kernels that are kept for functions nobody holds any more, of each kind. */
export const MOST_KERNELS = 1024;
