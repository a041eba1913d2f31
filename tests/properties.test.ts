/**
 * What must hold for every tensor, however it lies in memory: each operation agrees with brute force on plain
 * arrays, and a kernel agrees with the function it was made of.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  arange,
  type DType,
  type Kernel,
  kernel,
  matmul,
  scope,
  type Tensor,
  tensor,
  zip,
} from "../src/index.ts";
import { stridedOf } from "../src/tensor.ts";
import {
  anyDType,
  applySteps,
  gather,
  indices,
  type Model,
  nested,
  ordinal,
  rangeOf,
  readAt,
  type Scalar,
  type Strided,
  shapes,
  sizeOf,
  smallOf,
  steps,
  stridedTensor,
} from "./arbitrary.ts";
import { elementOf } from "./fuzz/views.ts";

/** Everything made in a run is freed after it. */
const property = <T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => void, numRuns = 150) =>
  fc.assert(
    fc.property(arbitrary, (value) => scope(() => check(value))),
    { numRuns },
  );

function expectSame(t: Tensor, m: Model, dtype?: DType): void {
  if (dtype !== undefined) expect(t.dtype).toBe(dtype);
  expect(t.shape).toEqual(m.shape);
  expect(t.toArray()).toEqual(nested(m));
}

const flat = (x: unknown): unknown[] => (Array.isArray(x) ? x.flatMap(flat) : [x]);
const plusZero = (x: unknown) => (x === 0 ? 0 : x);

describe("views", () => {
  it("any chain of view operations is the same chain on plain arrays", () => {
    property(
      fc.tuple(stridedTensor(), steps),
      ([s, chain]) => {
        const [t, m] = applySteps(s.make(), s, chain);
        expectSame(t, m, s.dtype);
      },
      400,
    );
  });

  it("get, iteration, toTypedArray and toJSON see the elements that toArray sees", () => {
    property(stridedTensor(), (s) => {
      const t = s.make();
      for (const index of indices(s.shape))
        expect(elementOf(t, index)).toBe(s.values[ordinal(index, s.shape)]);
      // One large integer at a time is refused.
      const isBig = s.shape.length === 1 && (t.dtype === "i64" || t.dtype === "u64");
      const rows =
        s.shape.length === 0 || isBig
          ? []
          : [...t].map((row) => (typeof row === "object" ? row.toArray() : row));
      if (s.shape.length > 0 && !isBig) expect(rows).toEqual(nested(s));
      expect(t.toTypedArray()).toHaveLength(s.values.length);
      const again = tensor(t.toTypedArray(), { dtype: s.dtype, shape: s.shape });
      expectSame(again, s);
      expect(t.toJSON().data).toHaveLength(s.values.length);
    });
  });

  it("a slice of a slice is the slice of the selected elements", () => {
    const bound = fc.option(fc.integer({ min: -14, max: 14 }), { nil: null });
    const item = fc.tuple(bound, bound, fc.constantFrom(1, 2, 3, -1, -2, -3, 20, -20));
    property(fc.tuple(fc.nat(12), item, item), ([n, first, second]) => {
      const once = rangeOf(n, ...first);
      const twice = rangeOf(once.length, ...second).map((i) => once[i]);
      expect(arange(n).slice(first).slice(second).toArray()).toEqual(twice);
      const text = (r: readonly (number | null)[]) => r.map((x) => x ?? "").join(":");
      expect(arange(n).slice(text(first)).slice(text(second)).toArray()).toEqual(twice);
    });
  });

  it("permute then its inverse, flip twice, and T of T give the same view back", () => {
    property(stridedTensor(), (s) => {
      const t = s.make();
      const order = s.shape.map((_, d) => (d + 1) % s.shape.length);
      const back = order.map((_, d) => order.indexOf(d));
      for (const same of [t.permute(order).permute(back), t.flip().flip(), t.T.T]) {
        expect(same.strides).toEqual(t.strides);
        expect(same.offset).toBe(t.offset);
      }
    });
  });

  it("contiguous, clone and reshape keep the values and make them dense", () => {
    property(stridedTensor(), (s) => {
      const t = s.make();
      for (const dense of [t.contiguous(), t.clone()]) {
        expect(dense.isContiguous).toBe(true);
        expectSame(dense, s, s.dtype);
      }
      expectSame(t.reshape(-1, ...(s.values.length === 0 ? [1] : [])), {
        shape: s.values.length === 0 ? [0, 1] : [s.values.length],
        values: s.values,
      });
    });
  });
});

