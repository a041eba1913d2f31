/**
 * What loads at once: the engine, and the functions most programs use. The rest of the library is fetched when a program
 * asks for it, so that the first load stays small. Imported file by file: the barrel would bring all of it.
 */
import * as api from "../../src/api.ts";
import { dtypeNames, promoted } from "../../src/dtype.ts";
import { configure, memory, ready } from "../../src/engine.ts";
import { TensorError } from "../../src/errors.ts";
import { explain } from "../../src/explain/explain.ts";
import { kernel } from "../../src/kernel.ts";
import { rawMap, rawMatmul, rawReduce, rawZip } from "../../src/library/raw.ts";
import { stridedOf, Tensor } from "../../src/tensor.ts";

export { explain, kernel, ready, stridedOf, Tensor, TensorError };
export const { arange, scope, zeros } = api;

export type Library = Readonly<Record<string, unknown>>;

const core: Library = {
  ...api,
  configure,
  dtypeNames,
  explain,
  kernel,
  memory,
  promote: promoted,
  rawMap,
  rawMatmul,
  rawReduce,
  rawZip,
  ready,
  Tensor,
  TensorError,
};

/** A library that has these names; null stands for all. */
export async function libraryWith(names: readonly string[] | null): Promise<Library> {
  if (names?.every((name) => Object.hasOwn(core, name))) return core;
  try {
    return (await import("strided")) as Library;
  } catch {
    const what = names?.find((name) => !Object.hasOwn(core, name)) ?? "The whole library";
    throw new Error(
      `${what} is in a part of the library that is loaded when it is first used, and that could not be fetched.\nIs there a connection? Run the program again once there is.`,
    );
  }
}
