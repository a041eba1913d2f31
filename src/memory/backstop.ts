/**
 * Frees the blocks of owners that became garbage without having freed them. A backstop, not a plan: hosts run
 * finalizers between tasks, never inside a synchronous loop.
 *
 * Registering an object with a FinalizationRegistry and taking it out again costs more than the allocation.
 * So owners are not registered: each holds an `Anchor`, nothing else does, and it dies with its owner. The
 * anchor of an owner that frees its block by hand goes to the next one; a registration is made once and reused.
 */

/** What the registry holds: the address to free, or null while there is none. */
interface Token {
  address: number | null;
}

/** Keep it in a private field of the owner and nowhere else. */
export class Anchor {
  readonly token: Token;

  constructor(token: Token) {
    this.token = token;
  }
}

export class Backstop {
  readonly #registry: FinalizationRegistry<Token>;
  readonly #idle: Anchor[] = [];

  constructor(free: (address: number) => void) {
    this.#registry = new FinalizationRegistry((token) => {
      const { address } = token;
      token.address = null;
      if (address !== null) free(address);
    });
  }

  /** `address` is freed once the anchor is garbage. */
  watch(address: number): Anchor {
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      idle.token.address = address;
      return idle;
    }
    const token: Token = { address };
    const anchor = new Anchor(token);
    this.#registry.register(anchor, token);
    return anchor;
  }

  /** The owner frees the block itself and forgets the anchor. */
  unwatch(anchor: Anchor): void {
    anchor.token.address = null;
    this.#idle.push(anchor);
  }
}
