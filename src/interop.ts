/**
 * "strided/interop": tensors from what other libraries hold, and back. An entry of its own, so that programs that need
 * none of it do not load it.
 */
export { copyStrided, type StridedArray } from "./interop/copy.ts";
export { type FromOptions, from } from "./interop/from.ts";
export * as to from "./interop/to.ts";
