/** What the command line needs of files, and nothing more: `strided/io` gives it (files.ts), tests give their own. */
import type { DType } from "../dtype.ts";
import type { Quantised } from "../quantised/quantised.ts";
import type { Tensor } from "../tensor.ts";
import type { SliceItem } from "../view/slice.ts";

/** One tensor of a file, as its header describes it. */
export interface Entry {
  readonly name: string;
  /** The format's own name of its element type. */
  readonly type: string;
  /** null: no dtype holds such elements; where they are not decoded, it cannot be read. */
  readonly dtype: DType | null;
  /** Elements lie in blocks, and `read` gives them in this dtype. */
  readonly decoded?: DType;
  readonly shape: readonly number[];
  readonly bytes: number;
}

/** An open file: its entries are known, their elements are read when they are asked for. */
export interface Archive {
  readonly format: string;
  readonly entries: readonly Entry[];
  readonly meta: Readonly<Record<string, unknown>>;
  read(name: string, slice?: readonly SliceItem[]): Promise<Tensor>;
  /** An entry as it is, in blocks where it is; absent where none is. */
  keep?(name: string): Promise<Tensor | Quantised>;
  close(): Promise<void>;
}

export interface Files {
  /** A path, a URL, or the bytes that came by standard input. */
  open(source: string | Uint8Array): Promise<Archive>;
  /** Writes tensors by name, in the format that the path ends in, with what it can hold of the metadata they came with. */
  save(
    path: string,
    tensors: Readonly<Record<string, Tensor | Quantised>>,
    from: Pick<Archive, "format" | "meta">,
  ): Promise<void>;
}
