/** What a tensor is to its user: made, read, written, printed, freed, and run through functions. */
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  add,
  arange,
  type DType,
  dtypeNames,
  empty,
  eye,
  fromBuffer,
  fromGgml,
  full,
  kernel,
  linspace,
  memory,
  ones,
  promote,
  scope,
  type Tensor,
  tensor,
  zeros,
  zip,
} from "../src/index.ts";
import { stridedOf } from "../src/tensor.ts";

const f64 = { dtype: "f64" } as const;

describe("creation", () => {
  it("numbers are f32, booleans bool, bigints i64, a typed array keeps its own dtype", () => {
    expect(tensor([1, 2]).dtype).toBe("f32");
    expect(tensor([true]).dtype).toBe("bool");
    expect(tensor([1n]).dtype).toBe("i64");
    expect(tensor([]).dtype).toBe("f32");
    expect(tensor(1).shape).toEqual([]);
    const own: [DType, ArrayBufferView][] = [
      ["u8", new Uint8Array(2)],
      ["u8", new Uint8ClampedArray(2)],
      ["i8", new Int8Array(2)],
      ["u16", new Uint16Array(2)],
      ["i16", new Int16Array(2)],
      ["u32", new Uint32Array(2)],
      ["i32", new Int32Array(2)],
      ["u64", new BigUint64Array(2)],
      ["i64", new BigInt64Array(2)],
      ["f32", new Float32Array(2)],
      ["f64", new Float64Array(2)],
    ];
    for (const [dtype, array] of own) expect(tensor(array).dtype).toBe(dtype);
  });

  it("booleans among numbers count as 0 and 1", () => {
    expect(tensor([1.5, true, false]).toArray()).toEqual([1.5, 1, 0]);
  });

  it("nested arrays give the shape, also with empty ones", () => {
    expect(
      tensor([
        [[1], [2]],
        [[3], [4]],
      ]).shape,
    ).toEqual([2, 2, 1]);
    expect(tensor([[], []]).shape).toEqual([2, 0]);
  });

  it("{ shape } arranges the elements, one size may be left open", () => {
    expect(tensor([1, 2, 3, 4], { shape: [2, -1] }).toArray()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(tensor(7, { shape: [1, 1] }).toArray()).toEqual([[7]]);
  });

  it("{ dtype } converts as to() does: integers saturate from floats and wrap from integers", () => {
    expect(tensor([300, -1, 2.9, NaN], { dtype: "u8" }).toArray()).toEqual([255, 0, 2, 0]);
    expect(tensor(new Int16Array([300, -1]), { dtype: "u8" }).toArray()).toEqual([44, 255]);
    expect(tensor(new Float64Array([1.9, -1e30]), { dtype: "i64" }).toArray()).toEqual([1n, -(2n ** 63n)]);
    expect(tensor(new BigInt64Array([-1n, 2n ** 53n + 1n]), f64).toArray()).toEqual([-1, 2 ** 53]);
    expect(tensor([NaN, 0, -0, 5], { dtype: "bool" }).toArray()).toEqual([true, false, false, true]);
  });

  it("a typed array is copied, not shared, whatever its own offset", () => {
    const base = Float32Array.of(0, 1, 2, 3);
    const t = tensor(base.subarray(1, 3));
    base.fill(9);
    expect(t.toArray()).toEqual([1, 2]);
  });

  it("zeros, ones, full, empty", () => {
    expect(zeros([2, 2]).toArray()).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(zeros(3).shape).toEqual([3]);
    expect(zeros([]).item()).toBe(0);
    expect(ones([2], { dtype: "i64" }).toArray()).toEqual([1n, 1n]);
    expect(full([2], 2.5).dtype).toBe("f32");
    expect(full([2], true).toArray()).toEqual([true, true]);
    expect(full([2], 3n).toArray()).toEqual([3n, 3n]);
    expect(full([1], -0, f64).toArray()).toEqual([-0]);
    expect(empty([0, 5]).size).toBe(0);
  });

  it.each(dtypeNames)("ones and zeros of %s", (dtype) => {
    const big = dtype === "i64" || dtype === "u64";
    const one = dtype === "bool" ? true : big ? 1n : 1;
    const zero = dtype === "bool" ? false : big ? 0n : 0;
    expect(ones(3, { dtype }).toArray()).toEqual([one, one, one]);
    expect(zeros(3, { dtype }).toArray()).toEqual([zero, zero, zero]);
  });

  it("zeros are zero also where memory was used before", () => {
    for (let i = 0; i < 3; i++) {
      const t = full([1000], 7);
      t.dispose();
      const z = zeros([1000]);
      expect(z.sum().item()).toBe(0);
      z.dispose();
    }
  });

  it("arange counts like Python's range, up or down, in any dtype", () => {
    expect(arange(4).toArray()).toEqual([0, 1, 2, 3]);
    expect(arange(2, 5).toArray()).toEqual([2, 3, 4]);
    expect(arange(5, 0, -2).toArray()).toEqual([5, 3, 1]);
    expect(arange(0, 1, 0.25, f64).toArray()).toEqual([0, 0.25, 0.5, 0.75]);
    expect(arange(3, { dtype: "u64" }).toArray()).toEqual([0n, 1n, 2n]);
    expect(arange(-3).toArray()).toEqual([]);
  });

  it("linspace ends exactly at stop, unless endpoint is false", () => {
    expect(linspace(0, 1, 5).toArray()).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(linspace(0, 1, 4, { endpoint: false }).toArray()).toEqual([0, 0.25, 0.5, 0.75]);
    expect(linspace(0, 0.7, 8, f64).get(-1)).toBe(0.7);
    expect(linspace(3, 4, 1).toArray()).toEqual([3]);
    expect(linspace(0, 1).shape).toEqual([50]);
  });

  it("eye has ones on a diagonal", () => {
    expect(eye(2).toArray()).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect(eye(2, { columns: 3, k: 1, dtype: "i8" }).toArray()).toEqual([
      [0, 1, 0],
      [0, 0, 1],
    ]);
    expect(eye(3, { k: -2 }).sum().item()).toBe(1);
    expect(eye(2, { k: 5 }).sum().item()).toBe(0);
  });
});

describe("reading and writing elements", () => {
  it("get and set count negative indices from the end", () => {
    const t = arange(6).reshape(2, 3);
    expect(t.get(1, -1)).toBe(5);
    expect(t.set([-2, 0], 9)).toBe(t);
    expect(t.get(0, 0)).toBe(9);
  });

  it("set through a view writes the tensor it views", () => {
    const t = zeros([3, 3]);
    t.T.slice(2).set([0], 5);
    expect(t.get(0, 2)).toBe(5);
  });

  it("set converts like a cast: floats to integers saturate, bools are 0 and 1", () => {
    const t = zeros(3, { dtype: "i8" });
    t.set([0], 1000).set([1], -2.7).set([2], true);
    expect(t.toArray()).toEqual([127, -2, 1]);
  });

  it("item is the only element, of any rank", () => {
    expect(tensor([[[5]]]).item()).toBe(5);
    expect(tensor(3n).item()).toBe(3);
  });

  it("fill and assign write scalars, nested arrays and tensors", () => {
    const t = zeros([2, 2]);
    expect(t.fill(3).toArray()).toEqual([
      [3, 3],
      [3, 3],
    ]);
    expect(t.assign([1, 2]).toArray()).toEqual([
      [1, 2],
      [1, 2],
    ]);
    t.slice(0).assign(tensor([7n, 8n]));
    expect(t.toArray()).toEqual([
      [7, 8],
      [1, 2],
    ]);
  });

  it("data is the live memory: writing it writes the tensor, no copy is made", () => {
    const t = arange(4);
    t.data[1] = 50;
    expect(t.get(1)).toBe(50);
    expect(t.slice("2:").data).toEqual(Float32Array.of(2, 3));
    expect(tensor([1], { dtype: "f16" }).data).toEqual(Uint16Array.of(0x3c00));
  });

  it("toTypedArray is a copy in row-major order, outside the heap", () => {
    const t = arange(6).reshape(2, 3);
    const copy = t.T.toTypedArray();
    t.fill(0);
    expect(copy).toEqual(Float32Array.of(0, 3, 1, 4, 2, 5));
    expect(copy.buffer).toBeInstanceOf(ArrayBuffer);
  });

  it("toArray nests by shape", () => {
    expect(tensor(2).toArray()).toBe(2);
    expect(empty([2, 0]).toArray()).toEqual([[], []]);
    expect(tensor([[1n]]).toArray()).toEqual([[1n]]);
  });

  it("toJSON survives JSON, which has no bigints, NaN, infinities or -0", () => {
    const t = tensor(
      [
        [1.5, NaN],
        [-Infinity, -0],
      ],
      f64,
    );
    expect(JSON.stringify(t)).toBe('{"dtype":"f64","shape":[2,2],"data":[1.5,"NaN","-Infinity","-0"]}');
    expect(JSON.stringify(tensor([2n ** 63n - 1n]))).toBe(
      '{"dtype":"i64","shape":[1],"data":["9223372036854775807"]}',
    );
  });

  it("iterating gives views of the first axis, scalars of a vector", () => {
    expect([...arange(3)]).toEqual([0, 1, 2]);
    const rows = [...arange(4).reshape(2, 2)] as Tensor[];
    expect(rows.map((row) => row.toArray())).toEqual([
      [0, 1],
      [2, 3],
    ]);
    rows[1].set([0], 9);
    expect(rows[1].get(0)).toBe(9);
  });

  it("contiguous and to give another handle where nothing has to move", () => {
    const t = arange(4);
    const same = t.contiguous();
    expect(same).not.toBe(t);
    expect(stridedOf(same).storage).toBe(stridedOf(t).storage);
    expect(stridedOf(t.to("f32")).storage).toBe(stridedOf(t).storage);
    expect(stridedOf(t.clone()).storage).not.toBe(stridedOf(t).storage);
    t.dispose();
    expect(same.toArray()).toEqual([0, 1, 2, 3]);
  });
});

describe("printing", () => {
  const print = (t: Tensor) => `\n${t}\n`;

  it("a dense tensor says its dtype and shape, and is what console.log shows", () => {
    const t = arange(8).reshape(2, 4);
    expect(inspect(t)).toBe(String(t));
    expect(print(t)).toMatchInlineSnapshot(`
      "
      Tensor f32 [2, 4]
      [[0, 1, 2, 3],
       [4, 5, 6, 7]]
      "
    `);
  });

  it("a view says its strides and its offset, and of how many elements it shows a part", () => {
    expect(print(arange(8).reshape(2, 4).slice(":", "1::2"))).toMatchInlineSnapshot(`
      "
      Tensor f32 [2, 2]  strides [4, 2], offset 1, a view of 8 elements
      [[1, 3],
       [5, 7]]
      "
    `);
    expect(print(tensor([1, 2, 3]).broadcastTo(2, 3))).toMatchInlineSnapshot(`
      "
      Tensor f32 [2, 3]  strides [0, 1], a view of 3 elements, read-only
      [[1, 2, 3],
       [1, 2, 3]]
      "
    `);
    expect(print(arange(6).reshape(2, 3).T)).toMatchInlineSnapshot(`
      "
      Tensor f32 [3, 2]  strides [1, 3]
      [[0, 3],
       [1, 4],
       [2, 5]]
      "
    `);
  });

  it("strides that are no whole number of elements are said in bytes", () => {
    const packed = fromBuffer(new Uint8Array(9), { dtype: "i16", shape: [3], byteStrides: [3] });
    expect(print(packed)).toMatchInlineSnapshot(`
      "
      Tensor i16 [3]  byte strides [3], a view of 8 bytes
      [0, 0, 0]
      "
    `);
  });

  it("scalars and empty tensors", () => {
    expect(print(tensor(3.5))).toMatchInlineSnapshot(`
      "
      Tensor f32 []
      3.5
      "
    `);
    expect(print(tensor([]))).toMatchInlineSnapshot(`
      "
      Tensor f32 [0]
      []
      "
    `);
    expect(print(zeros([1000, 0, 3]))).toMatchInlineSnapshot(`
      "
      Tensor f32 [1000, 0, 3]
      []
      "
    `);
  });

  it("bools and bigints", () => {
    expect(
      print(
        tensor([
          [true, false],
          [false, true],
        ]),
      ),
    ).toMatchInlineSnapshot(`
      "
      Tensor bool [2, 2]
      [[ true, false],
       [false,  true]]
      "
    `);
    expect(print(tensor([1n, -20n, 2n ** 62n]))).toMatchInlineSnapshot(`
      "
      Tensor i64 [3]
      [                  1,                 -20, 4611686018427387904]
      "
    `);
  });

  it("floats share one number of decimals, and columns align", () => {
    expect(
      print(
        tensor([
          [1.25, 100.5],
          [-3, 0],
        ]),
      ),
    ).toMatchInlineSnapshot(`
      "
      Tensor f32 [2, 2]
      [[  1.25, 100.50],
       [ -3.00,   0.00]]
      "
    `);
    expect(print(linspace(0, 1, 7))).toMatchInlineSnapshot(`
      "
      Tensor f32 [7]
      [0.000000, 0.166667, 0.333333, 0.500000, 0.666667, 0.833333, 1.000000]
      "
    `);
    expect(print(tensor([0.1, 0.2, 1 / 3], f64))).toMatchInlineSnapshot(`
      "
      Tensor f64 [3]
      [0.10000000, 0.20000000, 0.33333333]
      "
    `);
    expect(print(tensor([0.1, 2 / 3], { dtype: "f16" }))).toMatchInlineSnapshot(`
      "
      Tensor f16 [2]
      [0.1000, 0.6665]
      "
    `);
  });

  it("NaN, infinities and -0", () => {
    expect(print(tensor([NaN, Infinity, -Infinity, -0, 1.5]))).toMatchInlineSnapshot(`
      "
      Tensor f32 [5]
      [      NaN,  Infinity, -Infinity,      -0.0,       1.5]
      "
    `);
  });

  it("very large and very small numbers are scientific, never rounded to 0", () => {
    expect(print(tensor([1e-8, 2e-8]))).toMatchInlineSnapshot(`
      "
      Tensor f32 [2]
      [1e-8, 2e-8]
      "
    `);
    expect(print(tensor([1e-10, 0, 1, 2.5e10], f64))).toMatchInlineSnapshot(`
      "
      Tensor f64 [4]
      [ 1e-10,      0,    1e0, 2.5e10]
      "
    `);
    expect(print(tensor(1e-7))).toMatchInlineSnapshot(`
      "
      Tensor f32 []
      1e-7
      "
    `);
  });

  it("large whole numbers are written out", () => {
    expect(print(tensor([2 ** 31, 1], f64))).toMatchInlineSnapshot(`
      "
      Tensor f64 [2]
      [2147483648,          1]
      "
    `);
  });

  it("long axes are elided, long rows go on in the next line", () => {
    expect(print(arange(2000))).toMatchInlineSnapshot(`
      "
      Tensor f32 [2000]
      [   0,    1,    2, …, 1997, 1998, 1999]
      "
    `);
    expect(print(arange(10000).reshape(100, 100))).toMatchInlineSnapshot(`
      "
      Tensor f32 [100, 100]
      [[   0,    1,    2, …,   97,   98,   99],
       [ 100,  101,  102, …,  197,  198,  199],
       [ 200,  201,  202, …,  297,  298,  299],
       …,
       [9700, 9701, 9702, …, 9797, 9798, 9799],
       [9800, 9801, 9802, …, 9897, 9898, 9899],
       [9900, 9901, 9902, …, 9997, 9998, 9999]]
      "
    `);
    expect(print(arange(60))).toMatchInlineSnapshot(`
      "
      Tensor f32 [60]
      [ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
       24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
       48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59]
      "
    `);
  });

  it("matrices of a higher rank are set apart", () => {
    expect(print(arange(12).reshape(2, 3, 2))).toMatchInlineSnapshot(`
      "
      Tensor f32 [2, 3, 2]
      [[[ 0,  1],
        [ 2,  3],
        [ 4,  5]],

       [[ 6,  7],
        [ 8,  9],
        [10, 11]]]
      "
    `);
    expect(print(arange(16).reshape(2, 2, 2, 2))).toMatchInlineSnapshot(`
      "
      Tensor f32 [2, 2, 2, 2]
      [[[[ 0,  1],
         [ 2,  3]],

        [[ 4,  5],
         [ 6,  7]]],


       [[[ 8,  9],
         [10, 11]],

        [[12, 13],
         [14, 15]]]]
      "
    `);
  });

  it("options choose digits, edges and width", () => {
    const t = linspace(0, 1, 2000);
    expect(`\n${t.toString({ digits: 2, edge: 1 })}`).toMatchInlineSnapshot(`
      "
      Tensor f32 [2000]
      [0, …, 1]"
    `);
    expect(`\n${arange(10).toString({ lineWidth: 12 })}`).toMatchInlineSnapshot(`
      "
      Tensor f32 [10]
      [0, 1, 2,
       3, 4, 5,
       6, 7, 8,
       9]"
    `);
    expect(`\n${arange(10).toString({ threshold: 5, edge: 2 })}`).toMatchInlineSnapshot(`
      "
      Tensor f32 [10]
      [0, 1, …, 8, 9]"
    `);
  });
});

describe("lifetime", () => {
  it("memory counts tensors with memory of their own, and falls when they are disposed", () => {
    const before = memory();
    const t = zeros([1000]);
    const v = t.slice("::2");
    expect(memory().tensors).toBe(before.tensors + 1);
    expect(memory().bytes).toBe(before.bytes + 4032);
    t.dispose();
    expect(memory().tensors).toBe(before.tensors + 1);
    expect(v.get(0)).toBe(0);
    v.dispose();
    expect(memory().tensors).toBe(before.tensors);
    expect(memory().bytes).toBe(before.bytes);
  });

  it("using disposes at the end of the block", () => {
    const before = memory().tensors;
    {
      using t = zeros([4]);
      expect(t.size).toBe(4);
      expect(memory().tensors).toBe(before + 1);
    }
    expect(memory().tensors).toBe(before);
  });

  it("a scope frees what was made inside and not returned", () => {
    const before = memory().tensors;
    const kept = scope(() => {
      const a = arange(10);
      return a.map((x) => x * 2).sum();
    });
    expect(memory().tensors).toBe(before + 1);
    expect(kept.item()).toBe(90);
    kept.dispose();
  });

  it("a returned view keeps its memory", () => {
    const row = scope(() => arange(6).reshape(2, 3).slice(1));
    expect(row.toArray()).toEqual([3, 4, 5]);
  });

  it("tensors in arrays, objects, maps and sets are kept", () => {
    const before = memory().tensors;
    const { list, map, deep } = scope(() => {
      zeros(5);
      return {
        list: [zeros(1), zeros(2)],
        map: new Map([["x", zeros(3)]]),
        deep: { a: [{ b: new Set([zeros(4)]) }] },
      };
    });
    expect(memory().tensors).toBe(before + 4);
    for (const t of [...list, ...map.values(), ...deep.a[0].b]) t.dispose();
    expect(memory().tensors).toBe(before);
  });

  it("tensors are kept wherever the result holds them: deep, as keys, under symbols, in instances and cycles", () => {
    const before = memory().tensors;
    const deep = Symbol("deep");
    class Model {
      readonly weights = zeros(2);
      get scratch() {
        return zeros(3);
      }
    }
    const result = scope(() => {
      let nested: unknown = zeros(1);
      for (let i = 0; i < 10_000; i++) nested = i % 2 === 0 ? { nested } : [nested];
      const cycle: { self?: unknown; t: Tensor } = { t: zeros(4) };
      cycle.self = cycle;
      zeros(9);
      return { nested, keys: new Map([[zeros(5), 1]]), [deep]: zeros(6), model: new Model(), cycle };
    });
    expect(memory().tensors).toBe(before + 5);
    expect(result[deep].get(0)).toBe(0);
    expect(result.model.weights.toArray()).toEqual([0, 0]);
    expect([...result.keys.keys()][0].size).toBe(5);
    scope(() => {
      let inner: unknown = result.nested;
      while (!("dispose" in Object(inner))) [inner] = Object.values(inner as object);
      const t = inner as Tensor;
      expect(t.size).toBe(1);
      t.dispose();
    });
    for (const t of [result[deep], result.model.weights, result.cycle.t, ...result.keys.keys()]) t.dispose();
    expect(memory().tensors).toBe(before);
  });

  it("what an inner scope returns belongs to the outer one", () => {
    const before = memory().tensors;
    const sum = scope(() => {
      const inner = scope(() => {
        zeros(100);
        return ones(3);
      });
      expect(memory().tensors).toBe(before + 1);
      return inner.sum().item();
    });
    expect(sum).toBe(3);
    expect(memory().tensors).toBe(before);
  });

  it("a tensor from outside is not freed, even if it is returned or used inside", () => {
    const outside = ones(3);
    expect(scope(() => outside)).toBe(outside);
    scope(() => outside.add(1));
    expect(outside.toArray()).toEqual([1, 1, 1]);
  });

  it("when the function throws, everything it made is freed and the error passes", () => {
    const before = memory().tensors;
    const error = new Error("mine");
    expect(() =>
      scope(() => {
        zeros(10);
        scope(() => zeros(5));
        throw error;
      }),
    ).toThrow(error);
    expect(memory().tensors).toBe(before);
    scope(() => {
      zeros(1);
    });
    expect(memory().tensors).toBe(before);
  });

  it("disposing inside a scope and disposing twice are fine", () => {
    const before = memory().tensors;
    scope(() => {
      const t = zeros(3);
      t.dispose();
      t.dispose();
    });
    expect(memory().tensors).toBe(before);
  });

  it("memory stays flat over 100,000 allocations of 1 MiB in scopes", () => {
    const before = memory();
    let most = 0;
    for (let i = 0; i < 1000; i++) {
      scope(() => {
        for (let k = 0; k < 50; k++) empty([512, 512]).T.dispose();
        for (let k = 0; k < 50; k++) {
          const t = empty([2 ** 18]);
          t.slice("::2");
          t.dispose();
        }
        for (const t of [empty([512, 512])]) t.reshape(-1).slice(5);
      });
      most = Math.max(most, memory().bytes);
    }
    expect(memory().bytes).toBe(before.bytes);
    expect(memory().tensors).toBe(before.tensors);
    expect(most).toBe(before.bytes);
    // The most that one scope holds at once, whatever the number of scopes.
    expect(memory().capacityBytes).toBeLessThan(256 * 2 ** 20);
  });

  it("a loop of operations in a scope holds one result at a time", () => {
    const before = memory();
    let acc: Tensor = zeros([64, 64]);
    for (let i = 0; i < 2000; i++) {
      const next: Tensor = scope(() => acc.add(1).mul(0.5));
      acc.dispose();
      acc = next;
    }
    expect(acc.get(0, 0)).toBe(1);
    acc.dispose();
    expect(memory().bytes).toBe(before.bytes);
  });
});

describe("foreign memory", () => {
  it("audio: interleaved stereo becomes two channels without reordering", () => {
    const samples = Int16Array.of(1, -1, 2, -2, 3, -3);
    const t = fromBuffer(samples, { dtype: "i16", shape: [2, 3], byteStrides: [2, 4] });
    expect(t.toArray()).toEqual([
      [1, 2, 3],
      [-1, -2, -3],
    ]);
    expect(t.mean({ axis: 1 }).toArray()).toEqual([2, -2]);
  });

  it("a vertex buffer: positions, normals and colours of one packed record each", () => {
    // 3 × f32 position, 3 × f32 normal, 4 × u8 colour: 28 bytes a vertex.
    const vertices = 3;
    const bytes = new DataView(new ArrayBuffer(28 * vertices));
    for (let v = 0; v < vertices; v++) {
      for (let i = 0; i < 3; i++) {
        bytes.setFloat32(v * 28 + 4 * i, v + i / 4, true);
        bytes.setFloat32(v * 28 + 12 + 4 * i, -v, true);
      }
      for (let i = 0; i < 4; i++) bytes.setUint8(v * 28 + 24 + i, 10 * v + i);
    }
    const field = (dtype: DType, size: number, byteOffset: number, step: number) =>
      fromBuffer(bytes, { dtype, shape: [vertices, size], byteStrides: [28, step], byteOffset });
    expect(field("f32", 3, 0, 4).toArray()).toEqual([
      [0, 0.25, 0.5],
      [1, 1.25, 1.5],
      [2, 2.25, 2.5],
    ]);
    expect(field("f32", 3, 12, 4).slice(":", 0).toArray()).toEqual([-0, -1, -2]);
    const colours = field("u8", 4, 24, 1);
    expect(colours.byteStrides).toEqual([28, 1]);
    expect(colours.to("f32").div(255).shape).toEqual([3, 4]);
    expect(colours.toArray()).toEqual([
      [0, 1, 2, 3],
      [10, 11, 12, 13],
      [20, 21, 22, 23],
    ]);
  });

  it("rows padded to a multiple of 16 bytes, as images have them", () => {
    const image = Uint8Array.from({ length: 64 }, (_, i) => i);
    const rgb = fromBuffer(image, { dtype: "u8", shape: [4, 5, 3], byteStrides: [16, 3, 1] });
    expect(rgb.get(1, 0, 0)).toBe(16);
    expect(rgb.slice("::-1", ":", 0).toArray()).toEqual(
      [48, 32, 16, 0].map((row) => [0, 3, 6, 9, 12].map((x) => row + x)),
    );
  });

  it("bottom-up rows: a negative byte stride", () => {
    const t = fromBuffer(Uint8Array.of(1, 2, 3, 4, 5, 6), {
      dtype: "u8",
      shape: [3, 2],
      byteStrides: [-2, 1],
      byteOffset: 4,
    });
    expect(t.toArray()).toEqual([
      [5, 6],
      [3, 4],
      [1, 2],
    ]);
  });

  it("elements that lie at odd bytes can be read, computed with, written and taken out", () => {
    const bytes = new DataView(new ArrayBuffer(16));
    for (let i = 0; i < 3; i++) bytes.setFloat32(1 + 5 * i, i + 0.5, true);
    const t = fromBuffer(bytes, { dtype: "f32", shape: [3], byteStrides: [5], byteOffset: 1 });
    expect(t.toArray()).toEqual([0.5, 1.5, 2.5]);
    expect(t.map((x) => x * 2).toArray()).toEqual([1, 3, 5]);
    expect(t.sum().item()).toBe(4.5);
    expect(t.toTypedArray()).toEqual(Float32Array.of(0.5, 1.5, 2.5));
    t.assign([7, 8, 9]);
    expect(t.toArray()).toEqual([7, 8, 9]);
    const dense = fromBuffer(bytes, { dtype: "f32", shape: [2], byteOffset: 1 });
    expect(dense.isContiguous).toBe(true);
    expect(dense.toTypedArray()).toHaveLength(2);
    expect(dense.contiguous().data).toHaveLength(2);
  });

  it("typed arrays with an offset of their own, Node buffers and shared memory", () => {
    const base = Int32Array.of(9, 1, 2, 3);
    const options = { dtype: "i32", shape: [2] } as const;
    expect(fromBuffer(base.subarray(1), options).toArray()).toEqual([1, 2]);
    expect(fromBuffer(Buffer.from(base.buffer, 4), options).toArray()).toEqual([1, 2]);
    const shared = new SharedArrayBuffer(8);
    new Int32Array(shared).set([4, 5]);
    expect(fromBuffer(shared, options).toArray()).toEqual([4, 5]);
  });

  it("a view of a small part of a large buffer copies only what it reaches", () => {
    const large = new Float64Array(1_000_000);
    const before = memory().bytes;
    const t = fromBuffer(large, { dtype: "f64", shape: [4], byteOffset: 4_000_000 });
    expect(memory().bytes - before).toBeLessThanOrEqual(128);
    t.dispose();
  });

  it("ggml: ne and nb list the fastest axis first, and types go by name or number", () => {
    const data = Float32Array.from({ length: 6 }, (_, i) => i);
    const byNumber = fromGgml({ type: 0, ne: [3, 2], data });
    expect(byNumber.shape).toEqual([2, 3]);
    expect(byNumber.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    const transposed = fromGgml({ type: "F32", ne: [2, 3], nb: [12, 4], data });
    expect(transposed.toArray()).toEqual(byNumber.T.toArray());
    const types: [number, DType][] = [
      [0, "f32"],
      [1, "f16"],
      [24, "i8"],
      [25, "i16"],
      [26, "i32"],
      [27, "i64"],
      [28, "f64"],
      [30, "bf16"],
    ];
    for (const [type, dtype] of types) {
      expect(fromGgml({ type, ne: [1], data: new ArrayBuffer(8) }).dtype).toBe(dtype);
      expect(fromGgml({ type: dtype.toUpperCase(), ne: [1], data: new ArrayBuffer(8) }).dtype).toBe(dtype);
    }
  });
});

describe("16-bit floats", () => {
  const allBits = Uint16Array.from({ length: 65536 }, (_, i) => i);

  it.each([
    ["f16", 0x7c00, 0x03ff],
    ["bf16", 0x7f80, 0x007f],
  ] as const)(
    "every bit pattern of %s goes to f64 and back unchanged; a NaN stays a NaN",
    (dtype, infinity, mantissa) => {
      const isNaNBits = (bits: number) => (bits & infinity) === infinity && (bits & mantissa) !== 0;
      scope(() => {
        const t = tensor(allBits, { dtype });
        expect(t.data).toEqual(allBits);
        for (const through of ["f64", "f32"] as const) {
          const back = t.to(through).to(dtype).data;
          let different = 0;
          for (let bits = 0; bits < 65536; bits++) {
            if (isNaNBits(bits) ? !isNaNBits(back[bits]) : back[bits] !== bits) different++;
          }
          expect(different).toBe(0);
        }
      });
    },
  );

  it("f16 values are what their bits say", () => {
    const t = tensor(Uint16Array.of(0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x8000, 0x7c00), {
      dtype: "f16",
    });
    expect(t.toArray()).toEqual([1, -2, 65504, 2 ** -24, 2 ** -14, -0, Infinity]);
  });

  it("rounding is once, ties to even, from any dtype", () => {
    const half = (values: number[]) => tensor(values, f64).to("f16").toArray();
    expect(half([2049, 2051, 65519.99, 65520, 2 ** -25, 1.5 * 2 ** -25])).toEqual([
      2048,
      2052,
      65504,
      Infinity,
      0,
      2 ** -24,
    ]);
    // Rounding to f32 first would make this a tie.
    expect(half([1 + 2 ** -11 + 2 ** -40])).toEqual([1 + 2 ** -10]);
    const brain = (values: number[]) => tensor(values, f64).to("bf16").toArray();
    expect(brain([257, 259, 1 + 2 ** -8 + 2 ** -40, 3.4e38])).toEqual([256, 260, 1 + 2 ** -7, Infinity]);
    expect(
      tensor([2049n, 2n ** 53n + 1n])
        .to("f16")
        .toArray(),
    ).toEqual([2048, Infinity]);
  });

  it("a kernel holds them in f32 and rounds once, when it stores; named operations round at each", () => {
    const t = tensor([2048], { dtype: "f16" });
    expect(t.map((x) => x + 1 + 1).toArray()).toEqual([2050]);
    expect(t.add(1).add(1).toArray()).toEqual([2048]);
    const b = tensor([256], { dtype: "bf16" });
    expect(b.map((x) => x + 1 + 1).toArray()).toEqual([258]);
    expect(b.add(1).add(1).toArray()).toEqual([256]);
  });
});

describe("promotion is NumPy 2's, by dtype only", () => {
  /** Made with np.promote_types; bf16, which NumPy has not, by the same rule: a float holds every integer. */
  const table = `
          bool u8   i8   u16  i16  u32  i32  u64  i64  f16  bf16 f32  f64
    bool  bool u8   i8   u16  i16  u32  i32  u64  i64  f16  bf16 f32  f64
    u8    u8   u8   i16  u16  i16  u32  i32  u64  i64  f16  bf16 f32  f64
    i8    i8   i16  i8   i32  i16  i64  i32  f64  i64  f16  bf16 f32  f64
    u16   u16  u16  i32  u16  i32  u32  i32  u64  i64  f32  f32  f32  f64
    i16   i16  i16  i16  i32  i16  i64  i32  f64  i64  f32  f32  f32  f64
    u32   u32  u32  i64  u32  i64  u32  i64  u64  i64  f64  f64  f64  f64
    i32   i32  i32  i32  i32  i32  i64  i32  f64  i64  f64  f64  f64  f64
    u64   u64  u64  f64  u64  f64  u64  f64  u64  f64  f64  f64  f64  f64
    i64   i64  i64  i64  i64  i64  i64  i64  f64  i64  f64  f64  f64  f64
    f16   f16  f16  f16  f32  f32  f64  f64  f64  f64  f16  f32  f32  f64
    bf16  bf16 bf16 bf16 f32  f32  f64  f64  f64  f64  f32  bf16 f32  f64
    f32   f32  f32  f32  f32  f32  f64  f64  f64  f64  f32  f32  f32  f64
    f64   f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64`;
  const [head, ...rows] = table
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/) as DType[]);

  it("the table has every pair once", () => {
    expect(head).toEqual(dtypeNames);
    expect(rows.map(([name]) => name)).toEqual(dtypeNames);
  });

  it.each(rows)("%s with each", (a, ...results) => {
    scope(() => {
      head.forEach((b, k) => {
        expect(promote(a, b), `${a} with ${b}`).toBe(results[k]);
        expect(add(ones(2, { dtype: a }), ones(2, { dtype: b })).dtype, `${a} + ${b}`).toBe(results[k]);
        // In a kernel true * true is a number, as in JavaScript.
        const product = a === "bool" && b === "bool" ? "i32" : results[k];
        const operands = [ones(2, { dtype: a }), ones(2, { dtype: b })];
        expect(zip(operands, (x, y) => x * y).dtype, `${a} * ${b}`).toBe(product);
      });
    });
  });

  it("a scalar takes the tensor's dtype, unless it cannot be one of its numbers", () => {
    expect(ones(2, { dtype: "i8" }).add(1).dtype).toBe("i8");
    expect(ones(2, { dtype: "f16" }).mul(0.1).dtype).toBe("f16");
    expect(ones(2, { dtype: "i32" }).mul(0.5).dtype).toBe("f64");
    expect(ones(2, { dtype: "i64" }).add(1).toArray()).toEqual([2n, 2n]);
    expect(ones(2, { dtype: "i64" }).add(1n).toArray()).toEqual([2n, 2n]);
    expect(ones(2, { dtype: "i32" }).div(2).dtype).toBe("f64");
    expect(ones(2, { dtype: "f32" }).div(2).dtype).toBe("f32");
  });
});

