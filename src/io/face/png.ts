/** What users see of png. */
export { encode, type LoadOptions, load, open, save } from "../png.ts";
