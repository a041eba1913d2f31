/**
 * Bad input gets an error that names the operation, the fact, the values and the remedy, and changes nothing. Every
 * snapshot shows the error's code and its whole message.
 */
import { describe, expect, it } from "vitest";
import * as strided from "../src/index.ts";
import {
  add,
  arange,
  configure,
  eye,
  fromBuffer,
  fromGgml,
  full,
  kernel,
  linspace,
  matmul,
  memory,
  rawMap,
  rawMatmul,
  rawReduce,
  rawZip,
  scope,
  Tensor,
  TensorError,
  tensor,
  zeros,
  zip,
} from "../src/index.ts";
import { refused } from "./refused.ts";

/** What plain JavaScript may pass where TypeScript would object. */
const wrong = (value: unknown): never => value as never;

const t23 = () => arange(6).reshape(2, 3);

describe("shapes that do not fit", () => {
  const a = t23();
  const b = zeros([2, 4]);

  it("zip", () => {
    expect(refused(() => zip([a, b], (x, y) => x + y))).toMatchInlineSnapshot();
    expect(refused(() => zip([a, b, zeros(3)], (x, y, z) => x + y + z))).toMatchInlineSnapshot();
  });

  it("a named operation names itself", () => {
    expect(refused(() => a.add(b))).toMatchInlineSnapshot();
    expect(refused(() => strided.where(a, b, 1))).toMatchInlineSnapshot();
  });

  it("matmul", () => {
    expect(refused(() => matmul(a, zeros([4, 5])))).toMatchInlineSnapshot();
    expect(refused(() => matmul(a, zeros(2)))).toMatchInlineSnapshot();
    expect(refused(() => matmul(tensor(1), a))).toMatchInlineSnapshot();
    expect(refused(() => matmul(zeros([2, 2, 3]), zeros([3, 3, 2])))).toMatchInlineSnapshot();
  });

  it("assign changes nothing when the source does not broadcast", () => {
    const dst = t23();
    expect(refused(() => dst.assign(b))).toMatchInlineSnapshot();
    expect(refused(() => dst.assign([[1, 2]]))).toMatchInlineSnapshot();
    expect(refused(() => dst.assignFlat(zeros(5)))).toMatchInlineSnapshot();
    expect(dst.toArray()).toEqual(t23().toArray());
  });

  it("an output must have exactly the result's shape, and stays as it was", () => {
    const out = zeros([2, 4]);
    expect(refused(() => a.map((x) => x + 1, { out }))).toMatchInlineSnapshot();
    expect(refused(() => a.add(1, { out }))).toMatchInlineSnapshot();
    expect(refused(() => kernel((x: number) => x + 1).into(out, a))).toMatchInlineSnapshot();
    expect(out.toArray()).toEqual(zeros([2, 4]).toArray());
  });

  it("broadcastTo", () => {
    expect(refused(() => a.broadcastTo(2, 4))).toMatchInlineSnapshot();
    expect(refused(() => a.broadcastTo(3))).toMatchInlineSnapshot();
  });

  it("reshape and view", () => {
    expect(refused(() => a.reshape(4, 2))).toMatchInlineSnapshot();
    expect(refused(() => a.reshape(-1, -1))).toMatchInlineSnapshot();
    expect(refused(() => a.reshape(4, -1))).toMatchInlineSnapshot();
    expect(refused(() => zeros([0, 3]).reshape(0, -1))).toMatchInlineSnapshot();
    expect(refused(() => a.T.view(6))).toMatchInlineSnapshot();
  });

  it("squeeze, item, diagonal, slidingWindow", () => {
    expect(refused(() => a.squeeze(0))).toMatchInlineSnapshot();
    expect(refused(() => a.item())).toMatchInlineSnapshot();
    expect(refused(() => arange(3).diagonal())).toMatchInlineSnapshot();
    expect(refused(() => arange(3).slidingWindow(4))).toMatchInlineSnapshot();
  });

  it("nothing to fold", () => {
    expect(refused(() => zeros([0, 3]).max())).toMatchInlineSnapshot();
    expect(refused(() => zeros(0).reduce((acc, x) => acc + x))).toMatchInlineSnapshot();
    expect(refused(() => zeros([2, 0]).argmax({ axis: 1 }))).toMatchInlineSnapshot();
  });
});

