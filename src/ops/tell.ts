/** What whoever listens hears besides the calls themselves. Nobody listens: nothing happens. */
import { engine } from "../engine.ts";
import { messageOf } from "../errors.ts";

/** A copy that nobody asked for. */
export function tellCopy(operation: string, bytes: number, why: string): void {
  engine().listener?.({ kind: "copy", operation, bytes, why });
}

/** A function that is called instead of compiled. `why` is worded only if somebody listens. */
export function tellFallback(operation: string, why: () => string): void {
  engine().listener?.({ kind: "fallback", operation, backend: "function", why: why() });
}

/** Work that has no code, or whose code would be too large. */
export function tellInterpreted(operation: string, misfit: string): void {
  const why = messageOf(operation, misfit, "The interpreter computes it, one element at a time.");
  engine().listener?.({ kind: "fallback", operation, backend: "interpreter", why });
}
