/** What users see of npy. */
export { encode, type LoadOptions, load, open, save } from "../npy.ts";
