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
  /** For large blocks: whether the anchor is dead can be seen before its finalizer runs. */
  anchor: WeakRef<Anchor> | null;
}

/** Blocks from this size on are found by `sweep`; so there are never too many to look through. */
const LARGE_BYTES = 65536;

/** Keep it in a private field of the owner and nowhere else. */
export class Anchor {
  readonly token: Token;

  constructor(token: Token) {
    this.token = token;
  }
}

export class Backstop {
  readonly #free: (address: number) => void;
  readonly #registry: FinalizationRegistry<Token>;
  readonly #idle: Anchor[] = [];
  readonly #large = new Set<Token>();

  constructor(free: (address: number) => void) {
    this.#free = free;
    this.#registry = new FinalizationRegistry((token) => this.#bury(token));
  }

  /** `address` is freed once the anchor is garbage. */
  watch(address: number, bytes: number): Anchor {
    const anchor = this.#idle.pop() ?? this.#register();
    const { token } = anchor;
    token.address = address;
    if (bytes >= LARGE_BYTES && token.anchor === null) {
      token.anchor = new WeakRef(anchor);
      this.#large.add(token);
    }
    return anchor;
  }

  /** The owner frees the block itself and forgets the anchor. */
  unwatch(anchor: Anchor): void {
    anchor.token.address = null;
    this.#idle.push(anchor);
  }

  /**
   * Frees the large blocks whose anchors are dead and wait for their finalizers. Only where no operation is under way:
   * one may still use the block of an owner that it has no more need of.
   */
  sweep(): void {
    for (const token of this.#large) if (token.anchor?.deref() === undefined) this.#bury(token);
  }

  #register(): Anchor {
    const token: Token = { address: null, anchor: null };
    const anchor = new Anchor(token);
    this.#registry.register(anchor, token);
    return anchor;
  }

  #bury(token: Token): void {
    this.#large.delete(token);
    const { address } = token;
    token.address = null;
    if (address !== null) this.#free(address);
  }
}
