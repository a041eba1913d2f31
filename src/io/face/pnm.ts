/** What users see of pnm. */
export { encode, type LoadOptions, load, open, save } from "../pnm.ts";
