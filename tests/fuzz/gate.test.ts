/** Every family on a fixed sample, and every case that ever failed. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as lib from "../../src/index.ts";
import { configure, memory } from "../../src/index.ts";
import { calls } from "./calls.ts";
import { type CorpusLine, fromLine, parseCorpus, toLine } from "./line.ts";
import { apart, families, familyNamed } from "./table.ts";
import type { TurnReport } from "./turn.ts";

// However many cores there are.
configure({ threads: 2 });
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** `npm test` leaves out what `npm run test:batteries` runs. */
const isApart = process.env.STRIDED_RANDOM === "apart";
const sampled = families.filter((f) => apart.includes(f) === isApart);

describe("the law of each family, on a sample", () => {
  test.each(sampled.map((f) => [f.name, f.law, f] as const))("%s: %s", async (_, __, f) => {
    expect(f.gate).toBeLessThanOrEqual(2000);
    // Some families make what they work among with their first case.
    for (const c of fc.sample(f.cases, 1)) await f.check(c);
    const before = memory().tensors;
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(f.cases, async (c) => {
        if (await f.check(c)) compared++;
      }),
      { numRuns: f.gate },
    );
    console.log(`${f.name}: ${compared} of ${f.gate} cases compared`);
    // Where most are refused, the sample says little.
    expect(compared).toBeGreaterThan(f.gate / 2);
    expect(memory().tensors).toBe(before);
  });

  test("every function that takes tensors is called by the library's family", () => {
    const without = new Set(
      `Tensor TensorError arange broadcastShapes canCast configure empty emptyLike explain eye fft.fftfreq fft.rfftfreq finfo fromBuffer
      fromFunction fromGgml full fuse identity iinfo isdtype linspace memory ones promote random.bernoulli random.exponential
      random.generator random.integers random.normal random.uniform rawMap rawMatmul rawReduce rawZip ready resultType
      scope scopeAsync tensor tensorEquality zeros`.split(/\s+/),
    );
    const spaces = { "": lib, "fft.": lib.fft, "linalg.": lib.linalg, "random.": lib.random };
    const names = Object.entries(spaces).flatMap(([prefix, space]) =>
      Object.entries(space)
        .filter(([name, value]) => typeof value === "function" && !(name in calls))
        .map(([name]) => `${prefix}${name}`),
    );
    // A new one is a row in calls.ts.
    expect(names.filter((name) => !without.has(name) && !(name in calls))).toEqual([]);
  });

  test("cases are plain data: a line of text gives the same case back", () => {
    for (const f of families) {
      for (const c of fc.sample(f.cases, 20)) expect(fromLine(toLine(c))).toEqual(c);
    }
  });
});

describe.skipIf(isApart)("what once failed", () => {
  const lines = readdirSync(here("../corpus"))
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => parseCorpus(readFileSync(here(`../corpus/${name}`), "utf8")));

  test("every line of the corpus names its family and says what was wrong", () => {
    for (const line of lines) {
      expect(familyNamed(line.family).name).toBe(line.family);
      expect(line.why, toLine(line)).toMatch(/\w+ \w+/);
      expect(Object.keys(line)).toContain("case");
    }
  });

  test.each(lines.map((line) => [line.family, line.why, line] as const))("%s: %s", (_, __, line) =>
    replay(line),
  );
});

describe.skipIf(isApart)("npm run fuzz", () => {
  const fuzz = (...args: string[]) =>
    spawnSync(process.execPath, ["--import", "tsx", here("../../scripts/fuzz.ts"), ...args], {
      encoding: "utf8",
    });

  test("explores the families it is asked for, and tells how many cases it saw", () => {
    const { status, stdout, stderr } = fuzz("--minutes", "0.02", "--only", "views", "--seed", "1");
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^views +\d+ cases +0:0\d left$/m);
    expect(stdout).toMatch(/^views +\d+ +\d+ +\d+ 0$/m);
    expect(stdout).toMatch(/nothing was found\n$/);
    expect(status).toBe(0);
  });

  test("says what it takes where it is asked for something else", () => {
    const { status, stderr } = fuzz("--only", "moods");
    expect(stderr).toMatch(/^no family moods; there are .*kernels/);
    expect(status).toBe(2);
  });
});

/** A case that depends on what ran before it has a process of its own. */
async function replay(line: CorpusLine): Promise<void> {
  const f = familyNamed(line.family);
  if (line.before === undefined) await f.check(line.case);
  else {
    const input = toLine({ family: f.name, list: [...line.before, line.case] });
    const { stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", here("./turn.ts")], {
      input,
      encoding: "utf8",
    });
    const last = stdout.trim().split("\n").at(-1);
    if (!last) throw new Error(`the process ended without a word: ${stderr}`);
    expect((fromLine(last) as TurnReport).finding).toBe(null);
  }
}
