/** Where the command line meets the file formats: the one place that knows both. */
import { fail } from "../errors.ts";
import type { Files } from "./archive-types.ts";

const missing = (operation: string): never =>
  fail(
    "value",
    operation,
    "this build has no file formats.",
    "Use explain, doctor and help, which need none.",
  );

export const files: Files = {
  open: async () => missing("open"),
  save: async () => missing("save"),
};
