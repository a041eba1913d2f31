/** The examples that train run as they are, for fewer steps than they would by themselves, and get somewhere. A battery. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = (name: string, steps: number): string =>
  execFileSync(process.execPath, ["--import", "tsx", `examples/${name}.ts`, "--steps", String(steps)], {
    cwd: root,
    encoding: "utf8",
  });
/** The numbers of the first line that a pattern finds. */
const numbers = (text: string, pattern: RegExp): number[] =>
  (pattern.exec(text) ?? [`nothing of ${pattern} in:\n${text}`]).slice(1).map(Number);

test("two moons: what is right, and a picture of what was learnt", () => {
  const text = run("two-moons", 150);
  const [first, last, right] = numbers(text, /loss ([\d.]+) → ([\d.]+), ([\d.]+) % right/);
  expect(last).toBeLessThan(first / 5);
  expect(right).toBeGreaterThan(97);
  expect(text.match(/^[·█]{64}$/gm)).toHaveLength(22);
});

test("digits: two networks read what they have not seen", () => {
  const text = run("digits", 80);
  for (const name of ["two layers", "convolutions"]) {
    const [first, last, , rest] = numbers(
      text,
      new RegExp(`${name}: loss ([\\d.]+) → ([\\d.]+); right: ([\\d.]+) % of what it has seen, ([\\d.]+) %`),
    );
    expect(last, name).toBeLessThan(first / 3);
    expect(rest, name).toBeGreaterThan(80);
  }
});

test("gpt: it learns letters, and writes", () => {
  const text = run("gpt", 12);
  const [first, last] = numbers(text, /loss ([\d.]+) → ([\d.]+)/);
  expect(last).toBeLessThan(first - 0.7);
  expect(text.slice(text.indexOf("\nthe ") + 1).trimEnd().length).toBeGreaterThan(140);
});

test("sentiment: negations are understood", () => {
  const text = run("sentiment", 150);
  const [first, last, , rest] = numbers(
    text,
    /loss ([\d.]+) → ([\d.]+); right: ([\d.]+) % of what it has seen, ([\d.]+) %/,
  );
  expect(last).toBeLessThan(first / 5);
  expect(rest).toBeGreaterThan(95);
  const [plain, turned] = [/([\d.]+) % praise: the film was bright/, /([\d.]+) % praise: the film was not/];
  expect(numbers(text, plain)[0]).toBeGreaterThan(80);
  expect(numbers(text, turned)[0]).toBeLessThan(20);
});

test("heat: the material is found through the simulation, with little memory", () => {
  const text = run("heat", 100);
  const [first, last, far] = numbers(text, /misfit ([\d.]+) → ([\d.]+), ([\d.]+) % off/);
  expect(last).toBeLessThan(first / 20);
  expect(far).toBeLessThan(8);
  const [without, with_] = numbers(text, /: (\d+) kB without checkpoints, (\d+) kB with/);
  expect(with_).toBeLessThan(without / 8);
});
