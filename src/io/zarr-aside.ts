/**
 * Hierarchies that appear when all of them is there: made beside their place and put there at the end, so that what failed or was
 * cut off has changed nothing, and what is replaced can be read until then. Folders and memory can do so.
 */
import { groupsMissing, isTaken, makeGroups, type Opened, type ZarrSource } from "./zarr-group.ts";
import { storeOf } from "./zarr-store.ts";

/** Makes what is to lie at `opened.path`: `make` writes it there, in the store that it is given. */
export async function madeAside<R>(
  operation: string,
  opened: Opened,
  overwrite: boolean,
  make: (store: ZarrSource) => Promise<R>,
): Promise<R> {
  const { shelf, path, signal, version = 3 } = opened;
  if (shelf.aside === undefined) return make(storeOf(shelf));
  const replaces = await isTaken(operation, opened, overwrite);
  // What is no Zarr stays there: beside it is written in place.
  const isFree = replaces || (await shelf.list?.(operation, path, signal))?.length === 0;
  if (!isFree) return make(storeOf(shelf));
  await groupsMissing(operation, opened, version, path);
  const aside = await shelf.aside(operation, path);
  try {
    const made = await make(storeOf(aside.shelf));
    signal?.throwIfAborted();
    await makeGroups(operation, opened, version, path);
    await aside.put(replaces);
    return made;
  } catch (error) {
    await aside.drop();
    throw error;
  }
}
