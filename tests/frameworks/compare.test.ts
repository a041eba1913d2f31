/** Two tensors are equal where dtype, shape and values are: for vitest, chai and node:assert. */
import assert from "node:assert";
import { inspect } from "node:util";
import { afterEach, assert as chai, describe, expect, test, vi } from "vitest";
import { introduce } from "../../src/contents.ts";
import * as strided from "../../src/index.ts";
import { equalPairs, type Pair, strictlyUnequalPairs, unequalPairs } from "./cases.ts";

const { arange, tensor, tensorEquality, TensorError, zeros } = strided;
type Tensor = strided.Tensor;

/** Comparing may take milliseconds, not seconds: what hangs or lists a million elements takes longer. */
const FEW_SECONDS = 5000;
const each = (pairs: readonly Pair[]) => test.each(pairs.map(([name, make]) => [name, make] as const));

describe("node:assert", { timeout: FEW_SECONDS }, () => {
  each(equalPairs)("equal: %s", (_, make) => {
    const [a, b] = make(strided);
    assert.deepStrictEqual(a, b);
    assert.deepEqual(a, b);
    assert.deepStrictEqual({ list: [a] }, { list: [b] });
    assert.throws(() => assert.notDeepStrictEqual(a, b), assert.AssertionError);
  });

  each(unequalPairs)("unequal: %s", (_, make) => {
    const [a, b] = make(strided);
    for (const [x, y] of [
      [a, b],
      [b, a],
    ]) {
      assert.notDeepStrictEqual(x, y);
      assert.notDeepEqual(x, y);
      assert.notDeepStrictEqual(new Map([["t", x]]), new Map([["t", y]]));
      assert.throws(() => assert.deepStrictEqual(x, y), assert.AssertionError);
    }
  });

  each(strictlyUnequalPairs)("unequal when compared strictly: %s", (_, make) => {
    const [a, b] = make(strided);
    assert.notDeepStrictEqual(a, b);
    assert.deepEqual(a, b);
  });

  test("the same tensor is compared anew each time", () => {
    const [a, b] = [arange(3), arange(3).clone()];
    assert.deepStrictEqual(a, b);
    b.set([1], 9);
    assert.notDeepStrictEqual(a, b);
    b.set([1], 1);
    assert.deepStrictEqual(a, b);
  });

  test("sets of tensors, and tensors beside other things", () => {
    assert.deepStrictEqual(new Set([arange(2), arange(3)]), new Set([arange(3), arange(2)]));
    assert.notDeepStrictEqual(new Set([arange(2), arange(3)]), new Set([arange(3), arange(4)]));
    assert.notDeepStrictEqual(arange(2), [0, 1]);
    assert.notDeepStrictEqual(arange(2), {});
  });

  test("the difference is listed element by element", () => {
    const message = messageOf(() =>
      assert.deepStrictEqual(
        tensor([
          [1, 2],
          [3, 4],
        ]),
        tensor([
          [1, 2],
          [3, 5],
        ]),
      ),
    );
    expect(message).toMatch(/^\+ +4$/m);
    expect(message).toMatch(/^- +5$/m);
    const dtype = messageOf(() => assert.deepStrictEqual(tensor([1]), tensor([1], { dtype: "f64" })));
    expect(dtype).toMatch(/^\+ +dtype: 'f32',$/m);
    expect(dtype).toMatch(/^- +dtype: 'f64',$/m);
  });

  test("of large tensors it says where, in few lines", () => {
    const b = zeros([1000, 1000]);
    b.set([500, 499], 1.5);
    b.set([999, 0], 2);
    const message = messageOf(() => assert.deepStrictEqual(zeros([1000, 1000]), b));
    expect(message).toContain("from the other in 2 elements, the first at [500, 499]: 1.5, there 0");
    expect(message.split("\n").length).toBeLessThan(60);
  });
});