describe("data that is no tensor", () => {
  it("ragged nested arrays", () => {
    expect(
      refused(() =>
        tensor([
          [1, 2, 3],
          [4, 5],
        ]),
      ),
    ).toMatchInlineSnapshot();
    expect(refused(() => tensor([[1, 2], 3]))).toMatchInlineSnapshot();
    expect(refused(() => tensor([1, [2, 3]]))).toMatchInlineSnapshot();
    expect(
      refused(() =>
        tensor([
          [[1], [2]],
          [[3], [4, 5]],
        ]),
      ),
    ).toMatchInlineSnapshot();
  });

  it("elements that are no numbers", () => {
    expect(refused(() => tensor(wrong([1, "2"])))).toMatchInlineSnapshot();
    expect(refused(() => tensor(wrong([[1], [null]])))).toMatchInlineSnapshot();
    expect(refused(() => tensor(wrong(undefined)))).toMatchInlineSnapshot();
    expect(refused(() => tensor(wrong({ length: 2 })))).toMatchInlineSnapshot();
    expect(refused(() => tensor(new DataView(new ArrayBuffer(8))))).toMatchInlineSnapshot();
  });

  it("a shape that does not hold the elements", () => {
    expect(refused(() => tensor([1, 2, 3], { shape: [2, 2] }))).toMatchInlineSnapshot();
    expect(refused(() => tensor(new Float32Array(3), { shape: [2, -1] }))).toMatchInlineSnapshot();
  });
});

describe("dtypes", () => {
  it("unknown", () => {
    expect(refused(() => zeros([2], { dtype: wrong("float32") }))).toMatchInlineSnapshot();
    expect(refused(() => t23().to(wrong(undefined)))).toMatchInlineSnapshot();
    expect(refused(() => t23().sum({ dtype: wrong("int") }))).toMatchInlineSnapshot();
    expect(refused(() => t23().map((x) => x, { dtype: wrong(1n) }))).toMatchInlineSnapshot();
    expect(
      refused(() => fromGgml({ type: "q4_0", ne: [2], data: new ArrayBuffer(8) })),
    ).toMatchInlineSnapshot();
    expect(refused(() => kernel((x: number) => x).as(wrong("double")))).toMatchInlineSnapshot();
  });

  it("bigints and numbers do not mix", () => {
    expect(refused(() => tensor(wrong([1, 2n])))).toMatchInlineSnapshot();
    expect(refused(() => zeros(2).set([0], 1n))).toMatchInlineSnapshot();
    expect(refused(() => zeros(2, { dtype: "i64" }).set([0], 1.5))).toMatchInlineSnapshot();
    expect(refused(() => full([2], 2n, { dtype: "f32" }))).toMatchInlineSnapshot();
    expect(refused(() => arange(0, 2 ** 60, 2 ** 59 + 0.5, { dtype: "u64" }))).toMatchInlineSnapshot();
  });

  it("a value that no number of the dtype can be", () => {
    expect(refused(() => zeros(2, { dtype: "u8" }).add(300))).toMatchInlineSnapshot();
    expect(refused(() => zeros(2).set([0], wrong("1")))).toMatchInlineSnapshot();
    expect(refused(() => zeros(2).fill(wrong(null)))).toMatchInlineSnapshot();
  });

  it("operations that bool has not", () => {
    const mask = tensor([true, false]);
    expect(refused(() => mask.sub(mask))).toMatchInlineSnapshot();
    expect(refused(() => mask.neg())).toMatchInlineSnapshot();
  });
});