/** f(x, y) = x·y - x + 3 in each dtype, as its numbers behave. */
const arithmetic: Partial<Record<DType, (x: never, y: never) => Scalar>> = {
  f64: (x: number, y: number) => x * y - x + 3,
  f32: (x: number, y: number) => Math.fround(Math.fround(Math.fround(x * y) - x) + 3),
  i32: (x: number, y: number) => (((Math.imul(x, y) - x) | 0) + 3) | 0,
  u32: (x: number, y: number) => (Math.imul(x, y) - x + 3) >>> 0,
  i16: (x: number, y: number) => ((Math.imul(x, y) - x + 3) << 16) >> 16,
  u8: (x: number, y: number) => (x * y - x + 3) & 255,
  i64: (x: bigint, y: bigint) => BigInt.asIntN(64, x * y - x + 3n),
  u64: (x: bigint, y: bigint) => BigInt.asUintN(64, x * y - x + 3n),
};
const arithmeticTypes = Object.keys(arithmetic) as DType[];
const compute = (dtype: DType) => arithmetic[dtype] as (x: Scalar, y: Scalar) => Scalar;

describe("map and zip", () => {
  it.each(arithmeticTypes)("map computes in %s what its numbers do", (dtype) => {
    property(stridedTensor({ dtype }), (s) => {
      const out = s.make().map((x) => x * x - x + 3);
      expectSame(out, { shape: s.shape, values: s.values.map((x) => compute(dtype)(x, x)) }, dtype);
    });
  });

  /** Two tensors that broadcast together: sizes become 1 and leading axes go, here and there. */
  const pairs = (dtype: DType) =>
    fc.tuple(shapes, fc.nat(), fc.nat()).chain(([shape, p, q]) => {
      const part = (mask: number) => shape.map((n, d) => ((mask >> d) % 3 === 0 ? 1 : n)).slice(mask % 2);
      return fc.tuple(stridedTensor({ dtype, shape: part(p) }), stridedTensor({ dtype, shape: part(q) }));
    });
  const together = (a: Model, b: Model): readonly number[] => {
    const rank = Math.max(a.shape.length, b.shape.length);
    const padded = (m: Model) => [...new Array(rank - m.shape.length).fill(1), ...m.shape];
    return padded(a).map((n, d) => (n === 1 ? padded(b)[d] : n));
  };

  it.each(arithmeticTypes)("zip broadcasts and computes in %s", (dtype) => {
    property(pairs(dtype), ([a, b]) => {
      const shape = together(a, b);
      const values = indices(shape).map((i) => compute(dtype)(readAt(a, i), readAt(b, i)));
      expectSame(
        zip([a.make(), b.make()], (x, y) => x * y - x + 3),
        { shape, values },
        dtype,
      );
    });
  });

  it("a comparison gives bool, whatever the layouts", () => {
    property(pairs("f64"), ([a, b]) => {
      const shape = together(a, b);
      const values = indices(shape).map((i) => readAt(a, i) < readAt(b, i));
      expectSame(
        zip([a.make(), b.make()], (x, y) => x < y),
        { shape, values },
        "bool",
      );
    });
  });

  it("a function that is called gives what the compiled one gives", () => {
    const three = { value: 3 };
    property(pairs("f64"), ([a, b]) => {
      const compiled = zip([a.make(), b.make()], (x, y) => x * y - x + 3);
      const called = zip([a.make(), b.make()], (x, y) => x * y - x + three.value);
      expect(called.toArray()).toEqual(compiled.toArray());
      expect(called.strides).toEqual(compiled.strides);
    });
  });

  it("writing into an existing tensor of any layout gives the same values, and touches nothing else", () => {
    const cases = shapes.chain((shape) =>
      fc.tuple(
        stridedTensor({ dtype: "f64", shape }),
        stridedTensor({ dtype: "f64", shape, broadcast: false }),
      ),
    );
    property(cases, ([a, o]) => {
      const out = o.make();
      const before = memoryOf(out);
      const result = a.make().map((x) => x * 2, { out });
      expect(result).toBe(out);
      const want = { shape: a.shape, values: a.values.map((x) => (x as number) * 2) };
      expectSame(out, want);
      const after = memoryOf(out);
      const own = new Set(
        indices(out.shape).map((i) => i.reduce((p, x, d) => p + x * out.strides[d], out.offset)),
      );
      before.forEach((x, p) => {
        if (!own.has(p)) expect(after[p]).toBe(x);
      });
    });
  });

  it("the result of an elementwise call lies in the order of its input", () => {
    property(stridedTensor({ dtype: "f32", broadcast: false }), (s) => {
      const t = s.make();
      const out = t.map((x) => x + 1);
      const inOrder = (strides: readonly number[]) =>
        s.shape
          .map((_, d) => d)
          .filter((d) => s.shape[d] > 1)
          .sort((p, q) => Math.abs(strides[q]) - Math.abs(strides[p]) || p - q);
      if (sizeOf(s.shape) > 0) expect(inOrder(out.strides)).toEqual(inOrder(t.strides));
      expect(stridedOf(out).storage.bytes).toBe(sizeOf(s.shape) * 4);
    });
  });
});

