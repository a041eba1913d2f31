/** What users see of parquet. */
export { encode, type LoadOptions, load, type OpenOptions, open, save } from "../parquet.ts";
