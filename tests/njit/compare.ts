/** What two runs made of their arguments, compared to the bit (or within ulps). */
import { expect } from "vitest";
import type { Tensor } from "../../src/index.ts";
import { type Code, eachStep, type LanesStep } from "../../src/njit/ir.ts";
import { isTensor } from "../../src/tensor.ts";

/** Everything a call gave back or wrote to, as plain data. */
export function outcome(result: unknown, args: readonly unknown[]): unknown[] {
  return [plain(result), ...args.map(plain)];
}

/** Bits beyond which a 16-bit float is NaN; which NaN it is means nothing. */
const beyond: Readonly<Record<string, number>> = { f16: 0x7c00, bf16: 0x7f80 };

export function plain(value: unknown): unknown {
  const most = isTensor(value) ? beyond[(value as Tensor).dtype] : undefined;
  if (most !== undefined) {
    const bits = (value as Tensor).toTypedArray() as unknown as Iterable<number>;
    return Array.from(bits, (b) => ((b & 0x7fff) > most ? Number.NaN : b));
  }
  if (isTensor(value)) return Array.from((value as Tensor).toTypedArray() as Iterable<unknown>);
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as Iterable<unknown>);
  return Array.isArray(value) ? value.map(plain) : value;
}

const words = new DataView(new ArrayBuffer(8));
function ordered(x: number): bigint {
  words.setFloat64(0, x);
  const bits = words.getBigInt64(0);
  return bits < 0n ? -(bits & 0x7fffffffffffffffn) : bits;
}
const isNear = (a: unknown, b: unknown, ulps: number): boolean => {
  if (Object.is(a, b)) return true;
  if (typeof a !== "number" || typeof b !== "number" || Number.isNaN(a) || Number.isNaN(b)) return false;
  const distance = ordered(a) - ordered(b);
  return distance <= BigInt(ulps) && -distance <= BigInt(ulps);
};

/** Where they differ first, as text; null: nowhere. */
export function difference(a: unknown, b: unknown, ulps = 0, at = "result"): string | null {
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return `${at}: ${a.length} against ${b.length} entries`;
    for (let i = 0; i < a.length; i++) {
      const found = difference(a[i], b[i], ulps, `${at}[${i}]`);
      if (found !== null) return found;
    }
    return null;
  }
  return isNear(a, b, ulps) ? null : `${at}: ${show(a)} against ${show(b)}`;
}

const show = (x: unknown): string =>
  Object.is(x, -0) ? "-0" : `${String(x)}${typeof x === "bigint" ? "n" : ""}`;

export function expectSame(a: unknown, b: unknown, ulps = 0): void {
  expect(difference(a, b, ulps)).toBeNull();
}

/** The loops of a function that run by lanes. */
export function lanesOf(code: Code): LanesStep[] {
  const found: LanesStep[] = [];
  eachStep(code.body, (s) => {
    if (s.op === "lanes") found.push(s);
  });
  return found;
}
