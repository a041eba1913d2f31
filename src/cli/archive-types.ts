/** What the command line needs of files, and nothing more: `strided/io` gives it (files.ts), tests give their own. */
import type { DType } from "../dtype.ts";
import type { Quantised } from "../quantised/quantised.ts";
import type { QuantisedDType } from "../quantised/types.ts";
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
  /** Where its elements lie in one piece of the file. */
  readonly byteStrides?: readonly number[];
  /** A slice of it reads all of it. */
  readonly whole?: true;
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

/** A tensor that is to be written, and is read when its turn comes. */
export interface Lazy {
  readonly name: string;
  readonly dtype: DType | QuantisedDType;
  readonly shape: readonly number[];
  /** Where it is to be written in blocks: those. */
  readonly blocks?: () => Promise<Quantised>;
  /** Its elements in row-major order, some at a time. Whoever takes a piece disposes of it. */
  pieces(): AsyncIterable<Tensor>;
  /** All of it. */
  whole(): Promise<Tensor>;
}

export interface Files {
  /** A path, a URL, or the bytes that came by standard input. */
  open(source: string | Uint8Array): Promise<Archive>;
  /** Writes tensors by name, in the format that the path ends in, with what it can hold of the metadata they came with. */
  save(path: string, tensors: readonly Lazy[], from: Pick<Archive, "format" | "meta">): Promise<void>;
  /** Writes u8 [height, width, 3] as PNG. */
  savePicture(path: string, picture: Tensor): Promise<void>;
}
