/** Every case that NumPy answered, through the public API, on every executor: none skipped, none forgiven. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import { memory } from "../../src/index.ts";
import { runCase } from "./adapters.ts";
import { families, loadCases } from "./cases.ts";

describe.each(["compiled", "interpreter"] as const)("the library gives NumPy's answers, %s", (executor) => {
  const counts: { family: string; cases: number; passed: number }[] = [];
  beforeAll(() => {
    engine().executor = engine()[executor];
  });

  it.each(families)("in every case of %s", (family) => {
    const failures: string[] = [];
    const cases = loadCases(family);
    for (const c of cases) {
      const difference = runCase(c);
      if (difference !== null)
        failures.push(`${c.id} ${c.op} ${JSON.stringify(c.params).slice(0, 200)}: ${difference}`);
    }
    counts.push({ family, cases: cases.length, passed: cases.length - failures.length });
    const shown = failures.slice(0, 10).join("\n");
    expect(failures, `${failures.length} of ${cases.length} cases fail, first:\n${shown}`).toHaveLength(0);
  });

  it("in all 9142 of them, and leaves nothing behind in memory", () => {
    expect(counts.reduce((sum, c) => sum + c.cases, 0)).toBe(9142);
    expect(counts.reduce((sum, c) => sum + c.passed, 0)).toBe(9142);
    expect(memory().tensors).toBe(0);
  });

  afterAll(() => {
    engine().executor = engine().compiled;
    console.table(counts);
  });
});