describe("indices, axes and slices", () => {
  const a = t23();

  it("an index out of range", () => {
    expect(refused(() => a.get(2, 0))).toMatchInlineSnapshot();
    expect(refused(() => a.get(0, -4))).toMatchInlineSnapshot();
    expect(refused(() => a.get(0))).toMatchInlineSnapshot();
    expect(refused(() => a.get(0, 1.5))).toMatchInlineSnapshot();
    expect(refused(() => a.set([0, 3], 1))).toMatchInlineSnapshot();
    expect(refused(() => a.slice(5))).toMatchInlineSnapshot();
    expect(refused(() => zeros(0).slice(0))).toMatchInlineSnapshot();
  });

  it("slices", () => {
    expect(refused(() => a.slice("::0"))).toMatchInlineSnapshot();
    expect(refused(() => a.slice([0, 2, 0]))).toMatchInlineSnapshot();
    expect(refused(() => a.slice("1-2"))).toMatchInlineSnapshot();
    expect(refused(() => a.slice(0, 0, 0))).toMatchInlineSnapshot();
    expect(refused(() => a.slice("...", 0, "..."))).toMatchInlineSnapshot();
    expect(refused(() => a.slice([0.5, 2]))).toMatchInlineSnapshot();
  });

  it("an axis out of range, named twice or not whole", () => {
    expect(refused(() => a.sum({ axis: 2 }))).toMatchInlineSnapshot();
    expect(refused(() => a.sum({ axis: [0, -2] }))).toMatchInlineSnapshot();
    expect(refused(() => a.permute(0))).toMatchInlineSnapshot();
    expect(refused(() => a.permute(0, 0))).toMatchInlineSnapshot();
    expect(refused(() => a.flip(0.5))).toMatchInlineSnapshot();
    expect(refused(() => a.moveAxis([0, 1], 0))).toMatchInlineSnapshot();
    expect(refused(() => a.cumsum())).toMatchInlineSnapshot();
    expect(refused(() => tensor(1).cumsum())).toMatchInlineSnapshot();
    expect(refused(() => [...tensor(1)])).toMatchInlineSnapshot();
  });

  it("an axis given without a name, as NumPy has it, is not taken for no axis", () => {
    expect(refused(() => a.sum(wrong(1)))).toMatchInlineSnapshot();
    expect(refused(() => a.argmax({ axis: wrong([0]) }))).toMatchInlineSnapshot();
    expect(refused(() => a.mean(wrong([0])))).toMatchInlineSnapshot();
  });
});

describe("sizes", () => {
  it("are whole numbers from 0", () => {
    expect(refused(() => zeros([2, -1]))).toMatchInlineSnapshot();
    expect(refused(() => zeros(1.5))).toMatchInlineSnapshot();
    expect(refused(() => zeros([NaN]))).toMatchInlineSnapshot();
    expect(refused(() => linspace(0, 1, -1))).toMatchInlineSnapshot();
    expect(refused(() => eye(2, { columns: 0.5 }))).toMatchInlineSnapshot();
  });

  it("that no memory holds", () => {
    expect(refused(() => zeros([2 ** 40]))).toMatchInlineSnapshot();
    expect(refused(() => zeros([2 ** 30, 2 ** 30]))).toMatchInlineSnapshot();
    expect(refused(() => zeros(new Array(65).fill(1)))).toMatchInlineSnapshot();
    expect(refused(() => arange(1e12))).toMatchInlineSnapshot();
    expect(refused(() => arange(0, 1, 0))).toMatchInlineSnapshot();
    expect(refused(() => arange(0, Infinity))).toMatchInlineSnapshot();
    expect(refused(() => arange())).toMatchInlineSnapshot();
  });
});

describe("memory that is not there", () => {
  const a = t23();

  it("asStrided stays inside its storage", () => {
    expect(refused(() => a.asStrided([4], [2]))).toMatchInlineSnapshot();
    expect(refused(() => a.asStrided([2], [-1]))).toMatchInlineSnapshot();
    expect(refused(() => a.asStrided([1], [1], 6))).toMatchInlineSnapshot();
    expect(refused(() => a.asStrided([2, 2], [1]))).toMatchInlineSnapshot();
    expect(refused(() => a.asStrided([2], [0.5]))).toMatchInlineSnapshot();
  });

  it("foreign buffers", () => {
    const bytes = new Uint8Array(10);
    expect(refused(() => fromBuffer(bytes, { dtype: "f32", shape: [3] }))).toMatchInlineSnapshot();
    expect(
      refused(() => fromBuffer(bytes, { dtype: "i16", shape: [2], byteStrides: [2], byteOffset: -2 })),
    ).toMatchInlineSnapshot();
    expect(
      refused(() => fromBuffer(bytes, { dtype: "i16", shape: [2, 2], byteStrides: [2] })),
    ).toMatchInlineSnapshot();
    expect(refused(() => fromBuffer(wrong([1, 2]), { dtype: "u8", shape: [2] }))).toMatchInlineSnapshot();
    expect(refused(() => fromGgml({ type: 0, ne: [4], nb: [4, 16], data: bytes }))).toMatchInlineSnapshot();
  });

  it("raw storages", () => {
    const raw = (shape: number[], strides: number[], offset = 0) => ({
      storage: new Float64Array(4),
      shape,
      strides,
      offset,
    });
    expect(refused(() => rawMap((x) => x, raw([4], [1]), raw([4], [2])))).toMatchInlineSnapshot();
    expect(refused(() => rawMap((x) => x, raw([4], [1]), raw([3], [1])))).toMatchInlineSnapshot();
    expect(
      refused(() => rawZip((x) => x, raw([2], [1]), raw([2], [1, 1]), raw([2], [1]))),
    ).toMatchInlineSnapshot();
    expect(refused(() => rawReduce((x) => x, raw([2], [1]), raw([2, 2], [2, 1]), 1))).toMatchInlineSnapshot();
    expect(
      refused(() => rawMatmul(raw([2, 2], [2, 1]), raw([2, 2], [2, 1]), raw([2, 2], [2, 1]))),
    ).toMatchInlineSnapshot();
  });

  it("a view that has no typed array", () => {
    expect(refused(() => a.T.data)).toMatchInlineSnapshot();
    const odd = fromBuffer(new Uint8Array(9), { dtype: "f32", shape: [2], byteOffset: 1 });
    expect(refused(() => odd.data)).toMatchInlineSnapshot();
  });
});

