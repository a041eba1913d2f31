/** What users see of csv. */
export { encode, type LoadOptions, load, type SaveOptions, save, type Table } from "../csv.ts";
