/** The reference keeps its word: nothing is exported without words, and every example gives what it says. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { declarations, docOf, examplesOf, folder, itemsOf, missing, pagesOf } from "../scripts/reference.ts";
import { runBlock } from "./markdown.ts";

const at = (path: string) => new URL(`../${path}`, import.meta.url);
const items = itemsOf(declarations());
const examples = examplesOf(items);

test("exports and members without words are those of a list that only gets shorter", () => {
  const listed = readFileSync(at("tests/reference.missing.txt"), "utf8").split("\n").filter(Boolean);
  const gaps = missing(items);
  const isNew = gaps.filter((gap) => !listed.includes(gap));
  expect(isNew, "write the comment: one sentence, @param, @returns, @example").toEqual([]);
  const done = listed.filter((gap) => !gaps.includes(gap));
  expect(done, "npm run reference takes them off the list").toEqual([]);
});

describe("examples of the reference", () => {
  // Some write files, by plain names.
  const before = process.cwd();
  const own = mkdtempSync(join(tmpdir(), "strided-examples-"));
  beforeAll(() => process.chdir(own));
  afterAll(() => {
    process.chdir(before);
    rmSync(own, { recursive: true });
  });

  test.each(examples.map((example) => [example.of, example] as const))(
    "%s gives what its comments say",
    async (of, { code, file }) => {
      const outcomes = await runBlock({ file: `src/${file}.ts`, line: 1, code });
      expect(
        outcomes.map((o) => o.actual),
        `${of} in src/${file}.ts`,
      ).toEqual(outcomes.map((o) => o.expected));
    },
  );

  test("each shows what comes out", () => {
    const silent = examples.filter(({ code }) => !/\/\/ [→✗]/.test(code));
    expect(silent.map(({ of }) => of)).toEqual([]);
  });
});

test("docs/reference is what src says; `npm run reference` writes it anew", () => {
  const pages = pagesOf(items);
  const there = readdirSync(at(folder)).map((name) => `${folder}/${name}`);
  expect(there.sort()).toEqual([...pages.keys()].sort());
  const stale = [...pages].filter(([path, text]) => readFileSync(at(path), "utf8") !== text);
  expect(stale.map(([path]) => path)).toEqual([]);
});

describe("the reader of comments", () => {
  test("finds text, parameters, result, errors and examples", () => {
    const doc = docOf(
      "/**\n * One.\n *\n * @param a first\n *   of two\n * @returns a\n * @throws never\n * @example\n * f(1); // → 2\n */",
    );
    expect(doc.text).toBe("One.");
    expect([...doc.params]).toEqual([["a", "first\n  of two"]]);
    expect([doc.returns, doc.throws, doc.examples]).toEqual(["a", ["never"], ["f(1); // → 2"]]);
  });

  test("reads overloads, members and strings with brackets as TypeScript does", () => {
    const text = [
      "/** Of a. */",
      'export declare function f<D extends "(" | ")">(a: (x: number) => D, ...rest: [D, D][]): D;',
      "export declare function f(a: number, b: Map<string, number[]>, c?: 1): void;",
      "export interface O {",
      "    /** Big; or not. */",
      "    readonly big?: boolean;",
      "    small(n: number): {",
      "        k: 1;",
      "    };",
      "}",
      "",
    ].join("\n");
    const rest = ["chunked", "grad", "interop", "io", "methods", "nn", "plot", "quantised", "turbo"];
    const [f, o] = itemsOf(new Map([["index", text], ...rest.map((name) => [name, ""] as const)]));
    expect([f.kind, f.doc?.text, f.params, f.signatures.length]).toEqual([
      "function",
      "Of a.",
      ["a", "b", "c"],
      2,
    ]);
    expect(o.members.map((m) => [m.name, m.kind, m.doc?.text])).toEqual([
      ["big", "property", "Big; or not."],
      ["small", "function", undefined],
    ]);
    expect(missing([f, o])).toEqual([
      "O.small: a comment",
      "O: a comment",
      "f: @param a, @param b, @param c, @returns, @example",
    ]);
  });
});