describe("read-only views", () => {
  const row = tensor([1, 2, 3]);
  const wide = row.broadcastTo(2, 3);

  it("writing to one is an error, whichever way", () => {
    expect(refused(() => wide.set([0, 0], 9))).toMatchInlineSnapshot();
    expect(refused(() => wide.assign(0))).toMatchInlineSnapshot();
    const ways: Record<string, () => unknown> = {
      fill: () => wide.fill(9),
      assignFlat: () => wide.assignFlat(zeros(6)),
      out: () => zip([zeros([2, 3])], (x) => x, { out: wide }),
      into: () => kernel((x: number) => x).into(wide, row),
      named: () => row.add(1, { out: wide }),
      "a view of it": () => wide.slice(0).T.fill(9),
      "a window": () => row.slidingWindow(2).fill(9),
      "shared strides": () => row.asStrided([2, 2], [1, 1]).fill(9),
      "a foreign one": () =>
        fromBuffer(new Uint8Array(4), { dtype: "u8", shape: [4], byteStrides: [0] }).fill(1),
    };
    for (const [name, write] of Object.entries(ways))
      expect(
        scope(() => refused(write)),
        name,
      ).toMatch(/^\(readonly\)/);
    expect(row.toArray()).toEqual([1, 2, 3]);
  });
});

describe("after dispose", () => {
  const everything: Record<string, (t: Tensor) => unknown> = {
    get: (t) => t.get(0, 0),
    set: (t) => t.set([0, 0], 1),
    item: (t) => t.item(),
    data: (t) => t.data,
    assign: (t) => t.assign(1),
    "assign from it": (t) => zeros([2, 3]).assign(t),
    assignFlat: (t) => t.assignFlat(zeros(6)),
    "assignFlat from it": (t) => zeros(6).assignFlat(t),
    fill: (t) => t.fill(1),
    slice: (t) => t.slice(0),
    permute: (t) => t.permute(1, 0),
    T: (t) => t.T,
    swapAxes: (t) => t.swapAxes(0, 1),
    moveAxis: (t) => t.moveAxis(0, 1),
    squeeze: (t) => t.squeeze(),
    expandDims: (t) => t.expandDims(0),
    flip: (t) => t.flip(),
    broadcastTo: (t) => t.broadcastTo(2, 3),
    diagonal: (t) => t.diagonal(),
    slidingWindow: (t) => t.slidingWindow(1, 0),
    asStrided: (t) => t.asStrided([1], [1]),
    reshape: (t) => t.reshape(3, 2),
    view: (t) => t.view(6),
    clone: (t) => t.clone(),
    contiguous: (t) => t.contiguous(),
    to: (t) => t.to("f64"),
    "to its own dtype": (t) => t.to("f32"),
    map: (t) => t.map((x) => x),
    "map out": (t) => zeros([2, 3]).map((x) => x, { out: t }),
    zip: (t) => zip([zeros([2, 3]), t], (a, b) => a + b),
    "zip out": (t) => zip([zeros([2, 3])], (a) => a, { out: t }),
    reduce: (t) => t.reduce((a, x) => a + x),
    scan: (t) => t.scan((a, x) => a + x, { axis: 0 }),
    matmul: (t) => t.matmul(zeros([3, 2])),
    "matmul by it": (t) => matmul(zeros([2, 2]), t),
    kernel: (t) => kernel((x: number) => x)(t),
    "kernel into it": (t) => kernel((x: number) => x).into(t, zeros([2, 3])),
    add: (t) => t.add(1),
    "add it": (t) => add(1, t),
    "add out": (t) => zeros([2, 3]).add(1, { out: t }),
    neg: (t) => t.neg(),
    where: (t) => strided.where(t, 1, zeros([2, 3])),
    sum: (t) => t.sum(),
    mean: (t) => t.mean(),
    argmax: (t) => t.argmax(),
    cumsum: (t) => t.cumsum({ axis: 0 }),
    toArray: (t) => t.toArray(),
    toTypedArray: (t) => t.toTypedArray(),
    toJSON: (t) => t.toJSON(),
    iterate: (t) => [...t],
    layout: (t) => t.layout(),
  };

  it("every use says so", () => {
    const t = t23();
    t.dispose();
    expect(refused(() => t.get(0, 0))).toMatchInlineSnapshot();
    for (const [name, use] of Object.entries(everything)) {
      expect(
        scope(() => refused(() => scope(() => use(t)))),
        name,
      ).toMatch(/^\(disposed\) /);
    }
  });

  it("also of a handle whose memory another handle still holds", () => {
    const keeper = t23();
    const t = keeper.slice(":");
    t.dispose();
    for (const [name, use] of Object.entries(everything)) {
      expect(
        scope(() => refused(() => scope(() => use(t)))),
        name,
      ).toMatch(/^\(disposed\) /);
    }
    expect(keeper.toArray()).toEqual(t23().toArray());
  });

  it("what needs no memory still answers: shape, dtype, printing, dispose again", () => {
    const t = t23();
    t.dispose();
    t.dispose();
    expect(t.shape).toEqual([2, 3]);
    expect(t.isDisposed).toBe(true);
    expect(String(t)).toMatchInlineSnapshot();
  });

  it("a tensor of a scope that has ended", () => {
    let kept: Tensor | undefined;
    scope(() => {
      kept = zeros(2);
    });
    expect(refused(() => kept?.get(0))).toMatchInlineSnapshot();
  });
});

