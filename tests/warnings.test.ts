/** A function that is called instead of compiled says so once, with the reason and the remedy. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { arange, configure, explain, kernel, type Tensor, tensor, zip } from "../src/index.ts";

let said: string[];
beforeEach(() => {
  said = [];
  vi.spyOn(console, "warn").mockImplementation((...args) => void said.push(args.join(" ")));
});
afterEach(() => {
  configure({ warnings: true });
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const k = 3;

describe("a function that reads an outer variable", () => {
  test("warns with the place, the reason and what to write instead", () => {
    arange(3).map((v) => v * k);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatchInlineSnapshot(`
      "strided: map: the function reads the outer variable "k". So it is called for every element, which is many times slower than compiled code.
        (v) => v * k
                   ^
        Pass it: map(…, { with: { k } }).
        As in t.map((x, { k }) => x * k, { with: { k } }).
        This is said once for a function; configure({ warnings: false }) turns it off."
    `);
  });

  test("the remedy compiles, and says nothing", () => {
    expect(
      arange(3)
        .map((x, { k }) => x * k, { with: { k } })
        .toArray(),
    ).toEqual([0, 3, 6]);
    expect(said).toEqual([]);
  });

  test("warns once, however often it is called and from however many closures", () => {
    const scaled = (t: Tensor, k: number) => t.map((x) => x - k);
    for (let i = 0; i < 5; i++) scaled(arange(3), i);
    expect(said).toHaveLength(1);
    arange(3).map((x) => x + 2 * k);
    expect(said).toHaveLength(2);
  });

  test("in zip, reduce and scan too", () => {
    const t = arange(4);
    zip([t, t], (a, b) => a + b * k);
    t.reduce((acc, x) => acc + x * k);
    t.scan((acc, x) => acc - x * k);
    expect(said.map((text) => /^strided: (\w+)/.exec(text)?.[1])).toEqual(["zip", "reduce", "scan"]);
    for (const text of said) expect(text).toMatch(/^ +\^$/m);
  });
});

describe("nothing is said", () => {
  test("of functions that compile", () => {
    arange(3).map((x) => x / 2);
    kernel((x: number) => x + 1)(arange(3));
    expect(said).toEqual([]);
  });

  test("while explain listens, which tells it itself; afterwards it is", () => {
    const call = () => arange(3).map((x) => x / (k + 1));
    expect(explain(call).fallbacks).toHaveLength(1);
    expect(said).toEqual([]);
    call();
    expect(said).toHaveLength(1);
  });

  test("where it is turned off, at any time", () => {
    arange(3);
    configure({ warnings: false });
    arange(3).map((x) => x / k);
    expect(said).toEqual([]);
  });

  test("in production", () => {
    vi.stubEnv("NODE_ENV", "production");
    const call = () => arange(3).map((x) => (x + k) / k);
    call();
    expect(said).toEqual([]);
    vi.stubEnv("NODE_ENV", "development");
    call();
    expect(said).toHaveLength(1);
  });

  test("of a call that is refused: its error says it", () => {
    expect(() => tensor([1, 2], { dtype: "u8" }).map((x) => x ** k)).toThrow(/not in u8/);
    expect(said).toEqual([]);
  });
});

test("a bundle is silent when it was made for production, and speaks where there is no process at all", () => {
  const folder = mkdtempSync(join(tmpdir(), "strided-warnings-"));
  const run = (define: Record<string, string>): string => {
    const outfile = join(folder, "bundle.mjs");
    const contents =
      'delete globalThis.process; import { arange } from "./index.ts"; const k = 2; arange(3).map((x) => x * k);';
    const resolveDir = fileURLToPath(new URL("../src", import.meta.url));
    buildSync({
      stdin: { contents, resolveDir },
      bundle: true,
      format: "esm",
      platform: "browser",
      define,
      outfile,
    });
    return spawnSync(process.execPath, [outfile], { encoding: "utf8" }).stderr;
  };
  try {
    expect(run({ "process.env.NODE_ENV": '"production"' })).toBe("");
    expect(run({ "process.env": "process.env" })).toMatch(
      /^strided: map: the function reads the outer variable "k"/,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("configure takes true or false for it", () => {
  expect(() => configure({ warnings: 0 as never })).toThrow(/configure: warnings is the number 0/);
});
