/**
 * A folder as a store, in Node. A key appears when all of its bytes are there, or not at all: they are written under another
 * name in the same folder, and renamed. Nothing leaves the folder: links in it are not followed.
 */
import { fail } from "../errors.ts";
import { checkFlag, readOptions } from "../ops/arguments.ts";
import { quoted } from "./names.ts";
import { makeFolder, type NodeModules, nodeModules } from "./node.ts";
import { failSystem } from "./source.ts";
import { flushFolder, readPath, temporaryOf } from "./target.ts";
import { failAt, type Shelf, storeOf, type ZarrRange, type ZarrStore } from "./zarr-store.ts";

/** How a folder is written and read. */
export interface FolderStoreOptions {
  /** Waits until every key has reached the disk: it survives a power cut, too, and takes milliseconds a key. Default false. */
  readonly flush?: boolean;
  /** Folders and files in it may be symbolic links to anywhere. Default false. */
  readonly followSymlinks?: boolean;
}

/**
 * A store in a folder. It is made when the first key is written.
 *
 *     const array = await zarr.open(zarr.folderStore("measured.zarr"));
 *
 * A path does the same where no options are needed: `zarr.open("measured.zarr")`.
 *
 * @param path the folder
 * @param options `flush`, `followSymlinks`
 * @returns a store
 * @example
 * await zarr.save(zarr.folderStore("x.zarr"), tensor([1, 2]));
 * (await zarr.load("x.zarr")).array; // → f32 [1, 2]
 */
export function folderStore(path: string | URL, options?: FolderStoreOptions): ZarrStore {
  const operation = "zarr.folderStore";
  const { flush, followSymlinks } = readOptions(operation, options, "{ flush: true }", [
    "flush",
    "followSymlinks",
  ]);
  checkFlag(operation, "flush", flush);
  checkFlag(operation, "followSymlinks", followSymlinks);
  return storeOf(
    folderShelf(operation, path, { flush: flush === true, followSymlinks: followSymlinks === true }),
  );
}

/** What a key, or a folder of keys, is called until it is complete; listings leave such names out. */
const temporary = /^\..*\.[0-9a-f]{12}\.tmp$/;