describe("functions", () => {
  const clamp = (x: number) => Math.min(x, 1);
  const k = 2;

  it("a kernel that reads an outer variable", () => {
    expect(refused(() => kernel((x: number) => x * k))).toMatchInlineSnapshot();
  });

  it("a kernel that calls a function it cannot know", () => {
    expect(refused(() => kernel((x: number) => Math.max(x, clamp(x))))).toMatchInlineSnapshot();
    expect(refused(() => kernel((x: number) => Math.random() * x))).toMatchInlineSnapshot();
  });

  it("a kernel that is no function of numbers", () => {
    expect(refused(() => kernel(async (x: number) => x))).toMatchInlineSnapshot();
    expect(refused(() => kernel(wrong("x => x + 1")))).toMatchInlineSnapshot();
    expect(refused(() => kernel(wrong(null)))).toMatchInlineSnapshot();
    expect(refused(() => kernel((x: number) => (x > 0 ? 1 : undefined)))).toMatchInlineSnapshot();
    expect(refused(() => kernel(() => "a"))).toMatchInlineSnapshot();
  });

  it("captured values that are no scalars", () => {
    expect(
      refused(() => kernel((x: number, k: string) => x + Number(k), { k: "2" })),
    ).toMatchInlineSnapshot();
    expect(refused(() => kernel((x: number) => x, wrong(null)))).toMatchInlineSnapshot();
  });

  it("the wrong number of tensors", () => {
    const f = kernel((x: number, y: number) => x + y);
    expect(refused(() => f(zeros(2)))).toMatchInlineSnapshot();
    expect(refused(() => t23().map(wrong((x: number, y: number) => x + y)))).toMatchInlineSnapshot();
    expect(refused(() => zip([], () => 1))).toMatchInlineSnapshot();
    expect(refused(() => kernel(() => 1)())).toMatchInlineSnapshot();
    expect(refused(() => t23().reduce(wrong((x: number) => x)))).toMatchInlineSnapshot();
  });

  it("no function at all", () => {
    expect(refused(() => t23().map(wrong(undefined)))).toMatchInlineSnapshot();
    expect(refused(() => t23().reduce(wrong("sum")))).toMatchInlineSnapshot();
    expect(refused(() => scope(wrong(3)))).toMatchInlineSnapshot();
  });

  it("a called function that returns no number, or changes its mind", () => {
    const outer = { value: wrong("x") as number };
    expect(refused(() => t23().map(() => outer.value))).toMatchInlineSnapshot();
    const flip = { on: false };
    expect(
      refused(() =>
        t23().map((x) => {
          flip.on = !flip.on;
          return flip.on ? x : x > 1;
        }),
      ),
    ).toMatchInlineSnapshot();
  });

  it("a called function's own error passes through, and neither output nor memory has changed", () => {
    const out = zeros([2, 3]);
    const before = memory();
    const own = new Error("mine");
    const thrower = (x: number) => {
      if (x === 3) throw own;
      return x + 1;
    };
    expect(() => t23().map(thrower, { out })).toThrow(own);
    const t = t23();
    const held = memory();
    expect(() => t.map(thrower)).toThrow(own);
    expect(() => t.reduce((acc, x) => acc + thrower(x), { init: 0 })).toThrow(own);
    expect(() => t.scan((acc, x) => acc + thrower(x), { axis: 1, init: 0 })).toThrow(own);
    expect(memory().tensors).toBe(held.tensors);
    expect(before.tensors).toBeLessThanOrEqual(held.tensors);
    expect(out.toArray()).toEqual(zeros([2, 3]).toArray());
  });
});

