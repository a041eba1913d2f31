/** Runs the cases of one family, made with NumPy by make_<family>.py, and prints how many there are of each operation. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { memory, scope, type Tensor, TensorError } from "../../src/index.ts";
import { inputOf } from "../oracle/adapters.ts";
import type { Check, Expected, TensorInput } from "../oracle/cases.ts";
import { compareTensor } from "../oracle/compare.ts";

export interface ReferenceCase {
  readonly id: string;
  readonly op: string;
  readonly inputs: readonly TensorInput[];
  // biome-ignore lint/suspicious/noExplicitAny: each row knows the parameters of its own cases
  readonly params: any;
  readonly expected: Expected | readonly Expected[] | { readonly error: string };
  readonly check?: Check;
}

/** One row an operation: the inputs of a case and its parameters → a tensor, or several. */
export type Rows = Readonly<
  // biome-ignore lint/suspicious/noExplicitAny: as above
  Record<string, (inputs: readonly Tensor[], params: any) => Tensor | readonly Tensor[]>
>;

export function loadReference(family: string): ReferenceCase[] {
  const file = new URL(`./${family}.jsonl.gz`, import.meta.url);
  const lines = gunzipSync(readFileSync(file)).toString("utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Declares a test for each operation, and one that nothing stays behind in memory. */
export function testReference(family: string, rows: Rows): void {
  const cases = loadReference(family);
  const byOperation = new Map<string, ReferenceCase[]>();
  for (const c of cases) byOperation.set(c.op, [...(byOperation.get(c.op) ?? []), c]);
  for (const [op, some] of byOperation) {
    it(`${op} gives NumPy's answers in ${some.length} cases`, () => {
      expect(Object.keys(rows), "there is a row for it").toContain(op);
      const before = memory().tensors;
      const failures = some.flatMap((c) => {
        const difference = scope(() => runCase(c, rows[op]));
        return difference === null
          ? []
          : [`${c.id} ${op} ${JSON.stringify(c.params).slice(0, 200)}: ${difference}`];
      });
      expect(failures.length, failures.slice(0, 10).join("\n")).toBe(0);
      expect(memory().tensors, "tensors left behind").toBe(before);
    });
  }
  it(`${family}: ${cases.length} cases in all`, () => {
    expect(cases.length).toBeGreaterThan(0);
    const counts = [...byOperation].map(([op, some]) => `${op} ${some.length}`);
    console.log(`${family}: ${cases.length} reference cases (${counts.join(", ")})`);
  });
}

function runCase(c: ReferenceCase, row: Rows[string]): string | null {
  if ("error" in c.expected) {
    try {
      row(c.inputs.map(inputOf), c.params);
    } catch (error) {
      return error instanceof TensorError
        ? null
        : `a ${(error as Error).name} instead of a TensorError: ${error}`;
    }
    return `no error, expected one: ${c.expected.error}`;
  }
  const got = row(c.inputs.map(inputOf), c.params);
  const results = Array.isArray(got) ? (got as readonly Tensor[]) : [got as Tensor];
  const wanted = Array.isArray(c.expected) ? (c.expected as readonly Expected[]) : [c.expected as Expected];
  if (results.length !== wanted.length) return `${results.length} results, expected ${wanted.length}`;
  for (const [i, want] of wanted.entries()) {
    const difference = compareTensor(results[i], want, c.check);
    if (difference !== null) return wanted.length > 1 ? `result ${i}: ${difference}` : difference;
  }
  return null;
}
