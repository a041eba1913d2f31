/**
 * Functions that a coverage tool has rewritten compile to what they compiled to before. instrumented.json is what
 * Istanbul wrote: make.ts asks it again.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { lowered, refused } from "../../src/frontend/testing.ts";
import { arange, kernel, njit, tensor, zeros } from "../../src/index.ts";
import { printTemplate } from "../../src/ir/print.ts";
import { parseTree } from "../../src/njit/parse.ts";
import { sources } from "./sources.ts";

interface Instrumented {
  readonly name: string;
  readonly compact: boolean;
  readonly text: string;
}
const { functions } = JSON.parse(readFileSync(new URL("./instrumented.json", import.meta.url), "utf8")) as {
  readonly functions: readonly Instrumented[];
};

/** The algebra alone: where in the text a part of it stood differs, of course. */
const algebra = (source: string) => printTemplate(lowered(source));

/** The same of an njit function. */
const tree = (source: string) => {
  const { args, variables, arrays, body } = parseTree(source, {});
  return JSON.stringify({ args, variables, arrays, body }, (key, value) =>
    key === "place" ? undefined : value,
  );
};

describe("functions that Istanbul has rewritten", () => {
  test("there is one of each, in both forms", () => {
    const names = Object.keys(sources).flatMap((name) => [name, name]);
    expect(functions.map(({ name }) => name)).toEqual(names);
    for (const { text } of functions) expect(text).toMatch(/cov_\w+\(\)\.f\[0\]\+\+/);
  });

  test.each(functions.map((f) => [`${f.name}${f.compact ? ", compact" : ""}`, f] as const))(
    "%s",
    (_, { name, text }) => {
      expect(algebra(text)).toBe(algebra(sources[name]));
      expect(tree(text)).toBe(tree(sources[name]));
    },
  );

  test("as older versions wrote it, without a call", () => {
    for (const { name, text } of functions) {
      const older = text.replace(/(cov_\w+)\(\)/g, "$1");
      expect(algebra(older)).toBe(algebra(sources[name]));
      expect(tree(older)).toBe(tree(sources[name]));
    }
  });
});

describe("kernels under coverage", () => {
  /** As the tool declares it, at the top of the file. */
  const counts = { s: [0, 0, 0], f: [0], b: [[0, 0]] };
  const cov_1a2b3c = () => counts;

  test("compute on tensors, on numbers, and with captured functions", () => {
    const half = (x: number) => {
      cov_1a2b3c().f[0]++;
      cov_1a2b3c().s[0]++;
      return x / 2;
    };
    const leaky = kernel(
      (x: number, { k, half }: { k: number; half: (x: number) => number }) => {
        cov_1a2b3c().f[0]++;
        cov_1a2b3c().s[1]++;
        // biome-ignore lint/complexity/noCommaOperator: as the tool writes it
        return x > 0 ? (cov_1a2b3c().b[0][0]++, half(x)) : (cov_1a2b3c().b[0][1]++, k * x);
      },
      { k: 0.25, half },
    );
    expect(leaky(tensor([-4, 4])).toArray()).toEqual([-1, 2]);
    expect(leaky(8)).toBe(4);
  });

  test("compile in map too: nothing is called for every element", () => {
    const before = counts.s[2];
    arange(100).map((x) => {
      cov_1a2b3c().s[2]++;
      return x + 1;
    });
    expect(counts.s[2]).toBe(before);
  });
});

describe("njit functions under coverage", () => {
  const counts = { s: [0, 0, 0, 0, 0, 0], f: [0, 0], b: [[0, 0]] };
  const cov_1a2b3c = () => counts;

  test("compute, with captured functions and parallel loops", () => {
    const half = (x: number) => {
      cov_1a2b3c().f[1]++;
      cov_1a2b3c().s[0]++;
      return x / 2;
    };
    const halves = njit(
      (out, x, { prange, half }) => {
        cov_1a2b3c().f[0]++;
        // biome-ignore lint/complexity/noCommaOperator: as the tool writes it
        let sum = (cov_1a2b3c().s[1]++, 0);
        cov_1a2b3c().s[2]++;
        for (const i of prange(x.shape[0])) {
          cov_1a2b3c().s[3]++;
          if (x.get(i) > 1) {
            cov_1a2b3c().b[0][0]++;
            cov_1a2b3c().s[4]++;
            sum += x.get(i);
          } else {
            cov_1a2b3c().b[0][1]++;
          }
          cov_1a2b3c().s[5]++;
          out.set([i], half(x.get(i)));
        }
        return sum;
      },
      { half },
    );
    const out = zeros([4]);
    expect(halves(out, arange(4))).toBe(5);
    expect(out.toArray()).toEqual([0, 0.5, 1, 1.5]);
    expect(counts.s.every((n) => n === 0)).toBe(true);
  });

  test("but a variable of that name is one", () => {
    const own = njit((x) => {
      const cov_a = x;
      cov_a[0]++;
      return cov_a[0];
    });
    expect(own(new Float64Array([1]))).toBe(2);
    expect(() => parseTree("(x) => { cov_1a2b3c().q[0]++; return x; }", {})).toThrow(/outer variable/);
    expect(() => parseTree("(x) => x + cov_1a2b3c().s[0]++", {})).toThrow(/outer variable/);
  });
});

describe("what only looks like a counter is read as it is", () => {
  const call = "cannot compile this call; only Math.* functions are known.";
  const property = "cannot compile this property; only Math.* and Number.* are known.";
  test.each([
    ["(x) => { cov_1a2b3c().q[0]++; return x; }", call],
    ["(x) => { cov_1a2b3c(1).s[0]++; return x; }", call],
    ["(x) => { cov_1a2b3c().s[x]++; return x; }", call],
    ["(x) => { cov_1a2b3c().s[0]--; return x; }", call],
    ["(x) => { counts.s[0]++; return x; }", 'reads the outer variable "counts"'],
    ["(x) => { const cov_a = x; cov_a.s[0]++; return x; }", property],
    ["(x) => x + cov_1a2b3c().s[0]++", "cannot compute with undefined"],
  ])("%s", (source, words) => {
    expect(refused(source)).toContain(words);
  });
});
