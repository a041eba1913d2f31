/**
 * How code says that an element failed: a record in the heap's first bytes, which belong to nobody. Whoever fails first
 * writes it and goes on with zeros; loops that begin afterwards have no rounds, so that all comes to its end soon. Threads
 * may write it at once: then the index may be another one's that failed too.
 */
import type { FuncBuilder, Local } from "../assembler/assembler.ts";

/** Byte addresses: what failed, the size of an axis, and the index that is none of it. */
export const FAILURE = { kind: 512, size: 516, index: 520 } as const;
/** Kinds: none, a loop without an end, and from here on a read, by the axis. */
export const failed = { nothing: 0, rounds: 1, read: 2 } as const;

/** Writes the record, unless there is one. */
export function emitFailure(
  f: FuncBuilder,
  kind: number,
  read: { readonly size: Local; readonly pushIndex: () => void } | null,
): void {
  f.i32(0)
    .load("i32.load", FAILURE.kind)
    .op("i32.eqz")
    .if(() => {
      if (read !== null) {
        f.i32(0).get(read.size).store("i32.store", FAILURE.size);
        f.i32(0);
        read.pushIndex();
        f.store("f64.store", FAILURE.index);
      }
      f.i32(0).i32(kind).store("i32.store", FAILURE.kind);
    });
}
