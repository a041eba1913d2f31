/** `npm ci` refuses a lock file that leaves out optional packages of other platforms; npm itself leaves some out. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test("lock files name every optional package (if not: npm run lock)", () => {
  const script = fileURLToPath(new URL("../scripts/complete-lock.mjs", import.meta.url));
  const { stdout, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  expect(stdout + stderr).toBe("");
});
