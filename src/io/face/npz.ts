/** What users see of npz. */
export { encode, type LoadOptions, load, open, type SaveOptions, save } from "../npz.ts";
