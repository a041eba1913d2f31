/** What users see of safetensors. */
export {
  encode,
  type LoadOptions,
  load,
  open,
  type SaveFileOptions,
  type SaveOptions,
  save,
} from "../safetensors.ts";
