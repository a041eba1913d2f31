/**
 * Every export and every member, called with hostile arguments among canaries. A finding is a line such as
 * `zeros:0 0=changes@4 → …`: runLine("zeros:0 0=changes@4") in hostile.ts runs it again.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import * as gradEntry from "../../src/grad.ts";
import * as strided from "../../src/index.ts";
import * as interopEntry from "../../src/interop.ts";
import * as nnEntry from "../../src/nn.ts";
import * as plotEntry from "../../src/plot.ts";
import * as quantisedEntry from "../../src/quantised.ts";
import { corpus } from "./corpus.ts";
import { endless, expectNone, groups, runGroup } from "./findings.ts";
import { optionNames, pollutants, runHostile, runLine, runPolluted, targets, validCall } from "./hostile.ts";
import {
  exported,
  fusedMembers,
  generator,
  gradients,
  interop,
  iterationMembers,
  kernelMembers,
  members,
  namespaces,
  networks,
  njitMembers,
  plain,
  plotting,
  quantised,
  quantisedMembers,
  reportMembers,
} from "./recipes.ts";
import { startWatchdog } from "./watch.ts";
import { World } from "./world.ts";

let stop: () => Promise<unknown>;
beforeAll(async () => {
  stop = await startWatchdog();
});
afterAll(() => stop());

// Thousands of calls a test; one that hangs is the watchdog's.
vi.setConfig({ testTimeout: 300_000 });

const SEEDS = 2000;

describe("recipes", () => {
  it("there is one for every export", () => {
    const without = Object.keys(strided).filter((name) => !(name in exported) && !(name in plain));
    expect(without.map((name) => `no recipe for ${name}`)).toEqual([]);
    expect(Object.keys({ ...exported, ...plain }).filter((name) => !(name in strided))).toEqual([]);
  });

  it("there is one for everything in a namespace", () => {
    const spaces = Object.entries(strided).filter(([, x]) => typeof x === "object" && !Array.isArray(x));
    expect(spaces.map(([name]) => name).sort()).toEqual(Object.keys(namespaces).sort());
    for (const [name, space] of spaces) {
      const recipes = namespaces[name as keyof typeof namespaces];
      expect(Object.keys(recipes).sort(), name).toEqual(Object.keys(space).sort());
    }
  });

  it("there is one for every export of the other entries", () => {
    const { to, ...functions } = interopEntry;
    const names = [...Object.keys(functions), ...Object.keys(to).map((name) => `to.${name}`)];
    expect(Object.keys(interop).sort()).toEqual(names.sort());
    expect(Object.keys(plotEntry)).toEqual(["plot"]);
    expect(Object.keys(plotting).sort()).toEqual(
      Object.keys(plotEntry.plot)
        .map((name) => `plot.${name}`)
        .sort(),
    );
    // A pull back has to be let go of by hand: tests/grad/hostile.test.ts.
    const { vjp, ...derived } = gradEntry;
    expect(Object.keys(gradients).sort()).toEqual(Object.keys(derived).sort());
    // What keeps tensors, and what waits: tests/nn/hostile.test.ts.
    const { init, sgd, adam, adamw, rmsprop, loader, fit, saveTree, loadTree, encodeTree, ...called } =
      nnEntry;
    expect(Object.keys(networks).sort()).toEqual(Object.keys(called).sort());
    // What reads files is attacked by the family of files.
    const { Quantised, readGguf, loadGguf, ...blocks } = quantisedEntry;
    expect(Object.keys(quantised).sort()).toEqual(Object.keys(blocks).sort());
    const its = Object.getOwnPropertyNames(Quantised.prototype).filter((name) => name !== "constructor");
    expect(Object.keys(quantisedMembers).sort()).toEqual(its.sort());
  });

  it("there is one for every member of a tensor, a generator, a kernel, a report and an iteration", () => {
    const without = Object.entries(members).filter(([, recipe]) => recipe === undefined);
    expect(without.map(([name]) => `no recipe for Tensor's ${name}`)).toEqual([]);

    const namesOf = (prototype: object) =>
      Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
    const rng = Object.getPrototypeOf(strided.random.generator(1));
    expect(Object.keys(generator).sort()).toEqual(namesOf(rng).sort());

    const kernel = Object.keys(strided.kernel((x: number) => x + 1));
    expect(kernel.filter((name) => !(name in kernelMembers))).toEqual([]);
    const fused = Object.keys(strided.fuse((t: strided.Tensor) => t.add(1)));
    expect(fused.filter((name) => !(name in fusedMembers))).toEqual([]);
    const njit = Object.keys(strided.njit((n: number) => n + 1));
    expect(njit.filter((name) => !(name in njitMembers))).toEqual([]);

    const t = strided.tensor([1, 2]);
    const report = strided.explain(() => t.add(1));
    expect(Object.keys(reportMembers).sort()).toEqual(namesOf(Object.getPrototypeOf(report)).sort());
    const functions = Object.entries(report.iteration()).filter(([, x]) => typeof x === "function");
    expect(functions.map(([name]) => name).filter((name) => !(name in iterationMembers))).toEqual([]);
    report.result.dispose();
    t.dispose();
  });

  it("their calls are valid, leave nothing behind and give the same again", () => {
    const wrong: string[] = [];
    for (const target of targets) {
      for (const way of target.recipe.ways.keys()) {
        validCall(target, way);
        const [a, b] = [validCall(target, way), validCall(target, way)];
        if (a.wrong !== null) wrong.push(`${target.name}:${way} → ${a.wrong}`);
        if (a.text !== b.text) wrong.push(`${target.name}:${way} → differs from call to call`);
        const refused = /^\w*Error: /.test(a.text) && !["configure", "new Tensor"].includes(target.name);
        if (refused) wrong.push(`${target.name}:${way} → ${a.text}`);
      }
    }
    expectNone(wrong);
  });

  /** Options that are taken and that no type has. */
  const unspoken: readonly string[] = [
    "any dtype",
    "all dtype",
    ".any dtype",
    ".all dtype",
    "identity columns",
    "identity k",
    // Refused: it is a parameter.
    "nn.conv1d bias",
  ];

  it("together they give every option that there is", () => {
    const missing: string[] = [];
    for (const target of targets) {
      const given = new Set<string>();
      const known = new Set<string>();
      for (const make of target.recipe.ways) {
        const w = new World();
        const args = make(w);
        const last = args.at(-1);
        if (typeof last === "object" && last !== null && Object.getPrototypeOf(last) === Object.prototype) {
          for (const name of Object.keys(last)) given.add(name);
          try {
            target.call([...args.slice(0, -1), { ...last, thereIsNoSuchOption: 1 }]);
          } catch (error) {
            const told = /There are (.*)\.|The only one is (.*)\./.exec((error as Error).message);
            for (const name of (told?.[1] ?? told?.[2] ?? "").split(", ")) if (name !== "") known.add(name);
          }
        }
        w.end([]);
      }
      for (const name of known) if (!given.has(name)) missing.push(`${target.name} ${name}`);
    }
    expect(missing.filter((option) => !unspoken.includes(option))).toEqual([]);
  });
});