/** All elements of the storage, as numbers. */
const memoryOf = (t: Tensor): number[] => {
  const { heap, address, bytes } = stridedOf(t).storage;
  return Array.from(new Float64Array(heap.buffer, address, bytes / 8));
};

describe("reduce and scan", () => {
  /** Folds the axes in `mask`, in C order of their indices. */
  function fold(
    s: Model,
    mask: number,
    keepdims: boolean,
    f: (acc: Scalar, x: Scalar) => Scalar,
    init: Scalar,
  ) {
    const axes = s.shape.map((_, d) => d).filter((d) => (mask >> d) & 1);
    const kept = s.shape.map((n, d) => (axes.includes(d) ? 1 : n));
    const values = indices(kept).map((at) => {
      let acc = init;
      for (const i of indices(axes.map((d) => s.shape[d]))) {
        const index = at.map((x, d) => (axes.includes(d) ? i[axes.indexOf(d)] : x));
        acc = f(acc, s.values[ordinal(index, s.shape)]);
      }
      return acc;
    });
    const shape = keepdims ? kept : kept.filter((_, d) => !axes.includes(d));
    return { axes, model: { shape, values } };
  }

  const cases = (dtype: DType) =>
    fc.tuple(stridedTensor({ dtype, values: smallOf(dtype) }), fc.nat(15), fc.boolean());

  it("reduce folds any axes of any layout, element after element", () => {
    property(cases("i32"), ([s, mask, keepdims]) => {
      const want = fold(s, mask, keepdims, (acc, x) => (Math.imul(acc as number, 3) + (x as number)) | 0, 1);
      const got = s.make().reduce((acc, x) => acc * 3 + x, { axis: want.axes, keepdims, init: 1 });
      expectSame(got, want.model, "i32");
    });
  });

  it("sum of floats", () => {
    property(cases("f64"), ([s, mask, keepdims]) => {
      const sum = fold(s, mask, keepdims, (acc, x) => (acc as number) + (x as number), 0);
      expectSame(s.make().sum({ axis: sum.axes, keepdims }), sum.model, "f64");
    });
  });

  it("sum of 8-bit integers is 64-bit, and wraps at the dtype it is asked for", () => {
    property(cases("i8"), ([s, mask, keepdims]) => {
      const wide = fold(s, mask, keepdims, (acc, x) => (acc as bigint) + BigInt(x), 0n);
      expectSame(s.make().sum({ axis: wide.axes, keepdims }), wide.model, "i64");
      const narrow = fold(s, mask, keepdims, (acc, x) => (((acc as number) + (x as number)) << 24) >> 24, 0);
      expectSame(s.make().sum({ axis: wide.axes, keepdims, dtype: "i8" }), narrow.model, "i8");
    });
  });

  it("max and min keep NaN; argmax finds the first of equals", () => {
    property(fc.tuple(stridedTensor({ dtype: "f64" }), fc.nat(3)), ([s, d]) => {
      if (s.shape.length === 0 || s.shape.includes(0)) return;
      const axis = d % s.shape.length;
      const { model } = fold(
        s,
        1 << axis,
        false,
        (acc, x) => Math.max(acc as number, x as number),
        -Infinity,
      );
      const got = s.make().max({ axis });
      expect(got.shape).toEqual(model.shape);
      // NumPy leaves the sign of a zero open.
      expect(flat(got.toArray()).map(plusZero)).toEqual(model.values.map(plusZero));
      const at = s.make().argmax({ axis, keepdims: true });
      for (const index of indices(at.shape)) {
        const row = Array.from(
          { length: s.shape[axis] },
          (_, k) =>
            s.values[
              ordinal(
                index.map((x, e) => (e === axis ? k : x)),
                s.shape,
              )
            ] as number,
        );
        const nan = row.findIndex(Number.isNaN);
        const first = nan >= 0 ? nan : row.indexOf(Math.max(...row));
        expect(Number(at.get(...index))).toBe(first);
      }
    });
  });

  it("scan keeps every step of the fold", () => {
    property(fc.tuple(stridedTensor({ dtype: "i32", values: smallOf("i32") }), fc.nat(3)), ([s, d]) => {
      if (s.shape.length === 0) return;
      const axis = d % s.shape.length;
      const values = indices(s.shape).map((index) => {
        let acc = 5;
        for (let k = 0; k <= index[axis]; k++) {
          const at = index.map((x, e) => (e === axis ? k : x));
          acc = (Math.imul(acc, 3) + (s.values[ordinal(at, s.shape)] as number)) | 0;
        }
        return acc;
      });
      expectSame(
        s.make().scan((acc, x) => acc * 3 + x, { axis, init: 5 }),
        { shape: s.shape, values },
        "i32",
      );
    });
  });
});

