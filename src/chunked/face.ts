/** What users see of chunked. */
export { concat, full, open, random, stack } from "./begin.ts";
