/** What code comes to is known before it is made, and sizes that are allowed can be made. */
import { describe, expect, it } from "vitest";
import { type DType, dtypeNames } from "../dtype.ts";
import { specialize } from "../frontend/infer.ts";
import { isRefusal, lowerFunction } from "../frontend/lower.ts";
import { templateOf } from "../frontend/template.ts";
import { type OpName, ops } from "../ir/ops.ts";
import { optimize } from "./pipeline.ts";
import { codeSize, expansionOf, inVectors, MOST_NODES, misfitOf } from "./size.ts";

const repeated = (count: number, piece: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => piece(i)).join("");

function programOf(source: string, dtype: DType = "f32") {
  const template = lowerFunction(source);
  if (isRefusal(template)) expect.fail(template.message);
  return specialize(template, new Array<DType>(template.inputs).fill(dtype));
}

describe("the size of code", () => {
  it.each(dtypeNames)("is told within a third of what is made: every operation on %s", (dtype) => {
    for (const op of Object.keys(ops) as OpName[]) {
      if (op === "select") continue;
      const program = specialize(templateOf(op), new Array<DType>(ops[op].arity).fill(dtype));
      const made = optimize(program, { fma: false }).nodes.length;
      const told = codeSize(program).nodes;
      // 16-bit floats are converted where they are read and written, too.
      const rims = dtype === "f16" || dtype === "bf16" ? 80 : 3;
      expect(Math.abs(told - made), op).toBeLessThanOrEqual(made / 3 + rims);
    }
  });

  it("of any one operation is small: programs of a few nodes need not be measured", () => {
    for (const dtype of dtypeNames) {
      for (const op of Object.keys(ops) as OpName[]) {
        if (op === "select") continue;
        const { nodes } = specialize(templateOf(op), new Array<DType>(ops[op].arity).fill(dtype));
        for (const node of nodes) {
          const args = node.args.map((a) => nodes[a].dtype);
          const { nodes: count, branches } = expansionOf(node, args);
          expect(count, `${op} ${dtype}`).toBeLessThan(MOST_NODES / 24);
          expect(branches, `${op} ${dtype}`).toBeLessThan(30);
        }
      }
    }
  });

  it("grows with what operations become, not with how they are written", () => {
    const chain = (count: number, dtype: DType) =>
      codeSize(programOf(`x => { let y = x; ${"y = Math.sin(y);".repeat(count)} return y; }`, dtype)).nodes;
    expect(chain(100, "f32")).toBeGreaterThan(9 * chain(10, "f32") * 0.8);
    expect(chain(100, "f64")).toBeGreaterThan(2000);
  });

  it("decides: vectors, scalars, or none at all", () => {
    const sines = (count: number) =>
      programOf(`x => { let y = x; ${"y = Math.sin(y);".repeat(count)} return y; }`);
    expect(misfitOf(sines(400))).toBe(null);
    expect(inVectors(sines(400))).toBe(true);
    expect(misfitOf(sines(4000))).toMatch(/unfolds to about \d+ operations; code for at most 30000/);
    // The sum of all, then each of them once more: they all live at once.
    const live = (count: number, use: string) =>
      programOf(
        `x => {${repeated(count, (i) => `const a${i} = x + ${i};`)}
          return 0 ${repeated(count, (i) => `+ a${i}`)} ${repeated(count, (i) => `+ a${i} ${use}`)};}`,
      );
    // Values that live across branches: each branch costs as much as there are of them.
    expect(inVectors(live(200, "% 3"))).toBe(true);
    expect(inVectors(live(400, "% 3"))).toBe(false);
    expect(misfitOf(live(400, "% 3"))).toBe(null);
    expect(misfitOf(live(800, "% 3"))).toMatch(/8\d\d values in use at once and about \d+ branches/);
    expect(misfitOf(live(2000, ""))).toBe(null);
  });

  it("counts operands", () => {
    const names = Array.from({ length: 1200 }, (_, i) => `x${i}`);
    expect(misfitOf(programOf(`(${names.join()}) => ${names.join(" + ")}`))).toBe(
      "the function has 1200 operands; code for at most 1000 can be made.",
    );
  });
});
