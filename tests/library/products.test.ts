/** einsum and the products, against NumPy's answers. */
import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import { arange, explain, memory, ones, scope, type Tensor, tensor, zeros } from "../../src/index.ts";
import { einsum } from "../../src/library/einsum.ts";
import {
  cross,
  dot,
  inner,
  kron,
  matrixTranspose,
  multiDot,
  outer,
  tensordot,
  trace,
  vecdot,
} from "../../src/library/products.ts";
import { stridedOf } from "../../src/tensor.ts";
import { testReference } from "./reference.ts";

describe("products by NumPy's reference values", () => {
  testReference("products", {
    einsum: (inputs, { subscripts }) => einsum(subscripts, ...inputs),
    dot: ([a, b]) => dot(a, b),
    inner: ([a, b]) => inner(a, b),
    outer: ([a, b]) => outer(a, b),
    kron: ([a, b]) => kron(a, b),
    vecdot: ([a, b], options) => vecdot(a, b, options),
    cross: ([a, b], options) => cross(a, b, options),
    trace: ([a], options) => trace(a, options),
    tensordot: ([a, b], options) => tensordot(a, b, options),
    multiDot: (inputs) => multiDot(inputs),
    matrixTranspose: ([a]) => matrixTranspose(a),
  });
});

/** What explain hears of: copies, and which operations ran. */
function heard(fn: () => Tensor): { copies: readonly string[]; forms: readonly string[] } {
  const copies: string[] = [];
  const forms: string[] = [];
  const e = engine();
  e.listener = (event) => {
    if (event.kind === "copy") copies.push(event.operation);
    if (event.kind === "ran") forms.push(event.plan.work.form);
  };
  try {
    scope(() => void fn());
  } finally {
    e.listener = null;
  }
  return { copies, forms };
}

describe("einsum works on views", () => {
  const matrix = arange(12).reshape(3, 4);

  it("a permutation or a diagonal is a view of its operand", () => {
    const turned = einsum("ij->ji", matrix);
    expect(stridedOf(turned).storage).toBe(stridedOf(matrix).storage);
    expect(turned.strides).toEqual([1, 4]);
    const square = zeros([3, 3]);
    einsum("ii->i", square).fill(2);
    expect(square.toArray()).toEqual([
      [2, 0, 0],
      [0, 2, 0],
      [0, 0, 2],
    ]);
  });

  it.each([
    [
      "ij,jk->ik",
      [
        [3, 4],
        [4, 2],
      ],
    ],
    [
      "ij,kj->ik",
      [
        [3, 4],
        [2, 4],
      ],
    ],
    [
      "ji,jk->ki",
      [
        [4, 3],
        [4, 2],
      ],
    ],
    [
      "bhqd,bhkd->bhqk",
      [
        [2, 2, 3, 4],
        [2, 2, 5, 4],
      ],
    ],
    [
      "bqhd,bkhd->bhqk",
      [
        [2, 3, 2, 4],
        [2, 5, 2, 4],
      ],
    ],
    [
      "abcd,cdef->abef",
      [
        [2, 2, 3, 2],
        [3, 2, 2, 2],
      ],
    ],
  ] as const)("%s is one matrix product without a copy", (subscripts, shapes) => {
    const operands = shapes.map((shape) => ones([...shape]));
    const { copies, forms } = heard(() => einsum(subscripts, ...operands));
    expect(copies).toEqual([]);
    expect(forms).toEqual(["matmul"]);
  });

  it("axes that no stride joins are copied, and explain says so", () => {
    const a = ones([3, 4, 5]).permute(2, 0, 1);
    const b = ones([4, 5, 3]).permute(2, 1, 0);
    const report = explain(() => einsum("kij,ikj->", a, b));
    expect(report.copies.length).toBeGreaterThan(0);
    expect(report.copies[0].operation).toBe("einsum");
  });

  it("a chain is contracted from its cheap end", () => {
    const operands = [ones([50, 50]), ones([50, 50]), ones([50])];
    const sizes: number[] = [];
    engine().listener = (event) => {
      if (event.kind === "ran" && event.plan.work.form === "matmul")
        sizes.push(event.plan.work.frames[0].shape.length);
    };
    try {
      expect(einsum("ij,jk,k->i", ...operands).get(0)).toBe(2500);
    } finally {
      engine().listener = null;
    }
    // Vectors twice, never a product of the two matrices.
    expect(sizes.length).toBe(2);
  });

  it("leaves nothing behind, also when it fails", () => {
    const before = memory().tensors;
    scope(() => {
      const a = ones([3, 4]);
      expect(() => einsum("ij,jk->ik", a, a)).toThrow();
      einsum("ij,kj,kl->il", a, a, a);
    });
    expect(memory().tensors).toBe(before);
  });
});