describe("vitest", { timeout: FEW_SECONDS }, () => {
  each(equalPairs)("equal: %s", (_, make) => {
    const [a, b] = make(strided);
    expect(a).toEqual(b);
    expect(a).toStrictEqual(b);
    expect({ list: [a] }).toEqual({ list: [b] });
  });

  each([...unequalPairs, ...strictlyUnequalPairs])("unequal: %s", (_, make) => {
    const [a, b] = make(strided);
    expect(a).not.toEqual(b);
    expect(b).not.toEqual(a);
    expect(a).not.toStrictEqual(b);
    expect([[a]]).not.toEqual([[b]]);
  });

  test("where the framework was not told of tensors, it finds the same by itself", () => {
    const { customEqualityTesters: testers } = registry();
    const ours = testers.splice(0);
    try {
      expect(ours.length).toBeGreaterThan(0);
      const small = (pairs: readonly Pair[]) => pairs.filter(([name]) => !name.includes("million"));
      for (const [name, make] of small(equalPairs)) {
        const [a, b] = make(strided);
        expect(a, name).toEqual(b);
      }
      for (const [name, make] of small([...unequalPairs, ...strictlyUnequalPairs])) {
        const [a, b] = make(strided);
        expect(a, name).not.toEqual(b);
      }
    } finally {
      testers.push(...ours);
    }
  });

  test("it is told once by each copy of the library, and remembers the last few", () => {
    const { customEqualityTesters: testers } = registry();
    const before = [...testers];
    const other = () => undefined;
    try {
      testers.push(other);
      for (let i = 0; i < 20; i++) introduce(tensorEquality);
      expect(testers).toHaveLength(5);
      expect(testers).toContain(other);
      expect(arange(3)).toEqual(tensor([0, 1, 2]));
    } finally {
      testers.splice(0, testers.length, ...before);
    }
  });

  test("calls are matched by the tensors they were given", () => {
    const spy = vi.fn();
    spy(arange(3));
    expect(spy).toHaveBeenCalledWith(arange(3));
    expect(spy).not.toHaveBeenCalledWith(arange(3).to("f64"));
  });

  test("chai's deep equality too", () => {
    chai.deepEqual(arange(3), tensor([0, 1, 2]));
    chai.notDeepEqual<Tensor>(arange(3), tensor([0, 1, 2], { dtype: "f64" }));
    chai.notDeepEqual(arange(3), tensor([0, 1, 3]));
    chai.deepEqual(arange(4).sum(), tensor(6));
  });
});

describe("tensorEquality, given to expect.addEqualityTesters", () => {
  each(equalPairs)("equal: %s", (_, make) => {
    expect(tensorEquality(...make(strided))).toBe(true);
  });
  each([...unequalPairs, ...strictlyUnequalPairs])("unequal: %s", (_, make) => {
    expect(tensorEquality(...make(strided))).toBe(false);
  });
  test("leaves everything else to others", () => {
    for (const x of [1, null, undefined, {}, [0, 1]]) {
      expect(tensorEquality(x, x)).toBe(undefined);
      expect(tensorEquality(arange(2), x)).toBe(undefined);
      expect(tensorEquality(x, arange(2))).toBe(undefined);
    }
  });
  test("compares millions of small rows in a moment", () => {
    const rows = () => arange(1_000_000).reshape(500_000, 2);
    expect(tensorEquality(rows(), rows())).toBe(true);
  });
});

describe("a disposed tensor", () => {
  const gone = () => {
    const t = arange(3);
    t.dispose();
    return t;
  };
  test("is not compared: it says what is wrong", () => {
    expect(() => assert.deepStrictEqual(gone(), arange(3))).toThrow(/compare: this tensor has been disposed/);
    expect(() => assert.deepEqual(arange(3), gone())).toThrow(/compare: this tensor has been disposed/);
    expect(() => expect(arange(3)).toEqual(gone())).toThrow(TensorError);
    expect(() => tensorEquality(gone(), arange(3))).toThrow(TensorError);
  });
  test("is equal to itself, and to nothing else of its own kind", () => {
    const t = gone();
    assert.deepStrictEqual(t, t);
    assert.notDeepStrictEqual(t, [0, 1, 2]);
  });
});

describe("what a tensor shows elsewhere", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test("it prints as before, alone and in objects", () => {
    const text = "Tensor f32 [2]\n[0, 1]";
    expect(String(arange(2))).toBe(text);
    expect(inspect(arange(2))).toBe(text);
    expect(inspect({ t: arange(2) })).toContain("t: Tensor f32 [2]");
    expect(JSON.stringify(arange(2))).toBe('{"dtype":"f32","shape":[2],"data":[0,1]}');
  });

  test("it keeps no elements beyond the caller's turn", async () => {
    const [a, b] = [arange(3), arange(3)];
    assert.deepStrictEqual(a, b);
    expect(inspect(a, { customInspect: false })).toContain("values: ");
    await Promise.resolve();
    expect(inspect(a, { customInspect: false })).not.toContain("values: ");
    assert.deepStrictEqual(a, b);
  });

  test("it can be frozen; what it shows cannot", () => {
    const t = Object.freeze(arange(3));
    assert.deepStrictEqual(t, arange(3));
    const { contents } = t as unknown as { contents: object };
    expect(() => Object.freeze(contents)).toThrow(TensorError);
  });

  test("a 0-d tensor is not iterable", () => {
    expect(() => [...tensor(1)]).toThrow(TypeError);
    expect([...tensor([1, 2])]).toEqual([1, 2]);
    expect([...arange(4).reshape(2, 2)]).toEqual([tensor([0, 1]), tensor([2, 3])]);
  });
});

/** Where vitest keeps what `expect.addEqualityTesters` was given. */
function registry(): { readonly customEqualityTesters: unknown[] } {
  return (globalThis as never)[Symbol.for("$$jest-matchers-object")];
}

function messageOf(action: () => void): string {
  try {
    action();
  } catch (error) {
    return (error as Error).message;
  }
  return expect.fail("nothing was thrown");
}