describe("matmul", () => {
  const size = fc.integer({ min: 0, max: 4 });
  const operands = (dtype: DType) =>
    fc
      .tuple(size, size, size, fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 2 }), fc.nat(15))
      .chain(([m, k, n, batch, mask]) => {
        const values = smallOf(dtype);
        const part = (bits: number) => batch.map((b, d) => ((bits >> d) & 1 ? 1 : b));
        return fc.tuple(
          stridedTensor({ dtype, values, shape: [...part(mask), m, k] }),
          stridedTensor({ dtype, values, shape: [...part(mask >> 2), k, n] }),
          fc.constant(batch),
        );
      });

  it.each(["f64", "f32", "i32", "i64"] as const)("is Σ a·b over any layout and batch, in %s", (dtype) => {
    property(operands(dtype), ([a, b, batch]) => {
      const [m, k] = a.shape.slice(-2);
      const n = b.shape[b.shape.length - 1];
      const lead = batch.map((_, d) => Math.max(a.shape[d], b.shape[d]));
      const shape = [...lead, m, n];
      const big = dtype === "i64";
      const values = indices(shape).map((index) => {
        const [i, j] = index.slice(-2);
        const at = index.slice(0, -2);
        let sum: Scalar = big ? 0n : 0;
        for (let p = 0; p < k; p++) {
          const x = readBatch(a, at, [i, p]);
          const y = readBatch(b, at, [p, j]);
          sum = big
            ? (sum as bigint) + (x as bigint) * (y as bigint)
            : (sum as number) + (x as number) * (y as number);
        }
        return sum;
      });
      const got = matmul(a.make(), b.make());
      expect(got.dtype).toBe(dtype);
      expect(got.shape).toEqual(shape);
      // The sign of a zero sum is open.
      expect(flat(got.toArray()).map(plusZero)).toEqual(values.map(plusZero));
    });
  });

  /** The element of matrix `at`, where a batch of size 1 serves all. */
  function readBatch(s: Strided, at: readonly number[], cell: readonly number[]): Scalar {
    return s.values[ordinal([...at.map((x, d) => (s.shape[d] === 1 ? 0 : x)), ...cell], s.shape)];
  }

  it("(a·b)ᵀ = bᵀ·aᵀ", () => {
    property(operands("f64"), ([a, b]) => {
      const rank = a.shape.length;
      const swap = (t: Tensor) => t.swapAxes(rank - 1, rank - 2);
      const left = swap(matmul(a.make(), b.make()));
      const right = matmul(swap(b.make()), swap(a.make()));
      expect(left.sub(right).abs().sum().item()).toBe(0);
    });
  });
});