describe("messages", () => {
  const message = (fn: () => unknown): string => {
    try {
      fn();
    } catch (error) {
      return (error as Error).message;
    }
    return "no error";
  };
  const a = ones([2, 3]);

  it("name the letter, the operand and both sizes", () => {
    expect(message(() => einsum("ij,jk->ik", a, a))).toMatchInlineSnapshot(`
      "einsum: "j" is 3 and, in operand 1 ([2, 3]), 2.
        Axes with one name have one size; only size 1 repeats."
    `);
    expect(message(() => einsum("ij->ik", a))).toMatchInlineSnapshot(`
      "einsum: the output of "ij->ik" has "k", which no operand has.
        Each name of the output occurs in it once, and in an operand."
    `);
    expect(message(() => einsum("ij->ii", a))).toMatchInlineSnapshot(`
      "einsum: the output of "ij->ii" has "i" twice.
        Each name of the output occurs in it once, and in an operand."
    `);
    expect(message(() => einsum("ijk->i", a))).toMatchInlineSnapshot(`
      "einsum: "ijk" names 3 axes, operand 0 is [2, 3].
        Give one letter for each axis."
    `);
    expect(message(() => einsum("i->i", a))).toMatchInlineSnapshot(`
      "einsum: "i" names 1 axis, operand 0 is [2, 3].
        Name every axis, or write "..." for those without a name."
    `);
    expect(message(() => einsum("ij,jk->ik", a))).toMatchInlineSnapshot(`
      "einsum: "ij,jk->ik" names 2 operands, got 1 tensor.
        Separate operands by commas: einsum("ij,jk->ik", a, b)."
    `);
    expect(message(() => einsum("i%->i", a))).toMatchInlineSnapshot(`
      "einsum: "%" in "i%->i" names no axis.
        Names are letters; "..." may stand once in a term, "," between operands, "->" before the output."
    `);
    expect(message(() => einsum("...,...", a, ones([2])))).toMatchInlineSnapshot(`
      "einsum: axis 1 from the right of "..." is 3 and, in operand 1 ([2]), 2.
        Axes with one name have one size; only size 1 repeats."
    `);
    expect(message(() => einsum(3 as never, a))).toMatchInlineSnapshot(`
      "einsum: the subscripts are the number 3.
        Give a string first: einsum("ij,jk->ik", a, b)."
    `);
    expect(message(() => einsum("ij", [1] as never))).toMatchInlineSnapshot(`
      "einsum: expected a tensor, got an array.
        Make one with tensor(…)."
    `);
  });

  it("of the products say what must agree", () => {
    expect(message(() => dot(a, a))).toMatchInlineSnapshot(`
      "dot: sizes differ: a is [2, 3], b is [2, 3].
        a's last size (3) must equal b's size of axis 0 (2)."
    `);
    expect(message(() => vecdot(a, ones([2, 4])))).toMatchInlineSnapshot(`
      "vecdot: the vectors have 3 and 4 elements: a is [2, 3], b is [2, 4].
        The axis must have one size in both."
    `);
    expect(message(() => cross(a, ones([2, 2])))).toMatchInlineSnapshot(`
      "cross: the vectors are those along axis -1: a is [2, 3], b is [2, 2].
        They must have 3 elements in both."
    `);
    expect(message(() => tensordot(a, a, { axes: 1 }))).toMatchInlineSnapshot(`
      "tensordot: axis 1 of a ([2, 3]) is 3, axis 0 of b ([2, 3]) is 2.
        Axes that are summed together have one size."
    `);
    expect(message(() => tensordot(a, a, { axes: "x" as never }))).toMatchInlineSnapshot(`
      "tensordot: axes is the string "x".
        Give a number, or a pair: [axes of a, axes of b]."
    `);
    expect(message(() => trace(tensor([1])))).toMatchInlineSnapshot(`
      "trace: the tensor is [1].
        A diagonal needs two axes."
    `);
  });
});
