/** What other libraries hold, in and out: recognised by its shape, read once, copied once, and lent where memory allows. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dtypeNames, memory, scope, type Tensor, TensorError, tensor } from "../../src/index.ts";
import { copyStrided, from, to } from "../../src/interop.ts";

const refusal = (fn: () => unknown): string => {
  try {
    fn();
  } catch (error) {
    if (error instanceof TensorError) return error.message;
    throw error;
  }
  return "nothing was thrown";
};

/** Elements of shape, stride and offset by the law itself. */
function elements(
  data: ArrayLike<unknown>,
  shape: readonly number[],
  stride: readonly number[],
  offset: number,
): unknown[] {
  const all: unknown[] = [];
  const walk = (d: number, p: number): void => {
    if (d === shape.length) all.push(data[p]);
    else for (let i = 0; i < shape[d]; i++) walk(d + 1, p + i * stride[d]);
  };
  walk(0, offset);
  return all;
}

/** Any shape, and strides of which none reaches outside of the data. */
const layouts = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: -9, max: 40 })), { maxLength: 4 })
  .map((axes) => {
    const shape = axes.map(([n]) => n);
    const stride = axes.map(([, s]) => s);
    const reaches = shape.includes(0) ? [] : axes.map(([n, s]) => (n - 1) * s);
    const low = reaches.filter((r) => r < 0).reduce((a, b) => a + b, 0);
    const high = reaches.filter((r) => r > 0).reduce((a, b) => a + b, 0);
    return { shape, stride, offset: -low + 1, length: high - low + 3 };
  });

const arrays = {
  u8: Uint8Array,
  i16: Int16Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
  i64: BigInt64Array,
} as const;