describe("assign and to", () => {
  /** Small whole numbers as another dtype holds them. */
  function converted(x: Scalar, to: DType): Scalar {
    if (to === "bool") return Boolean(x);
    if (to === "u64") return BigInt.asUintN(64, BigInt(x));
    if (to === "i64") return BigInt(x);
    const n = Number(x);
    return to.startsWith("u") ? n & (2 ** Number(to.slice(1)) - 1) : n;
  }
  /** Negative floats go to 0 in unsigned integers; negative integers wrap. */
  const clamped = (x: Scalar, from: DType, to: DType): Scalar =>
    to.startsWith("u") && (from.startsWith("f") || from === "bf16") && (x as number) < 0 ? 0 : x;
  const wrap32 = (x: Scalar, to: DType): Scalar => (to === "u32" ? (x as number) >>> 0 : x);

  const dtypePairs = fc.tuple(fc.constantFrom(...anyDType), fc.constantFrom(...anyDType));

  it("to converts every dtype pair from any layout", () => {
    const cases = dtypePairs.chain(([from, to]) =>
      fc.tuple(stridedTensor({ dtype: from, values: smallOf(from) }), fc.constant(to)),
    );
    property(
      cases,
      ([s, to]) => {
        const values = s.values.map((x) => wrap32(converted(clamped(x, s.dtype, to), to), to));
        expectSame(s.make().to(to), { shape: s.shape, values }, to);
      },
      600,
    );
  });

  it("assign broadcasts and converts into any layout", () => {
    const cases = fc.tuple(dtypePairs, shapes, fc.nat()).chain(([[from, to], shape, mask]) => {
      const part = shape.map((n, d) => ((mask >> d) % 3 === 0 ? 1 : n)).slice(mask % 2);
      return fc.tuple(
        stridedTensor({ dtype: from, values: smallOf(from), shape: part }),
        stridedTensor({ dtype: to, values: smallOf(to), shape, broadcast: false }),
      );
    });
    property(
      cases,
      ([source, target]) => {
        const { shape, dtype } = target;
        const values = indices(shape).map((i) =>
          wrap32(converted(clamped(readAt(source, i), source.dtype, dtype), dtype), dtype),
        );
        const dst = target.make();
        expect(dst.assign(source.make())).toBe(dst);
        expectSame(dst, { shape, values }, dtype);
      },
      400,
    );
  });

  it("assignFlat moves elements in C order of each side", () => {
    const cases = fc
      .constantFrom(
        [[12], [3, 4]],
        [
          [2, 6],
          [3, 2, 2],
        ],
        [
          [4, 3],
          [3, 4],
        ],
        [
          [1, 12],
          [12, 1],
        ],
      )
      .chain(([from, to]) =>
        fc.tuple(
          stridedTensor({ dtype: "i16", shape: from }),
          stridedTensor({ dtype: "i16", shape: to, broadcast: false }),
        ),
      );
    property(cases, ([source, target]) => {
      const dst = target.make().assignFlat(source.make());
      expectSame(dst, { shape: target.shape, values: source.values });
    });
  });
});

