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

/** Is it the name of a chunk, or of a folder of chunks? Then it is no member of a group. */
export const isChunkName = (name: string): boolean => /^(c|\d+([./]\d+)*|c\.\d+(\.\d+)*)$/.test(name);
