import { all } from "./shared/programs.js";

all().then(
  (page) => Object.assign(globalThis, { result: { page } }),
  (error) => Object.assign(globalThis, { result: { error: String(error) } }),
);