describe("overlapping memory behaves as if the source had been copied first", () => {
  const n = 10;
  /** Every distinct slice of n elements with at least one: first element, step, length. */
  const slices: (readonly number[])[] = [];
  for (let step = -3; step <= 3; step++) {
    if (step === 0) continue;
    for (let start = 0; start < n; start++) {
      for (let length = 1; ; length++) {
        const last = start + step * (length - 1);
        if (last < 0 || last >= n) break;
        if (length > 1 || step === 1) slices.push(Array.from({ length }, (_, k) => start + k * step));
      }
    }
  }
  const cut = (t: Tensor, at: readonly number[]) => {
    const step = at.length > 1 ? at[1] - at[0] : 1;
    const stop = at[at.length - 1] + Math.sign(step);
    return t.slice([at[0], stop < 0 ? null : stop, step]);
  };
  const pairs = slices.flatMap((dst) =>
    slices.filter((src) => src.length === dst.length || src.length === 1).map((src) => [dst, src] as const),
  );
  const expected = (dst: readonly number[], src: readonly number[], f: (x: number) => number) => {
    const want = Array.from({ length: n }, (_, i) => i);
    dst.forEach((at, k) => {
      want[at] = f(src.length === 1 ? src[0] : src[k]);
    });
    return want;
  };
  /** Runs all pairs and tells of the first that is wrong. */
  function check(run: (dst: Tensor, src: Tensor) => void, f: (x: number) => number): void {
    expect(pairs.length).toBeGreaterThan(3000);
    scope(() => {
      const buffer = arange(n, { dtype: "f64" });
      const fresh = buffer.clone();
      for (const [dst, src] of pairs) {
        scope(() => {
          buffer.assign(fresh);
          run(cut(buffer, dst), cut(buffer, src));
        });
        const got = Array.from(buffer.data);
        const want = expected(dst, src, f);
        if (got.some((x, i) => x !== want[i])) expect(got, `[${dst}] = [${src}]`).toEqual(want);
      }
    });
  }

  it("assign, for every pair of slices of one buffer", () => {
    check(
      (dst, src) => dst.assign(src),
      (x) => x,
    );
  });

  it("a kernel into a slice of its own operand, for every pair", () => {
    const twice = kernel((x: number) => x * 2 + 1);
    check(
      (dst, src) => twice.into(dst, src.broadcastTo(dst.shape)),
      (x) => x * 2 + 1,
    );
  });

  it("a zip of two overlapping operands into a third slice", () => {
    check(
      (dst, src) => zip([src.broadcastTo(dst.shape), dst], (x, y) => x + 0 * y, { out: dst }),
      (x) => x,
    );
  });

  it("a matrix assigned its own transpose, flips and shifts", () => {
    const make = () => arange(16, { dtype: "i32" }).reshape(4, 4);
    const model: Model = { shape: [4, 4], values: Array.from({ length: 16 }, (_, i) => i) };
    const t = make();
    expectSame(
      t.assign(t.T),
      gather(model, [4, 4], ([i, j]) => [j, i]),
    );
    const u = make();
    expectSame(
      u.assign(u.flip()),
      gather(model, [4, 4], ([i, j]) => [3 - i, 3 - j]),
    );
    const v = make();
    v.slice("1:").assign(v.slice(":-1"));
    expectSame(
      v,
      gather(model, [4, 4], ([i, j]) => [Math.max(i - 1, 0), j]),
    );
    const w = make();
    w.assignFlat(w.T);
    expectSame(
      w,
      gather(model, [4, 4], ([i, j]) => [j, i]),
    );
    const r = make();
    r.assign(r.slice(1));
    expectSame(
      r,
      gather(model, [4, 4], ([, j]) => [1, j]),
    );
  });
});