describe("every export and member, with", () => {
  it.each(groups.filter((group) => !endless.includes(group)))("%s", (group) => expectNone(runGroup(group)));
});

describe("hostile calls", () => {
  it(`${SEEDS} random ones`, () => {
    expectNone(Array.from({ length: SEEDS }, (_, seed) => runHostile(seed)));
  });

  it("that once did harm", () => {
    expectNone(corpus.map((line) => runLine(line)));
  });

  it("names on Object.prototype change nothing", () => {
    const names = optionNames();
    expect(names).toEqual(expect.arrayContaining(["axis", "dtype", "init", "keepdims", "out"]));
    const findings: (string | null)[] = [];
    const warned = vi.spyOn(console, "warn");
    let turn = 0;
    for (const target of targets) {
      turn++;
      for (const way of target.recipe.ways.keys()) {
        for (const pollutant of pollutants) {
          // By turns: all recipes together meet each pollutant in both ways.
          for (const enumerable of [(turn++ & 1) === 1]) {
            const found = runPolluted(target, way, names, pollutant, enumerable);
            if (found === null) continue;
            // Which of them it was is worth the time for a few.
            const tried = findings.length < 30 ? names : [];
            const alone = tried.filter(
              (name) => runPolluted(target, way, [name], pollutant, enumerable) !== null,
            );
            const kind = enumerable ? "enumerable" : "hidden";
            findings.push(`${found}, with ${kind} ${alone.slice(0, 5).join(" ") || "names together"}`);
          }
        }
      }
    }
    expectNone(findings);
    // Nor is a function taken for another one because of them.
    const taken = warned.mock.calls.filter(([text]) => String(text).includes("of its own"));
    warned.mockRestore();
    expect(taken).toEqual([]);
  });
});
