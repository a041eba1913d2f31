/**
 * The entry `strided/quantised`: ggml's block types. Elements in blocks with scales, decoded and encoded bit for bit as
 * ggml's reference functions do, copied with any strides, and multiplied where they lie.
 */
export { loadGguf, readGguf } from "./quantised/gguf.ts";
export { matmul, type QuantisedProductOptions } from "./quantised/product.ts";
export {
  type DequantiseOptions,
  fromBlocks,
  fromGgml,
  isQuantised,
  Quantised,
  quantise,
} from "./quantised/quantised.ts";
export type { EncodedDType, QuantisedDType } from "./quantised/types.ts";
