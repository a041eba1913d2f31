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
  /** Bytes in the file, where it is compressed as a whole: a slice costs all before it. */
  readonly packed?: number;
  /** Sizes of what is stored as one. */
  readonly chunks?: readonly number[];
}

/** How a format of chunks is written. */
export interface ChunkSettings {
  readonly chunks?: readonly number[];
  readonly shards?: readonly number[];
  readonly compressor?: string;
  readonly version?: 2 | 3;
  readonly overwrite: boolean;
}

/** A file that is written block by block. */
export interface Target {
  /** A new tensor in it; `name` is null where it is the only one. */
  add(name: string | null, dtype: DType, shape: readonly number[]): Promise<Sink>;
}
export interface Sink {
  /** Sizes of what is stored as one: blocks of whole ones cost least. */
  readonly chunks: readonly number[];
  write(slice: readonly SliceItem[], t: Tensor): Promise<void>;
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
  /** A path, a URL, or the bytes that came by standard input. With `links`, files that it names may be symbolic links. */
  open(source: string | Uint8Array, links?: boolean): Promise<Archive>;
  /** Writes tensors by name, in the format that the path ends in, with what it can hold of the metadata they came with. */
  save(path: string, tensors: readonly Lazy[], from: Pick<Archive, "format" | "meta">): Promise<void>;
  /** The names of metadata that the new file would not have. */
  leaves?(path: string, from: Pick<Archive, "format" | "meta">): readonly string[];
  /** Writes u8 [height, width, 3] as PNG. */
  savePicture(path: string, picture: Tensor): Promise<void>;
  /** The path as a file that `fill` writes block by block: it is there when all is; null where its format cannot be. */
  target?<R>(
    path: string,
    from: Pick<Archive, "format" | "meta">,
    isSeveral: boolean,
    settings: ChunkSettings,
    fill: (target: Target) => Promise<R>,
  ): Promise<R> | null;
}
