/** What users see of arrow. */
export {
  encode,
  type LoadOptions,
  load,
  type NullValue,
  type OpenOptions,
  open,
  type SaveOptions,
  save,
} from "../arrow.ts";
