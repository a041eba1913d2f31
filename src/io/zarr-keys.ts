/** What chunks are called: `c/1/0`, `1.0` and their like. */

/** "default" of version 3 begins with a c; "v2" has the indices alone. */
export interface KeyStyle {
  readonly style: "default" | "v2";
  readonly separator: "." | "/";
}

/** The key of a chunk below its array. */
export function chunkKey({ style, separator }: KeyStyle, index: readonly number[]): string {
  if (style === "default") return ["c", ...index].join(separator);
  return index.length === 0 ? "0" : index.join(separator);
}

/** A key below a folder; "" is the root. */
export const below = (folder: string, key: string): string => (folder === "" ? key : `${folder}/${key}`);
