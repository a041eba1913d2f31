/** What strided/turbo says of itself, in processes of their own: its switches are process-wide. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const source = (name: string) => JSON.stringify(new URL(`../src/${name}`, import.meta.url).href);

function report(before: string, shown = "turbo"): readonly { name: string; on: boolean; why: string }[] {
  const program = `${before} const { turbo } = await import(${source("turbo.ts")}); console.log(JSON.stringify(${shown}));`;
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const args = ["--import", "tsx", "--input-type=module", "-e", program];
  return JSON.parse(execFileSync(process.execPath, args, { cwd, encoding: "utf8" }));
}

it("imported first, it says what is on and why", () => {
  const features = report(`await import(${source("index.ts")});`);
  expect(features.map((f) => f.name)).toEqual(["relaxed SIMD", "revectorisation"]);
  for (const { why } of features)
    expect(why).toMatch(/^(switched on|this Node|needs Node 24|the self-test failed)/);
  expect(features.some(({ why }) => why.includes("late"))).toBe(false);
});

it("imported after kernels were compiled, it says that those do without", () => {
  const features = report(`(await import(${source("index.ts")})).zeros(4).add(1);`);
  for (const { on, why } of features) expect(why.includes("late")).toBe(on);
  expect(features.some(({ on }) => on)).toBe(true);
});

it("processes that it starts for chunks have the same switches: the same bits", () => {
  const before = `const { childProgram } = await import(${source("chunked/engines/program.ts")});`;
  const shown = '[turbo, childProgram("chunked", "child.cjs").execArgv]';
  const [features, flags] = report(before, shown) as unknown as [ReturnType<typeof report>, string[]];
  const switched = features.filter(({ why }) => why.startsWith("switched on"));
  expect(switched.length).toBeGreaterThan(0);
  expect(flags).toEqual(
    switched.map(({ name }) =>
      name === "relaxed SIMD" ? "--experimental-wasm-relaxed-simd" : "--experimental-wasm-revectorize",
    ),
  );
});
