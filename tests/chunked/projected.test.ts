/** What plans project is what processes have: never less than they need, and not more than twice as much. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const program = fileURLToPath(new URL("./projected-program.mjs", import.meta.url));
const isBuilt = existsSync(fileURLToPath(new URL("../../dist/node/chunked.js", import.meta.url)));
const absent = !isBuilt && !process.env.CI;
if (absent) console.warn("nothing is built (npm run build): what plans project is not measured");

const folder = mkdtempSync(join(tmpdir(), "strided-projected-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(name: string): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [program, folder, name], {
    encoding: "utf8",
    env: { ...process.env, STRIDED_THREADS: "1" },
  });
  expect(status, stderr).toBe(0);
  return stdout;
}

describe.skipIf(absent)("projected memory", () => {
  beforeAll(() => {
    run("make");
  });

  test("of 30 plans and more holds the process that runs them, and is at most twice as much", () => {
    const names = JSON.parse(run("list")) as string[];
    expect(names.length).toBeGreaterThanOrEqual(30);
    const rows = names.map((name) => {
      const { projected, measured } = JSON.parse(run(name)) as { projected: number; measured: number };
      return { name, projected, measured, ratio: projected / measured };
    });
    const ratios = rows.map((r) => r.ratio).sort((x, y) => x - y);
    console.log(
      `projected memory of ${rows.length} plans, beside what was measured: ${ratios[0].toFixed(2)} to ${ratios.at(-1)!.toFixed(2)}, median ${ratios[ratios.length >> 1].toFixed(2)}`,
    );
    expect(rows.filter((r) => r.ratio < 1 || r.ratio > 2)).toEqual([]);
  });
});