describe("from", () => {
  it("memory with strides gives its elements, whatever the layout", () => {
    fc.assert(
      fc.property(
        layouts,
        fc.constantFrom(...(Object.keys(arrays) as (keyof typeof arrays)[])),
        (layout, dtype) =>
          scope(() => {
            const { shape, stride, offset, length } = layout;
            const data = new arrays[dtype](length);
            for (let i = 0; i < length; i++)
              data[i] = (dtype === "i64" ? BigInt(i * 7 - 3) : (i * 7) % 200) as never;
            const t = from({ data, shape, stride, offset });
            expect(t.dtype).toBe(dtype);
            expect(t.shape).toEqual(shape);
            expect([t.toArray()].flat(8)).toEqual(elements(data, shape, stride, offset));
          }),
      ),
      { numRuns: 400 },
    );
  });

  it("keeps strides where the elements lie close, and gathers them where they do not", () => {
    scope(() => {
      const data = new Float32Array(1000);
      expect(from({ data, shape: [3, 4], stride: [1, 3], offset: 2 }).strides).toEqual([1, 3]);
      expect(from({ data, shape: [4], stride: [-2], offset: 6 }).strides).toEqual([-2]);
      const before = memory().bytes;
      expect(from({ data, shape: [10], stride: [100], offset: 0 }).strides).toEqual([1]);
      expect(memory().bytes - before).toBe(64);
    });
  });

  it("a stride of 0 repeats, and cannot be written to", () => {
    scope(() => {
      const t = from({ data: Float32Array.of(7), shape: [3], stride: [0], offset: 0 });
      expect(t.toArray()).toEqual([7, 7, 7]);
      expect(t.readOnly).toBe(true);
    });
  });

  it("tensors, scalars, typed arrays, buffers, nested arrays and iterables", () => {
    scope(() => {
      const t = tensor([1, 2]);
      expect(from(t).data).toEqual(t.data);
      expect(from(t, { dtype: "f64" }).dtype).toBe("f64");
      expect(from(5).toArray()).toBe(5);
      expect(from(5n).dtype).toBe("i64");
      expect(from(Buffer.from([1, 2, 3])).toString()).toContain("u8");
      expect(from(Buffer.from([1, 2, 3]).subarray(1)).toArray()).toEqual([2, 3]);
      expect(from(Uint8Array.of(1, 2).buffer).toArray()).toEqual([1, 2]);
      expect(from(new DataView(Uint8Array.of(1, 2).buffer, 1)).toArray()).toEqual([2]);
      expect(from(new Uint8ClampedArray(2)).dtype).toBe("u8");
      expect(from(Uint16Array.of(0x3c00), { dtype: "f16" }).toArray()).toEqual([1]);
      expect(
        from([
          [1, 2],
          [3, 4],
        ]).shape,
      ).toEqual([2, 2]);
      expect(from([Float64Array.of(1, 2), Float64Array.of(3, 4)]).dtype).toBe("f64");
      expect(from(new Set([3, 1])).toArray()).toEqual([3, 1]);
      expect(from(new Map([[1, 2]])).toArray()).toEqual([[1, 2]]);
      const rows = function* () {
        yield [1, 2];
        yield [3, 4];
      };
      expect(from(rows()).shape).toEqual([2, 2]);
      expect(from({ [Symbol.iterator]: () => [true].values() }).dtype).toBe("bool");
    });
  });

  it("look-alikes of tfjs, onnxruntime, Arrow and pictures", () => {
    scope(() => {
      const tf = { dataSync: () => Int32Array.of(1, 2, 3, 4), shape: [2, 2], dtype: "int32" };
      expect(from(tf).toString()).toContain("i32 [2, 2]");
      const complex = { dataSync: () => Float32Array.of(1, 2, 3, 4), shape: [2], dtype: "complex64" };
      expect(from(complex).toArray()).toEqual([
        [1, 2],
        [3, 4],
      ]);
      const flags = { dataSync: () => Uint8Array.of(1, 0), shape: [2], dtype: "bool" };
      expect(from(flags).toArray()).toEqual([true, false]);
      const half = { data: Uint16Array.of(0x3c00, 0xc000), dims: [2, 1], type: "float16" };
      expect(from(half).toArray()).toEqual([[1], [-2]]);
      const picture = { data: new Uint8ClampedArray(24), width: 3, height: 2 };
      expect(from(picture).shape).toEqual([2, 3, 4]);
      expect(from({ ...picture, data: new Uint16Array(18), channels: 3 }).toString()).toContain(
        "u16 [2, 3, 3]",
      );
      const canvas = { width: 3, height: 2, getContext: () => ({ getImageData: () => picture }) };
      expect(from(canvas).shape).toEqual([2, 3, 4]);
      const column = {
        nullCount: 1,
        length: 3,
        toArray: () => [1, null, 3],
        *[Symbol.iterator]() {
          yield* [1, null, 3];
        },
      };
      expect(from(column, { nulls: -1 }).toArray()).toEqual([1, -1, 3]);
      expect(from(column, { nulls: -1 }).dtype).toBe("f64");
      const flat = { data: [1, 2, 3, 4], shape: [2, 2], stride: [1, 2], offset: 0 };
      expect(from(flat).toArray()).toEqual([
        [1, 3],
        [2, 4],
      ]);
    });
  });

  it("what it cannot read is refused, with the reason and a remedy", () => {
    const data = new Float32Array(4);
    const texts = [
      () => from("12"),
      () => from(undefined),
      () => from({ data, width: 2 }),
      () => from({ data, shape: [2, 3], stride: [2, 1], offset: 0 }),
      () => from({ data, shape: [2, 2], stride: [2], offset: 0 }),
      () => from({ data, shape: [2, 2], stride: [0.5, 1], offset: 0 }),
      () => from({ data: { get: () => 1, set: () => 1 }, shape: [2], stride: [1], offset: 0 }),
      () => from({ dataSync: () => ["a"], shape: [1], dtype: "string" }),
      () => from({ dataSync: () => 7, shape: [1], dtype: "float32" }),
      () => from({ type: "float32", dims: [1], location: "gpu-buffer" }),
      () => from({ type: "uint4", dims: [1], data }),
      () => from({ data, width: 3, height: 2 }),
      () => from({ width: 1, height: 1, getContext: () => null }),
      () => from({ nullCount: 2, toArray: () => [], length: 2 }),
      () => from([Float32Array.of(1), Float32Array.of(1, 2)]),
      () =>
        from(
          (function* () {
            for (;;) yield 1;
          })(),
        ),
    ];
    expect(texts.map(refusal).join("\n")).toMatchInlineSnapshot(`
      "from: cannot make a tensor of the string "12".
        It takes tfjs tensors, onnxruntime tensors, ndarrays and zarrita chunks ({ data, shape, stride }), ImageData, Arrow columns, canvases, iterables, typed arrays and nested arrays.
      from: cannot make a tensor of undefined.
        It takes tfjs tensors, onnxruntime tensors, ndarrays and zarrita chunks ({ data, shape, stride }), ImageData, Arrow columns, canvases, iterables, typed arrays and nested arrays.
      from: cannot tell what this is: an object.
        It takes tfjs tensors, onnxruntime tensors, ndarrays and zarrita chunks ({ data, shape, stride }), ImageData, Arrow columns, canvases, iterables, typed arrays and nested arrays.
      from: the view reaches elements 0 … 4, the data has 4.
        Every element must lie inside: shape [2, 3], stride [2, 1], offset 0.
      from: 1 strides for 2 sizes.
        Give one stride an axis.
      from: the stride 0.5 is not a whole number.
        Strides and offset count elements.
      from: the data is an object: no typed array and no array.
        Data that lies behind functions (get and set) has to be copied to a typed array first.
      from: no dtype holds the tfjs type string.
        Convert it there first; known are float32 int32 bool complex64.
      from: the data of this tfjs tensor is the number 7.
        It needs a typed array: bring the data to the processor's own memory first.
      from: this onnxruntime tensor's data is not here: its location is gpu-buffer.
        Fetch it first: await t.getData().
      from: no dtype holds the onnxruntime type uint4.
        Convert it there first; known are bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64.
      from: 4 elements are no picture of 3 × 2.
        A picture has width · height · channels of them, and 1 to 4 channels.
      from: this canvas has no 2d context.
        A canvas with a WebGL or WebGPU context is drawn to a 2d one first.
      from: 2 elements of this column are null.
        Say what stands for them: from(column, { nulls: NaN }).
      from: row 1 has 2 elements of f32, row 0 has 1 of f32.
        Every row needs the same length and the same dtype.
      from: the iterable gave more than 4194304 elements.
        Collect it in a typed array, which is taken as it is."
    `);
  });

  it("nothing is read twice, not even the properties of what it turns out not to be", () => {
    const reads = new Map<PropertyKey, number>();
    const seen = new Proxy(
      { data: Float32Array.of(1, 2), dims: [2], type: "float32", location: "cpu" },
      {
        get(target, key) {
          reads.set(key, (reads.get(key) ?? 0) + 1);
          return Reflect.get(target, key);
        },
      },
    );
    scope(() => expect(from(seen).toArray()).toEqual([1, 2]));
    expect([...reads].filter(([, n]) => n > 1)).toEqual([]);
  });
});