describe("a kernel computes on f64 what the function itself does", () => {
  /* Each is exact: no transcendental function, whose last bit is open. */
  const functions: readonly ((x: number, y: number) => number | boolean)[] = [
    (x, y) => x + y * 2 - 1,
    (x, y) => x / y,
    (x, y) => x % y,
    (x, y) => -x + +y,
    (x, y) => Math.max(x, y),
    (x, y) => Math.min(x, y, 1),
    (x, y) => (x > y ? x : y),
    (x, y) => (x === y ? 1 : x < y ? 2 : 3),
    (x, y) => x <= y && x >= -y,
    (x, y) => !(x !== y) || x > 0,
    (x) => Math.round(x),
    (x) => Math.sign(x),
    (x) => Math.trunc(x) + Math.floor(x) - Math.ceil(x),
    (x) => Math.abs(x) + Math.sqrt(x),
    (x) => Math.fround(x),
    (x, y) => (x | 0) + (y | 0),
    (x, y) => (x & y) ^ ~x,
    (x, y) => (x << 2) + (y >> 1) + (x >>> 28),
    (x, y) => Math.imul(x, y),
    (x) => Math.clz32(x),
    (x) => x ** 2,
    (x) => Number.isNaN(x),
    (x) => Number.isInteger(x) || !Number.isFinite(x),
    (x, y) => {
      let s = 0;
      for (let i = 0; i < 4; i++) s += x * i - y;
      return s;
    },
    (x, y) => {
      const t = x * x;
      if (t > y) return t;
      const u = t + y;
      return u * u;
    },
  ];
  const special = fc.constantFrom(
    0,
    -0,
    1,
    -1,
    0.5,
    -0.5,
    1.5,
    2.5,
    NaN,
    Infinity,
    -Infinity,
    2 ** 31,
    -(2 ** 31),
    2 ** 32 + 1.5,
    5e-324,
    2 ** 53,
    1e308,
  );
  const number = fc.oneof(special, fc.double(), fc.integer({ min: -20, max: 20 }));
  const inputs = fc.array(fc.tuple(number, number), { minLength: 1, maxLength: 30 });

  it.each(functions.map((f) => [String(f).replace(/\s+/g, " "), f] as const))("%s", (_, f) => {
    const compiled = kernel(f.length === 1 ? (f as (x: number) => number) : f);
    property(
      inputs,
      (rows) => {
        const x = tensor(
          rows.map(([a]) => a),
          { dtype: "f64" },
        );
        const y = tensor(
          rows.map(([, b]) => b),
          { dtype: "f64" },
        );
        const got = f.length === 1 ? (compiled as unknown as typeof compiled & Kernel)(x) : compiled(x, y);
        expect(got.toArray()).toEqual(rows.map(([a, b]) => f(a, b)));
      },
      60,
    );
  });

  it("transcendental functions are within a few units in the last place", () => {
    const names =
      "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp expm1 log log2 log10 log1p cbrt".split(
        " ",
      ) as (keyof Math)[];
    property(
      fc.array(number, { minLength: 1, maxLength: 20 }),
      (values) => {
        for (const name of names) {
          const f = Math[name] as (x: number) => number;
          const x = tensor(
            values.filter((v) => Math.abs(v) < 1e6 || !Number.isFinite(v)),
            { dtype: "f64" },
          );
          const got = x.map(f).toArray() as number[];
          (x.toArray() as number[]).forEach((v, i) => {
            const want = f(v);
            const near =
              Object.is(got[i], want) || Math.abs(got[i] - want) <= 4e-16 * 4 * Math.abs(want) + 1e-300;
            if (!near) expect(got[i], `${String(name)}(${v})`).toBe(want);
          });
        }
      },
      40,
    );
  });
});