describe("functions", () => {
  it("one that reads an outer variable is called, and gives the right answer", () => {
    const offset = { value: 10 };
    const out = arange(3).map((x) => x + offset.value);
    expect(out.dtype).toBe("f32");
    expect(out.toArray()).toEqual([10, 11, 12]);
    offset.value = 20;
    expect(
      arange(3)
        .map((x) => x + offset.value)
        .toArray(),
    ).toEqual([20, 21, 22]);
  });

  it("two closures with one text are two functions", () => {
    const adder = (k: number) => (x: number) => x + k;
    expect(arange(2).map(adder(1)).toArray()).toEqual([1, 2]);
    expect(arange(2).map(adder(5)).toArray()).toEqual([5, 6]);
  });

  it("a called function sees each element once, in row-major order, whatever the layout", () => {
    const seen: number[] = [];
    const out = arange(6)
      .reshape(2, 3)
      .T.flip(0)
      .map((x) => seen.push(x));
    expect(seen).toEqual([2, 5, 1, 4, 0, 3]);
    expect(out.toArray()).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
  });

  it("a called function may return booleans, numbers, both, or bigints; integers are refused", () => {
    const limit = { value: 1 };
    expect(
      arange(3)
        .map((x) => x > limit.value)
        .toArray(),
    ).toEqual([false, false, true]);
    const mixed = arange(3).map((x) => x > limit.value && x);
    expect([mixed.dtype, mixed.toArray()]).toEqual(["f32", [0, 0, 2]]);
    const whole = arange(2).map((x) => BigInt(x));
    expect([whole.dtype, whole.toArray()]).toEqual(["i64", [0n, 1n]]);
    for (const t of [tensor([1n, 2n]), tensor([true, false]), tensor([1, 2], { dtype: "i32" })]) {
      expect(() => t.map((x) => x * limit.value)).toThrow(`not in ${t.dtype}`);
      expect(t.map((x) => x * limit.value, { compute: "f64" }).dtype).toBe("f64");
    }
  });

  it("called folds and zips agree with compiled ones", () => {
    const two = { value: 2 };
    const t = arange(6).reshape(2, 3);
    expect(t.reduce((acc, x) => acc + x * two.value, { axis: 1, init: 0 }).toArray()).toEqual([6, 24]);
    expect(t.scan((acc, x) => acc + x * two.value, { axis: 1, init: 0 }).toArray()).toEqual([
      [0, 2, 6],
      [6, 14, 24],
    ]);
    expect(zip([t, t], (a, b) => a * b * two.value).toArray()).toEqual([
      [0, 2, 8],
      [18, 32, 50],
    ]);
  });

  it("captured values are passed by name, and a new value needs no new kernel text", () => {
    const leaky = (k: number) => kernel((x: number, k: number) => (x > 0 ? x : k * x), { k });
    expect(leaky(0.5)(tensor([-2, 2])).toArray()).toEqual([-1, 2]);
    expect(leaky(0.25)(tensor([-2, 2])).toArray()).toEqual([-0.5, 2]);
  });

  it("a function that uses its captures freely is a kernel too", () => {
    const scale = 3;
    const f = kernel((x: number) => x * scale, { scale });
    expect(f(arange(3)).toArray()).toEqual([0, 3, 6]);
  });

  it("kernels call kernels and captured functions", () => {
    const square = kernel((x: number) => x * x);
    const cube = (x: number) => x * x * x;
    const both = kernel((x: number, { square, cube }) => square(x) + cube(x), { square, cube });
    expect(both(tensor([2, 3])).toArray()).toEqual([12, 36]);
  });

  it("a kernel can be given to map, zip and reduce", () => {
    const plus = kernel((a: number, b: number) => a + b);
    const asFunction = plus as unknown as (a: number, b: number) => number;
    expect(zip([arange(3), arange(3)], asFunction as (...x: number[]) => number).toArray()).toEqual([
      0, 2, 4,
    ]);
    expect(arange(4).reduce(asFunction).item()).toBe(6);
  });

  it("into writes into an existing tensor of any layout and dtype, and allocates nothing", () => {
    const gelu = kernel((x: number) => 0.5 * x * (1 + Math.tanh(0.79788456 * (x + 0.044715 * x * x * x))));
    const a = linspace(-1, 1, 6).reshape(2, 3);
    const out = zeros([3, 2], f64).T;
    gelu.into(out, a);
    const before = memory();
    expect(gelu.into(out, a)).toBe(out);
    expect(memory().bytes).toBe(before.bytes);
    expect(out.get(1, 2)).toBeCloseTo(0.841192, 5);
    const whole = zeros([2, 3], { dtype: "i32" });
    kernel((x: number) => x * 10).into(whole, a);
    expect(whole.get(1, 2)).toBe(10);
  });

  it("a kernel in place reads before it writes", () => {
    const t = arange(4);
    kernel((x: number) => x * x).into(t, t);
    expect(t.toArray()).toEqual([0, 1, 4, 9]);
    const shifted = arange(5, f64);
    shifted.slice("1:").map((x) => x + 1, { out: shifted.slice(":-1") });
    expect(shifted.toArray()).toEqual([2, 3, 4, 5, 4]);
  });

  it("as chooses the dtype of a kernel's result", () => {
    const compare = kernel((x: number) => x > 1);
    expect(compare(arange(3)).dtype).toBe("bool");
    expect(compare.as("f32")(arange(3)).toArray()).toEqual([0, 0, 1]);
    expect(
      arange(3)
        .map((x) => x * 1.5, { dtype: "i16" })
        .toArray(),
    ).toEqual([0, 1, 3]);
  });

  it("Math functions can be given as they are", () => {
    expect(tensor([1, 4, 9]).map(Math.sqrt).toArray()).toEqual([1, 2, 3]);
    expect(
      kernel(Math.hypot as (a: number, b: number) => number)(tensor([3]), tensor([4])).toArray(),
    ).toEqual([5]);
  });

  it("the result lies in the memory order of its input: the map of a transposed tensor is transposed", () => {
    const t = arange(6).reshape(2, 3).T;
    expect(t.strides).toEqual([1, 3]);
    expect(t.map((x) => x + 1).strides).toEqual([1, 3]);
    expect(t.add(t).strides).toEqual([1, 3]);
    const p = arange(24).reshape(2, 3, 4).permute(2, 0, 1);
    expect(p.neg().strides).toEqual(p.strides);
    expect(
      arange(6)
        .reshape(2, 3)
        .flip()
        .map((x) => x).strides,
    ).toEqual([3, 1]);
    expect(
      arange(3)
        .broadcastTo(2, 3)
        .map((x) => x).strides,
    ).toEqual([3, 1]);
  });

  it("integers wrap in kernels, divide to f64, and comparisons give bool", () => {
    const bytes = tensor(new Uint8Array([200, 100]));
    expect(bytes.map((x) => x + x).toArray()).toEqual([144, 200]);
    expect(bytes.map((x) => x / 3).dtype).toBe("f64");
    expect(bytes.map((x) => x > 150).toArray()).toEqual([true, false]);
    expect(
      tensor(new Int32Array([2 ** 31 - 1]))
        .map((x) => x + 1)
        .toArray(),
    ).toEqual([-(2 ** 31)]);
  });

  it("named operations follow NumPy where JavaScript differs", () => {
    const a = tensor([-7, 7], { dtype: "i32" });
    expect(a.remainder(3).toArray()).toEqual([2, 1]);
    expect(a.map((x) => x % 3).toArray()).toEqual([-1, 1]);
    expect(tensor([0.5, 1.5, 2.5], f64).round().toArray()).toEqual([0, 2, 2]);
    expect(tensor([0.5, 1.5, 2.5], f64).map(Math.round).toArray()).toEqual([1, 2, 3]);
    expect(tensor([1, -1], f64).pow(Infinity).toArray()).toEqual([1, 1]);
    expect(
      tensor([1], f64)
        .map((x) => x ** Infinity)
        .toArray(),
    ).toEqual([NaN]);
    expect(tensor([NaN, 1]).max().item()).toBeNaN();
    expect(tensor([3, NaN, 5]).argmax().item()).toBe(1);
  });
});