/** Removes from a folder, and from those in it, what was never completed: only when nobody writes there any more. */
export async function removeTemporaries(operation: string, path: string): Promise<void> {
  const { fs, path: paths } = nodeModules(operation);
  for (const entry of await fs.readdir(path, { withFileTypes: true }).catch(() => [])) {
    const full = paths.join(path, entry.name);
    if (temporary.test(entry.name)) await fs.rm(full, { force: true, recursive: true });
    else if (entry.isDirectory()) await removeTemporaries(operation, full);
  }
}
/** Folders that are known to be none but folders: beyond this they are looked at again. */
const MOST_KNOWN = 10_000;

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;
const isMissing = (error: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(codeOf(error) as string);

export function folderShelf(
  operation: string,
  path: string | URL,
  options: Required<FolderStoreOptions>,
): Shelf {
  const modules = nodeModules(operation);
  const root = rootOf(operation, path, modules);
  return shelfAt(modules, root, quoted(root), options);
}

/** A folder under the name that messages have for it. */
function shelfAt(
  modules: NodeModules,
  root: string,
  name: string,
  options: Required<FolderStoreOptions>,
): Shelf {
  const { flush, followSymlinks } = options;
  const { fs, path: paths } = modules;
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = fs.constants;
  const flags = O_RDONLY | O_NONBLOCK | (followSymlinks ? 0 : O_NOFOLLOW);
  const pathTo = (parts: readonly string[]) => paths.join(root, ...parts);
  /** Folders that were looked at, by their path below the root. */
  const known = new Set<string>();
  const failLink = (op: string, key: string): never =>
    failAt(
      op,
      name,
      key,
      "it is or lies behind a symbolic link.",
      "If you trust the folder: zarr.folderStore(path, { followSymlinks: true }).",
    );
  const failed = (op: string, key: string, error: unknown): never => {
    if (codeOf(error) === "ELOOP") failLink(op, key);
    return failSystem(op, `${name}, key ${quoted(key)}`, error);
  };
  const unmade = (op: string, key: string, error: unknown): never =>
    isMissing(error) ? failAt(op, name, key, "no folder can be made there.") : failed(op, key, error);

  /** Are the folders of a key there, each of them no link? With `make` they are made. */
  const checkFolders = async (
    op: string,
    key: string,
    parts: readonly string[],
    make: boolean,
  ): Promise<boolean> => {
    if (make && !known.has("")) {
      await makeFolder(modules, root).catch((error) => {
        if (codeOf(error) !== "EEXIST") unmade(op, key, error);
        failAt(op, name, key, "it is a file, not a folder.", "Give another path, or remove the file.");
      });
      known.add("");
    }
    for (let n = 1; n <= parts.length; n++) {
      const below = parts.slice(0, n).join("/");
      if (known.has(below)) continue;
      const full = pathTo(parts.slice(0, n));
      if (make) {
        await fs.mkdir(full).catch((error) => {
          if (codeOf(error) !== "EEXIST") failed(op, key, error);
        });
      }
      try {
        const facts = followSymlinks ? await fs.stat(full) : await fs.lstat(full);
        if (facts.isSymbolicLink()) failLink(op, key);
        if (!facts.isDirectory()) {
          if (!make) return false;
          failAt(op, name, key, `${quoted(below)} is a file, not a folder.`);
        }
      } catch (error) {
        if (isMissing(error)) return false;
        failed(op, key, error);
      }
      if (known.size >= MOST_KNOWN) known.clear();
      known.add(below);
    }
    return true;
  };

  /** Runs with the open file; null where there is none. */
  const withFile = async <R>(
    op: string,
    key: string,
    signal: AbortSignal | undefined,
    use: (file: Awaited<ReturnType<typeof fs.open>>, size: number) => Promise<R>,
  ): Promise<R | null> => {
    signal?.throwIfAborted();
    const parts = key.split("/");
    try {
      const file = await fs.open(pathTo(parts), flags);
      try {
        // Looked at after it was opened: a key that is not there costs one call, not several.
        if (!(await checkFolders(op, key, parts.slice(0, -1), false))) return null;
        const facts = await file.stat();
        if (!facts.isFile()) failAt(op, name, key, "it is no file.");
        return await use(file, facts.size);
      } finally {
        await file.close();
      }
    } catch (error) {
      if (isMissing(error)) return null;
      signal?.throwIfAborted();
      return failed(op, key, error);
    }
  };
  const readInto = async (
    op: string,
    key: string,
    file: Awaited<ReturnType<typeof fs.open>>,
    target: Uint8Array,
    from: number,
  ): Promise<void> => {
    for (let done = 0; done < target.length; ) {
      const { bytesRead } = await file.read(target, done, target.length - done, from + done);
      if (bytesRead === 0) failAt(op, name, key, `it ends at byte ${from + done}: it was changed meanwhile.`);
      done += bytesRead;
    }
  };

  const shelf: Shelf = {
    name,
    hint: "A folder is read as one of Zarr; of other files, open one.",
    get: (op, key, { range, most, signal }) =>
      withFile(op, key, signal, async (file, size) => {
        const [from, length] = placeOf(range, size);
        if (most !== undefined && length > most) {
          failAt(op, name, key, `it has ${length} bytes, ${most} at the most are expected.`);
        }
        const bytes = new Uint8Array(length);
        await readInto(op, key, file, bytes, from);
        return bytes;
      }),
    async fill(op, key, target, signal, all = target.length, from = 0) {
      const found = await withFile(op, key, signal, async (file, size) => {
        if (size !== all) failAt(op, name, key, `it has ${size} bytes, ${all} are expected.`);
        await readInto(op, key, file, target, from);
        return true;
      });
      return found === true;
    },
    async set(op, key, bytes, signal) {
      const parts = key.split("/");
      const full = pathTo(parts);
      const aside = temporaryOf(full, modules);
      const opened = async (): Promise<Awaited<ReturnType<typeof fs.open>>> => {
        await checkFolders(op, key, parts.slice(0, -1), true);
        // "wx": never a file, or a link, that somebody else has put there.
        return fs.open(aside, "wx");
      };
      signal?.throwIfAborted();
      const file = await opened().catch((error) => {
        if (!isMissing(error)) return failed(op, key, error);
        // A folder that was there before has gone.
        known.clear();
        return opened().catch((again) => failed(op, key, again));
      });
      try {
        try {
          for (let done = 0; done < bytes.length; ) {
            done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
          }
          if (flush) await file.sync();
        } finally {
          await file.close();
        }
        signal?.throwIfAborted();
        await fs.rename(aside, full);
      } catch (error) {
        await fs.rm(aside, { force: true }).catch(() => {});
        signal?.throwIfAborted();
        failed(op, key, error);
      }
      if (flush) await flushFolder(fs, paths.dirname(full));
    },
    has: async (op, key, signal) => (await withFile(op, key, signal, async () => true)) === true,
    place: root,
    async list(op, folder, signal) {
      signal?.throwIfAborted();
      const parts = folder === "" ? [] : folder.split("/");
      if (!(await checkFolders(op, folder === "" ? "." : folder, parts, false))) return [];
      try {
        const names: string[] = [];
        for (const entry of await fs.readdir(pathTo(parts), { withFileTypes: true })) {
          // Links are neither, unless they may be followed: then opening says what they are.
          const isFolder = entry.isDirectory() || (followSymlinks && !entry.isFile());
          if (temporary.test(entry.name)) continue;
          if (isFolder) names.push(`${entry.name}/`);
          else if (entry.isFile()) names.push(entry.name);
        }
        return names;
      } catch (error) {
        return isMissing(error) ? [] : failed(op, folder, error);
      }
    },
    async remove(op, key, signal) {
      signal?.throwIfAborted();
      const parts = key.split("/");
      if (!(await checkFolders(op, key, parts.slice(0, -1), false))) return;
      await fs.rm(pathTo(parts), { force: true }).catch((error) => failed(op, key, error));
    },
    async empty(op, folder, signal) {
      signal?.throwIfAborted();
      const parts = folder === "" ? [] : folder.split("/");
      if (!(await checkFolders(op, folder === "" ? "." : folder, parts, false))) return;
      try {
        // Folders too: where one was, a chunk of another rank may come. Links are removed, not what they lead to.
        for (const entry of await fs.readdir(pathTo(parts), { withFileTypes: true })) {
          signal?.throwIfAborted();
          await fs.rm(pathTo([...parts, entry.name]), { force: true, recursive: true });
        }
      } catch (error) {
        signal?.throwIfAborted();
        failed(op, folder, error);
      }
      known.clear();
    },
    async aside(op, path) {
      const parts = path === "" ? [] : path.split("/");
      await checkFolders(op, path, parts.slice(0, -1), false);
      // Where a link leads, if it is one that may be followed: the link stays as it is.
      const target = await fs.realpath(pathTo(parts)).catch(() => pathTo(parts));
      const folder = paths.dirname(target);
      const [beside, before] = [temporaryOf(target, modules), temporaryOf(target, modules)];
      const made = await makeFolder(modules, folder).catch((error) => unmade(op, path, error));
      return {
        shelf: shelfAt(modules, beside, name, options),
        async put(replaces) {
          const swap = async () => {
            if (replaces) await fs.rename(target, before);
            // Of a folder that stays only an empty one.
            else await fs.rmdir(target).catch(() => {});
            await fs.rename(paths.join(beside, ...parts), target).catch(async (error) => {
              if (replaces) await fs.rename(before, target);
              throw error;
            });
          };
          await swap().catch((error) => failSystem(op, name, error));
          known.clear();
          if (flush) await flushFolder(fs, folder);
          for (const left of [before, beside])
            await fs
              .rm(left, { force: true, recursive: true })
              .catch((error) => failSystem(op, quoted(left), error));
        },
        async drop() {
          await fs.rm(beside, { force: true, recursive: true });
          // The folders above that are there for its sake.
          for (let at = folder; made !== undefined && at.length >= made.length; at = paths.dirname(at))
            await fs.rmdir(at).catch(() => {});
        },
      };
    },
    takesHeap: true,
  };
  return shelf;
}

/** Where a range begins in so many bytes, and how many of them it has. */
function placeOf(range: ZarrRange | undefined, size: number): [from: number, length: number] {
  if (range === undefined) return [0, size];
  if ("last" in range) return [Math.max(0, size - range.last), Math.min(size, range.last)];
  const from = Math.min(range.from, size);
  return [from, Math.min(range.length, size - from)];
}

function rootOf(operation: string, path: string | URL, { url }: NodeModules): string {
  const text = readPath(operation, path);
  if (!/^file:/i.test(text)) return text.length > 1 ? text.replace(/[/\\]+$/, "") || "/" : text;
  try {
    return url.fileURLToPath(text).replace(/(?<=.)[/\\]+$/, "");
  } catch {
    return fail("value", operation, `${quoted(text)} is no file URL.`, "Give a path.");
  }
}
