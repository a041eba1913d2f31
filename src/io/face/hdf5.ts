/** What users see of hdf5. */
export { type LoadOptions, load, type OpenOptions, open } from "../hdf5.ts";
