/** What takes the place of a value that is not there, in tables that have such. */
import { type DType, dtypes, type Value } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import { failFile } from "./names.ts";

/** What nulls become. */
export type NullValue = number | bigint | boolean;

export function checkNulls(operation: string, nulls: unknown): void {
  if (nulls === undefined || ["number", "bigint", "boolean"].includes(typeof nulls)) return;
  fail(
    "value",
    operation,
    `nulls is ${describe(nulls)}.`,
    "Give the number that they become: { nulls: NaN }.",
  );
}

/** Its bytes; an error where the dtype cannot hold it. */
export function nullBytes(
  operation: string,
  file: string,
  entry: string,
  dtype: DType,
  nulls: NullValue,
): Uint8Array {
  const { bytes, kind, big, min, max, write, wrap } = dtypes[dtype];
  const value: Value = typeof nulls === "boolean" ? Number(nulls) : nulls;
  const isHeld =
    kind === "float" ||
    ((typeof value === "bigint" || Number.isInteger(value)) && value >= min && value <= max);
  if (!isHeld) {
    failFile(
      operation,
      file,
      entry,
      `nulls would become ${nulls}, which no ${dtype} is.`,
      "Choose another value, or read the columns one by one.",
    );
  }
  const out = new Uint8Array(bytes);
  write(new DataView(out.buffer), 0, wrap(big ? BigInt(value) : Number(value)));
  return out;
}
