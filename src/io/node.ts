/**
 * What io uses of Node, asked for at run time: bundlers see none of it, and users need no types of it. Written down as
 * far as it is used.
 */
import { fail } from "../errors.ts";

interface Stats {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ino: number;
  readonly dev: number;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

interface FileHandle {
  stat(): Promise<Stats>;
  read(into: Uint8Array, at: number, length: number, from: number): Promise<{ readonly bytesRead: number }>;
  write(bytes: Uint8Array, at: number, length: number): Promise<{ readonly bytesWritten: number }>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface FolderEntry {
  readonly name: string;
  isFile(): boolean;
  isDirectory(): boolean;
}

export interface NodeFiles {
  readonly constants: {
    readonly O_RDONLY: number;
    readonly O_NONBLOCK?: number;
    readonly O_NOFOLLOW?: number;
  };
  open(path: string, flags: number | string): Promise<FileHandle>;
  realpath(path: string): Promise<string>;
  lstat(path: string): Promise<Stats>;
  stat(path: string): Promise<Stats>;
  mkdir(path: string): Promise<unknown>;
  readdir(path: string, options: { readonly withFileTypes: true }): Promise<readonly FolderEntry[]>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { readonly force: boolean; readonly recursive?: boolean }): Promise<void>;
  rmdir(path: string): Promise<void>;
}

export interface NodePath {
  dirname(path: string): string;
  basename(path: string): string;
  join(...parts: string[]): string;
}

export interface NodeModules {
  readonly fs: NodeFiles;
  readonly path: NodePath;
  readonly url: { fileURLToPath(url: string | URL): string };
}

/** Packs and unpacks, on threads of its own. */
export interface NodeZlib {
  gzip(bytes: Uint8Array, options: ZlibOptions, done: ZlibDone): void;
  gunzip(bytes: Uint8Array, options: ZlibOptions, done: ZlibDone): void;
  deflate(bytes: Uint8Array, options: ZlibOptions, done: ZlibDone): void;
  inflate(bytes: Uint8Array, options: ZlibOptions, done: ZlibDone): void;
  gunzipSync(bytes: Uint8Array, options: ZlibOptions & { readonly info: true }): ZlibInfo;
  inflateSync(bytes: Uint8Array, options: ZlibOptions & { readonly info: true }): ZlibInfo;
  inflateRawSync(bytes: Uint8Array, options: ZlibOptions & { readonly info: true }): ZlibInfo;
  createDeflate(options: ZlibOptions): ZlibStream;
  createInflate(options: ZlibOptions): ZlibStream;
  createDeflateRaw(options: ZlibOptions): ZlibStream;
  createInflateRaw(options: ZlibOptions): ZlibStream;
  createGzip(options: ZlibOptions): ZlibStream;
  createGunzip(options: ZlibOptions): ZlibStream;
}
interface ZlibInfo {
  readonly buffer: Uint8Array;
  readonly engine: ZlibStream;
}
/** A stream of Node's that packs or unpacks. */
export interface ZlibStream {
  /** Bytes that it has taken: those that follow the end of what is packed are not among them. */
  readonly bytesWritten: number;
}
interface ZlibOptions {
  readonly level?: number;
  readonly chunkSize?: number;
  readonly maxOutputLength?: number;
  readonly highWaterMark?: number;
}
type ZlibDone = (error: Error | null, bytes: Uint8Array) => void;

interface NodeProcess {
  getBuiltinModule?(name: string): unknown;
  readonly versions?: Readonly<Record<string, string | undefined>>;
}
const node = (): NodeProcess | undefined => (globalThis as { process?: NodeProcess }).process;

export const isNode = (): boolean =>
  typeof node()?.versions?.node === "string" && typeof node()?.getBuiltinModule === "function";

/** One of Node's own modules; undefined where there is none. */
export const builtin = (name: string): unknown => (isNode() ? node()?.getBuiltinModule?.(name) : undefined);

/** Node's modules for files; an error where there are none. */
export function nodeModules(operation: string): NodeModules {
  const get = (name: string) => node()?.getBuiltinModule?.(name);
  const [fs, path, url] = [get("node:fs/promises"), get("node:path"), get("node:url")];
  if (fs === undefined || path === undefined || url === undefined) {
    fail(
      "value",
      operation,
      "this host has no files.",
      "Give a URL over HTTP, a Blob or bytes; encode gives the bytes of what save would write.",
    );
  }
  return { fs, path, url } as NodeModules;
}

/**
 * Makes a folder and those that it lies in; gives the first one that was not there. Node's own way never ends where a folder is
 * there and nothing can be made in it, as in /proc.
 */
export async function makeFolder(
  modules: Pick<NodeModules, "fs" | "path">,
  path: string,
): Promise<string | undefined> {
  const { fs, path: paths } = modules;
  const one = () =>
    fs.mkdir(path).then(
      () => path,
      async (error: unknown) => {
        const facts = await fs.stat(path).catch(() => null);
        if (facts?.isDirectory() !== true) throw error;
        return undefined;
      },
    );
  const above = paths.dirname(path);
  let made: string | undefined;
  try {
    return await one();
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ENOENT" || above === path) throw error;
    made = await makeFolder(modules, above);
  }
  const last = await one();
  return made ?? last;
}

/** Node's zlib; undefined where there is none. */
export const nodeZlib = (): NodeZlib | undefined => {
  if (!isNode()) return undefined;
  return node()?.getBuiltinModule?.("node:zlib") as NodeZlib | undefined;
};