describe("to", () => {
  it("ndarray lends the tensor's memory with its strides, and what comes back in it is the tensor", () => {
    scope(() => {
      const base = tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], { shape: [3, 4] });
      const view = base.slice("::-1", "1::2");
      const { data, shape, stride, offset } = to.ndarray(view);
      expect(elements(data, shape, stride, offset)).toEqual([9, 11, 5, 7, 1, 3]);
      data[offset] = 99;
      expect(base.get(2, 1)).toBe(99);
      const before = memory().tensors;
      const back = from({ data, shape: [...shape].reverse(), stride: [...stride].reverse(), offset });
      expect(memory().tensors).toBe(before);
      back.set([0, 0], 100);
      expect(base.get(2, 1)).toBe(100);
      expect(refusal(() => from({ data, shape: [2, 9], stride: [1, 1], offset }))).toMatchInlineSnapshot(`
        "from: the view reaches elements 8 … 17, the data has 11.
          Every element must lie inside: shape [2, 9], stride [1, 1], offset 8."
      `);
      const copy = to.ndarray(view, { copy: true });
      expect([...copy.data]).toEqual([100, 11, 5, 7, 1, 3]);
      expect(copy.data.buffer).toBeInstanceOf(ArrayBuffer);
    });
  });

  it("lent memory that is gone is told", () => {
    const t = tensor([1, 2, 3]);
    const parts = to.ndarray(t);
    t.dispose();
    expect(refusal(() => from(parts))).toMatchInlineSnapshot(`
      "from: this array lies in the memory of a tensor that has been disposed.
        Keep the tensor as long as the array, or take a copy: { copy: true }."
    `);
  });

  it("what was lent keeps its tensor from being collected", async () => {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const parts = to.ndarray(tensor([1, 2, 3]));
    for (let i = 0; i < 4; i++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    scope(() => {
      for (let i = 0; i < 100; i++) tensor([9, 9, 9]);
      expect([...parts.data]).toEqual([1, 2, 3]);
      expect(from(parts).toArray()).toEqual([1, 2, 3]);
    });
  });

  it("every dtype goes out and comes back, or is refused with the dtype to take instead", () => {
    const classes = { Tensor: OnnxTensor };
    const ways: Record<string, (t: Tensor) => unknown> = {
      ndarray: (t) => from(to.ndarray(t)),
      "ndarray copy": (t) => from(to.ndarray(t, { copy: true })),
      zarrita: (t) => from(to.zarrita(t)),
      tfjs: (t) => from(to.tfjs(t, tfLike)),
      onnx: (t) => from(to.onnx(t, classes)),
      bytes: (t) => from(to.bytes(t)).shape[0],
    };
    const lines = dtypeNames.map((dtype) =>
      scope(() => {
        const t = tensor([[1, 0, 1]], { dtype: dtype === "i64" || dtype === "u64" ? "i32" : dtype }).to(
          dtype,
        );
        const cells = Object.entries(ways).map(([name, way]) => {
          const got = way.length > 2 ? null : attempt(() => way(t));
          return `${name}: ${got}`;
        });
        return `${dtype.padEnd(4)} ${cells.join("  ")}`;
      }),
    );
    const half = lines.find((line) => line.startsWith("f16"))!;
    const hasHalf = "Float16Array" in globalThis;
    expect(half).toContain(hasHalf ? "zarrita: f16 [1,3]" : 'zarrita: ✗ t.to("f32")');
    expect(half).toContain("onnx: f16 [1,3]");
    expect(lines.filter((line) => line !== half).join("\n")).toMatchInlineSnapshot(`
      "bool ndarray: bool [1,3]  ndarray copy: u8 [1,3]  zarrita: u8 [1,3]  tfjs: bool [1,3]  onnx: bool [1,3]  bytes: 3
      u8   ndarray: u8 [1,3]  ndarray copy: u8 [1,3]  zarrita: u8 [1,3]  tfjs: i32 [1,3]  onnx: u8 [1,3]  bytes: 3
      i8   ndarray: i8 [1,3]  ndarray copy: i8 [1,3]  zarrita: i8 [1,3]  tfjs: i32 [1,3]  onnx: i8 [1,3]  bytes: 3
      u16  ndarray: u16 [1,3]  ndarray copy: u16 [1,3]  zarrita: u16 [1,3]  tfjs: i32 [1,3]  onnx: u16 [1,3]  bytes: 6
      i16  ndarray: i16 [1,3]  ndarray copy: i16 [1,3]  zarrita: i16 [1,3]  tfjs: i32 [1,3]  onnx: i16 [1,3]  bytes: 6
      u32  ndarray: u32 [1,3]  ndarray copy: u32 [1,3]  zarrita: u32 [1,3]  tfjs: ✗ t.to("f32")  onnx: u32 [1,3]  bytes: 12
      i32  ndarray: i32 [1,3]  ndarray copy: i32 [1,3]  zarrita: i32 [1,3]  tfjs: i32 [1,3]  onnx: i32 [1,3]  bytes: 12
      u64  ndarray: u64 [1,3]  ndarray copy: u64 [1,3]  zarrita: u64 [1,3]  tfjs: ✗ t.to("f32")  onnx: u64 [1,3]  bytes: 24
      i64  ndarray: i64 [1,3]  ndarray copy: i64 [1,3]  zarrita: i64 [1,3]  tfjs: ✗ t.to("f32")  onnx: i64 [1,3]  bytes: 24
      bf16 ndarray: ✗ t.to("f32")  ndarray copy: ✗ t.to("f32")  zarrita: ✗ t.to("f32")  tfjs: f32 [1,3]  onnx: ✗ t.to("f32")  bytes: 6
      f32  ndarray: f32 [1,3]  ndarray copy: f32 [1,3]  zarrita: f32 [1,3]  tfjs: f32 [1,3]  onnx: f32 [1,3]  bytes: 12
      f64  ndarray: f64 [1,3]  ndarray copy: f64 [1,3]  zarrita: f64 [1,3]  tfjs: ✗ t.to("f32")  onnx: f64 [1,3]  bytes: 24"
    `);
  });

  const attempt = (fn: () => unknown): string => {
    try {
      const made = fn();
      return typeof made === "number"
        ? String(made)
        : `${(made as Tensor).dtype} ${JSON.stringify((made as Tensor).shape)}`;
    } catch (error) {
      return `✗ ${/t\.to\("\w+"\)/.exec((error as Error).message)?.[0]}`;
    }
  };

  it("arguments that are none are told", () => {
    scope(() => {
      const t = tensor([[1, 2]]);
      const texts = [
        () => to.tfjs(t, {} as never),
        () => to.onnx(t, 7 as never),
        () => to.onnx(t, (() => 1) as never),
        () => to.arrow(t, {} as never),
        () => to.ndarray(t, { copy: 1 as never }),
        () => to.ndarray(t, { ndarray: 7 as never }),
        () => to.imageData(t),
        () => to.canvas(t, { width: 1, height: 1, getContext: () => null }),
        () => to.zarrita(t.slice(":", "::-1"), { copy: false }),
        () => to.ndarray("x" as never),
      ];
      expect(texts.map(refusal).join("\n")).toMatchInlineSnapshot(`
        "to.tfjs: the second argument is an object.
          Pass the module of tfjs: to.tfjs(t, tf).
        to.onnx: the second argument is the number 7.
          Pass onnxruntime's module or its Tensor: to.onnx(t, ort).
        to.onnx: new Tensor failed: () => 1 is not a constructor.
          It has to behave as the library's own does.
        to.arrow: [1, 2] is no vector.
          A column has one axis; with flechette a matrix makes lists.
        to.ndarray: copy is the number 1.
          Use { copy: true } or { copy: false }.
        to.ndarray: ndarray is the number 7.
          Give the function of the package "ndarray".
        to.imageData: this host has no ImageData.
          Pass a class, { ImageData }, or use image.toRGBA(t), which gives the bytes.
        to.canvas: this canvas has no 2d context.
          Give one that has no WebGL or WebGPU context yet.
        to.zarrita: a chunk begins with its first element, and this view's is element 1 of its memory.
          Take a copy, which is the default.
        to.ndarray: expected a tensor, got the string "x".
          Make one with tensor(…)."
      `);
    });
  });

  it("pictures: ImageData of a class that is given, and a canvas that takes the size", () => {
    class Picture {
      readonly data: Uint8ClampedArray;
      readonly width: number;
      readonly height: number;
      constructor(data: Uint8ClampedArray, width: number, height: number) {
        this.data = data;
        this.width = width;
        this.height = height;
      }
    }
    scope(() => {
      const t = tensor([[0, 0.5, 1]]);
      const made = to.imageData(t, { ImageData: Picture as never });
      expect([...made.data]).toEqual([0, 0, 0, 255, 128, 128, 128, 255, 255, 255, 255, 255]);
      expect([made.width, made.height]).toEqual([3, 1]);
      expect(from(made).shape).toEqual([1, 3, 4]);
      let drawn: Picture | undefined;
      const canvas = {
        width: 300,
        height: 150,
        getContext: () => ({
          createImageData: (w: number, h: number) => new Picture(new Uint8ClampedArray(4 * w * h), w, h),
          putImageData: (p: Picture) => {
            drawn = p;
          },
        }),
      };
      to.canvas(t, canvas);
      expect([canvas.width, canvas.height]).toEqual([3, 1]);
      expect([...drawn!.data.slice(4, 8)]).toEqual([128, 128, 128, 255]);
    });
  });

  it("bytes and buffers are the elements in row-major order", () => {
    scope(() => {
      const t = tensor([1, 2, 3, 4], { shape: [2, 2], dtype: "u16" }).T;
      expect([...to.bytes(t)]).toEqual([1, 0, 3, 0, 2, 0, 4, 0]);
      expect(Buffer.isBuffer(to.buffer(t))).toBe(true);
      expect(to.nested(t)).toEqual([
        [1, 3],
        [2, 4],
      ]);
    });
  });
});

