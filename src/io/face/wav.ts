/** What users see of wav. */
export { encode, type LoadOptions, load, open, type SaveOptions, type Sound, save } from "../wav.ts";