describe("scope and configure", () => {
  it("a scope is synchronous", () => {
    expect(refused(() => scope(async () => zeros(2)))).toMatchInlineSnapshot();
  });

  it("configure comes before the first tensor", () => {
    expect(refused(() => configure({ maximumBytes: 2 ** 20 }))).toMatchInlineSnapshot();
  });
});

describe("wrong types from plain JavaScript", () => {
  const bad: readonly unknown[] = [
    undefined,
    null,
    "x",
    "1",
    {},
    [],
    [null],
    ["0"],
    NaN,
    -1,
    1.5,
    2 ** 53,
    2n,
    true,
    () => 1,
    new Date(0),
  ];
  const shown = (args: readonly unknown[]) =>
    args.map((x) => (typeof x === "bigint" ? `${x}n` : (JSON.stringify(x) ?? String(x)))).join(", ");

  /** Calls with all combinations of up to two bad arguments; whatever fails, fails with a TensorError. */
  function abuse(name: string, call: (...args: unknown[]) => unknown): string[] {
    const offences: string[] = [];
    const lists = [[], ...bad.map((x) => [x]), ...bad.flatMap((x) => bad.map((y) => [x, y]))];
    for (const args of lists) {
      const before = memory();
      let failed = true;
      try {
        scope(() => {
          call(...args);
        });
        failed = false;
      } catch (error) {
        if (!(error instanceof TensorError) || error.code === "internal")
          offences.push(`${name}(${shown(args)}): ${error}`);
        else if (/undefined (indices|sizes|entries|elements)/.test(error.message))
          offences.push(`${name}(${shown(args)}): ${error.message}`);
      }
      if (failed && memory().tensors !== before.tensors) offences.push(`${name}(${shown(args)}) leaks`);
    }
    return offences;
  }

  const functions = Object.entries(strided).filter(
    ([name, f]) =>
      typeof f === "function" && !["Tensor", "TensorError", "configure", "promote"].includes(name),
  ) as [string, (...args: unknown[]) => unknown][];

  it.each(functions)("%s", (name, f) => {
    expect(abuse(name, f)).toEqual([]);
    expect(abuse(`${name} after a tensor`, (...args) => f(arange(4).reshape(2, 2), ...args))).toEqual([]);
  });

  const getters = [
    "T",
    "data",
    "shape",
    "rank",
    "size",
    "strides",
    "byteStrides",
    "offset",
    "byteOffset",
    "isContiguous",
    "isDisposed",
  ];
  const methods = Object.getOwnPropertyNames(Tensor.prototype).filter(
    (name) => name !== "constructor" && !getters.includes(name),
  );

  it.each(methods)("Tensor.%s", (name) => {
    const call = (...args: unknown[]) => {
      const t = arange(4).reshape(2, 2) as unknown as Record<string, (...args: unknown[]) => unknown>;
      return t[name](...args);
    };
    expect(abuse(name, call)).toEqual([]);
  });

  it("a kernel's call, into and as", () => {
    const f = kernel((x: number) => x + 1);
    expect(abuse("call", wrong(f))).toEqual([]);
    expect(abuse("into", wrong(f.into))).toEqual([]);
    expect(abuse("as", wrong(f.as))).toEqual([]);
  });
});