class OnnxTensor {
  readonly type: string;
  readonly data: unknown;
  readonly dims: readonly number[];
  constructor(type: string, data: unknown, dims: readonly number[]) {
    this.type = type;
    this.data = data;
    this.dims = dims;
  }
}
const tfLike = {
  tensor: (values: ArrayBufferView, shape: number[], dtype: string) => ({
    dataSync: () => values,
    shape,
    dtype,
  }),
};

describe("copyStrided", () => {
  it("every element arrives, whatever the strides of both sides, and nothing else changes", () => {
    const kinds = fc.constantFrom<keyof typeof arrays>("u8", "f32", "f64", "i64");
    fc.assert(
      fc.property(
        layouts,
        kinds,
        fc.array(fc.nat(5), { minLength: 4, maxLength: 4 }),
        (layout, dtype, gaps) => {
          const { shape, stride, offset, length } = layout;
          const src = new arrays[dtype](length);
          for (let i = 0; i < length; i++) src[i] = (dtype === "i64" ? BigInt(i) : i % 251) as never;
          // A destination whose axes lie in another order, with gaps.
          const order = shape.map((_, d) => d).sort((a, b) => gaps[a] - gaps[b] || a - b);
          const steps: number[] = new Array(shape.length);
          let step = 1 + (gaps[0] % 2);
          for (const d of order) {
            steps[d] = step;
            step = step * Math.max(1, shape[d]) + gaps[d % 4];
          }
          const out = new arrays[dtype](step + 5).fill((dtype === "i64" ? 99n : 99) as never);
          copyStrided({ data: out, shape, stride: steps, offset: 2 }, { data: src, shape, stride, offset });
          expect(elements(out, shape, steps, 2)).toEqual(elements(src, shape, stride, offset));
          const touched = new Set(elements([...out.keys()], shape, steps, 2));
          expect([...out.keys()].filter((i) => !touched.has(i) && Number(out[i]) !== 99)).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("large transposed planes, by squares", () => {
    const [m, n] = [130, 77];
    const data = Float64Array.from({ length: m * n }, (_, i) => i);
    const out = new Float64Array(m * n);
    copyStrided({ data: out, shape: [n, m] }, { data, shape: [n, m], stride: [1, n] });
    expect([...out]).toEqual(elements(data, [n, m], [1, n], 0));
  });

  it("overlapping sides behave as if the source were copied first", () => {
    const data = Float32Array.of(1, 2, 3, 4, 5, 6);
    copyStrided({ data, shape: [5], offset: 1 }, { data, shape: [5] });
    expect([...data]).toEqual([1, 1, 2, 3, 4, 5]);
    copyStrided({ data, shape: [6] }, { data, shape: [6], stride: [-1], offset: 5 });
    expect([...data]).toEqual([5, 4, 3, 2, 1, 1]);
    const words = ["a", "b", "c"];
    copyStrided({ data: words, shape: [3] }, { data: words, shape: [3], stride: [-1], offset: 2 });
    expect(words).toEqual(["c", "b", "a"]);
  });

  it("converts as JavaScript does, and refuses what it cannot", () => {
    const out = { data: new Uint8Array(3), shape: [3] };
    copyStrided(out, { data: Float32Array.of(257, 2.9, -1), shape: [3] });
    expect([...out.data]).toEqual([1, 2, 255]);
    const texts = [
      () => copyStrided(out, { data: new BigInt64Array(3), shape: [3] }),
      () => copyStrided(out, { data: new Float32Array(3), shape: [4] }),
      () => copyStrided(out, { data: new Float32Array(3), shape: [3], stride: [2] }),
      () => copyStrided(out, { data: new Float32Array(3), shape: [2] }),
      () => copyStrided(out, { data: new DataView(new ArrayBuffer(8)), shape: [3] }),
      () => copyStrided(null as never, out),
    ];
    expect(texts.map(refusal).join("\n")).toMatchInlineSnapshot(`
      "copyStrided: i64 does not go to u8: one holds bigints, the other numbers.
        Convert one of them first, for instance with BigInt64Array.from(data, BigInt).
      copyStrided: the view reaches elements 0 … 3, the data has 3.
        Every element must lie inside: shape [4], stride [1], offset 0.
      copyStrided: the view reaches elements 0 … 4, the data has 3.
        Every element must lie inside: shape [3], stride [2], offset 0.
      copyStrided: the destination is [3], the source [2].
        Both sides need the same shape; a stride of 0 repeats an element.
      copyStrided: the source's data is a DataView.
        It needs a typed array or an array.
      copyStrided: the destination is null.
        Give an object such as { data: new Float32Array(6), shape: [2, 3] }."
    `);
  });
});
