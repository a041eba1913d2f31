/** What users see of gguf. */
export {
  encode,
  type GgufArchive,
  type GgufTensor,
  type LoadOptions,
  load,
  type MetaValue,
  open,
  type SaveOptions,
  save,
} from "../gguf.ts";
