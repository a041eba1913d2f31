/** The border: what callers pass is read once, tensors cannot be forged, and a build tool changes no value. */
import { transformSync as esbuild } from "esbuild";
import { minify_sync as terser } from "terser";
import { describe, expect, it } from "vitest";
import * as strided from "../../src/index.ts";
import {
  abs,
  arange,
  emptyLike,
  full,
  fullLike,
  kernel,
  mapReduce,
  ones,
  random,
  softmax,
  Tensor,
  TensorError,
  take,
  tensor,
  zeros,
  zip,
} from "../../src/index.ts";

/** A list whose entries answer `first` so many times, and then something else. */
function changing(first: number, then: number, after: number): number[] {
  const list = [0];
  let reads = 0;
  Object.defineProperty(list, 0, { get: () => (reads++ < after ? first : then) });
  return list;
}

/** Runs `fn` between tensors that nobody may touch. */
function amongNeighbours(fn: () => void): void {
  const around = Array.from({ length: 20 }, () => full([16], 7));
  const holes = around.filter((_, i) => i % 2 === 1);
  for (const t of holes) t.dispose();
  fn();
  for (const t of around) if (!t.isDisposed) expect(t.toArray()).toEqual(new Array(16).fill(7));
}

describe("arguments are read once", () => {
  const makers: Record<string, (shape: number[]) => Tensor> = {
    zeros: (s) => zeros(s),
    ones: (s) => ones(s),
    full: (s) => full(s, 3),
    fullLike: (s) => fullLike(zeros([2]), 3, { shape: s } as never),
    emptyLike: (s) => emptyLike(zeros([2]), { shape: s } as never),
    uniform: (s) => random.uniform(s),
  };

  it.each(Object.entries(makers))("%s: a shape that changes its mind", (_, make) => {
    for (let after = 1; after < 12; after++) {
      amongNeighbours(() => {
        const t = make(changing(1000, 1, after));
        t.fill(666);
        expect(t.size).toBe(t.shape[0]);
        t.dispose();
      });
    }
  });

  it("an option's getter that disposes the operand", () => {
    const disposing = (t: Tensor, value: unknown) => ({
      get() {
        t.dispose();
        return value;
      },
      enumerable: true,
    });
    const calls: [string, unknown, (t: Tensor, o: object) => unknown][] = [
      ["dtype", "f64", (t, o) => t.map((x) => x + 1, o)],
      ["axis", 0, (t, o) => softmax(t, o)],
      ["axis", 0, (t, o) => take(t, [0, 1], o)],
      ["axis", 0, (t, o) => t.sum(o)],
    ];
    for (const [name, value, call] of calls) {
      const t = arange(6);
      const options = Object.defineProperty({}, name, disposing(t, value));
      expect(() => call(t, options)).toThrow(/disposed/);
    }
  });

  it("an output's getter that gives another object the third time", () => {
    const outs = [zeros([3]), zeros([3]), zeros([1])];
    let reads = 0;
    const options = Object.defineProperty({}, "out", { get: () => outs[reads++], enumerable: true });
    expect(abs(arange(-1, 2), options)).toBe(outs[0]);
    expect(reads).toBe(1);
  });

  it("a typed array that overrides its length", () => {
    for (const said of [16, 100_000]) {
      const array = new Float32Array(1000).fill(5);
      Object.defineProperty(array, "length", { value: said });
      Object.defineProperty(array, "byteLength", { value: 4 * said });
      amongNeighbours(() => {
        const t = tensor(array);
        expect(t.shape).toEqual([1000]);
        expect(t.sum().item()).toBe(5000);
        t.dispose();
      });
    }
  });

  it("names that all objects have are no options", () => {
    const polluted = Object.prototype as Record<string, unknown>;
    try {
      Object.defineProperty(polluted, "axis", {
        value: 0,
        configurable: true,
        enumerable: true,
        writable: true,
      });
      Object.defineProperty(polluted, "keepdims", { value: true, configurable: true, writable: true });
      Object.defineProperty(polluted, "dtype", { value: "u8", configurable: true, writable: true });
      expect(arange(6).reshape(2, 3).sum().item()).toBe(15);
      expect(arange(6).reshape(2, 3).sum({}).shape).toEqual([]);
      expect(arange(3).add(1).dtype).toBe("f32");
    } finally {
      for (const name of ["axis", "keepdims", "dtype"]) delete polluted[name];
    }
  });
});

describe("tensors cannot be forged", () => {
  it("not made, not changed, not extended", () => {
    const t = arange(4);
    const inner = { dtype: "f32", storage: { address: 0, bytes: 1e9 }, frame: { shape: [9] } };
    expect(() => new (Tensor as unknown as new (of: unknown) => Tensor)(inner)).toThrow(/not made with new/);
    const { constructor: Made } = t as unknown as { constructor: new (of: unknown) => Tensor };
    expect(() => new Made(inner)).toThrow(TensorError);
    for (const name of ["frame", "storage", "dtype", "readOnly", "shape", "size", "to", "anything"]) {
      expect(() => Object.assign(t, { [name]: inner })).toThrow(TypeError);
      expect(() => Object.defineProperty(t, name, { value: inner })).toThrow(TypeError);
    }
    expect(() => Object.setPrototypeOf(t, { shape: [9] })).toThrow(TypeError);
    expect(() => (t.shape as number[]).push(9)).toThrow(TypeError);
    expect(t.toArray()).toEqual([0, 1, 2, 3]);
  });

  it("a Proxy, a derived object and a look-alike are errors, not accesses", () => {
    const t = arange(4);
    const proxy = new Proxy(t, {});
    expect(() => proxy.sum()).toThrow(/a Proxy around one/);
    expect(() => proxy.shape).toThrow(/a Proxy around one/);
    expect(() => t.add(proxy)).toThrow(/a Proxy around one/);
    expect(() => t.add(Object.create(t))).toThrow(/derived from one/);
    const first = strided.njit((x) => x.get(0));
    expect(() => first(proxy)).toThrow(/njit: expected a tensor, got a Proxy around one/);
    const read = (x: number, { proxy }: { proxy: Tensor<"f32"> }) => x + proxy.get(0);
    expect(() => kernel(read, { proxy })).toThrow(/kernel: expected a tensor, got a Proxy around one/);
    expect(() => t.map(read, { with: { proxy } })).toThrow(/map: expected a tensor, got a Proxy around one/);
    expect(() => zip([t, { dtype: "f32", shape: [4] } as never], (a, b) => a + b)).toThrow(
      /expected a tensor/,
    );
    expect(Object.prototype.toString.call(t)).toBe("[object Tensor]");
  });
});

describe("what a kernel shows of itself", () => {
  const make = () => strided.kernel((x: number) => (x > 40 ? x * 5 : x));
  /** Everything that can be reached from it. */
  const parts = (x: unknown): object[] =>
    typeof x === "object" && x !== null ? [x, ...Object.values(x).flatMap(parts)] : [];

  it("cannot be changed: kernels of the same text share it", () => {
    const looped = strided.kernel((x: number) => {
      let n = 0;
      while (x > 1) {
        x = x / 2;
        n++;
      }
      return n;
    });
    const several = strided.kernel((x: number, { k }: { k: number }) => [x + k, x - k] as const, { k: 2 });
    for (const { template, captures } of [make(), make().as("f64"), looped, several])
      for (const part of parts([template, captures]).slice(1)) expect(part).toSatisfy(Object.isFrozen);
    const [literal] = make().template.nodes.filter((node) => "value" in node && node.value === 5);
    expect(() => Object.assign(literal, { value: 7 })).toThrow(TypeError);
    expect(make()(strided.tensor([41])).toArray()).toEqual([205]);
  });
});

describe("a build tool changes no value", () => {
  /** The function that a program keeps, as the tool prints it. */
  function built(source: string, tool: "plain" | "esbuild" | "terser"): (s: typeof strided) => Tensor {
    const program = `keep((s) => { ${source} })`;
    const code =
      tool === "plain"
        ? program
        : tool === "esbuild"
          ? esbuild(program, { minify: true }).code
          : (terser(program, { toplevel: true, compress: { passes: 3 } }).code ?? "");
    let kept: ((s: typeof strided) => Tensor) | null = null;
    new Function("keep", code)((fn: (s: typeof strided) => Tensor) => {
      kept = fn;
    });
    return kept!;
  }
  const tools = ["plain", "esbuild", "terser"] as const;
  const outcome = (source: string, tool: (typeof tools)[number]) => {
    try {
      const t = built(source, tool)(strided);
      return `${t.dtype} ${JSON.stringify(t.toArray())}`;
    } catch (error) {
      return error instanceof TensorError ? "refused" : String(error);
    }
  };

  it("captured values are by name after any tool, or refused by all", () => {
    const clamp = "Math.min(Math.max(x, lo), hi)";
    const swapped = `const lo = 0, hi = 1; return s.kernel((x, lo, hi) => ${clamp}, { hi, lo })(s.arange(-2, 3));`;
    for (const tool of tools) expect(outcome(swapped, tool), tool).toBe("refused");
    const named = `const lo = 0, hi = 1; return s.kernel((x, { lo, hi }) => ${clamp}, { hi, lo })(s.arange(-2, 3));`;
    for (const tool of tools) expect(outcome(named, tool), tool).toBe("f32 [0,0,0,1,1]");
  });

  it("a constant that is inlined gives the same, or what differs is refused where it is not", () => {
    const bytes = "const d = 100; const bytes = s.tensor(new Uint8Array([200]));";
    const named = `${bytes} return bytes.map((x, { d }) => Math.min(255, x + d), { with: { d } });`;
    const computed = `${bytes} return bytes.map((x) => Math.min(255, x + d), { compute: "f64" });`;
    const floats = "const d = 100; return s.arange(3).map((x) => x > 1 && x + d);";
    for (const tool of tools) {
      expect(outcome(named, tool), tool).toBe("u8 [44]");
      expect(outcome(computed, tool), tool).toBe("f64 [255]");
      expect(outcome(floats, tool), tool).toBe("f32 [0,0,102]");
    }
    expect(outcome(`${bytes} return bytes.map((x) => Math.min(255, x + d));`, "plain")).toBe("refused");
  });
});

describe("compute and with", () => {
  const pixels = () => tensor(new Uint8Array([200, 10]));
  const k = 2;

  it("compute: the same whether a function is called or compiled, in every operation", () => {
    const f64 = { compute: "f64" } as const;
    const pairs: [() => Tensor, () => Tensor][] = [
      [() => pixels().map((x) => x * 2, f64), () => pixels().map((x) => x * k, f64)],
      [
        () => zip([pixels(), pixels()], (a, b) => (a + b) * 2, f64),
        () => zip([pixels(), pixels()], (a, b) => (a + b) * k, f64),
      ],
      [
        () => pixels().reduce((a, x) => a + x * 2, { ...f64, init: 0 }),
        () => pixels().reduce((a, x) => a + x * k, { ...f64, init: 0 }),
      ],
      [
        () => pixels().scan((a, x) => a + x * 2, { ...f64, init: 0 }),
        () => pixels().scan((a, x) => a + x * k, { ...f64, init: 0 }),
      ],
      [() => mapReduce([pixels()], (x) => x * 2, f64), () => mapReduce([pixels()], (x) => x * k, f64)],
    ];
    for (const [compiled, called] of pairs) {
      const [a, b] = [compiled(), called()];
      expect([b.dtype, b.toArray()]).toEqual([a.dtype, a.toArray()]);
      expect(a.dtype).toBe("f64");
    }
    expect(
      kernel((a: number, b: number) => (a + b) / 2, {}, { compute: "f32" })
        .as("u8")(pixels(), pixels())
        .toArray(),
    ).toEqual([200, 10]);
    expect(
      pixels()
        .map((x) => x + 100, { compute: "f32", dtype: "u8" })
        .toArray(),
    ).toEqual([255, 110]);
    const out = zeros([2], { dtype: "u8" });
    expect(
      pixels()
        .map((x) => x + k + 98, { compute: "f32", out })
        .toArray(),
    ).toEqual([255, 110]);
  });

  it("with: values by name, in compiled functions and in called ones", () => {
    const table = [5, 6, 7];
    const t = arange(3);
    expect(t.map((x, { k }) => x * k, { with: { k } }).toArray()).toEqual([0, 2, 4]);
    expect(t.map((x, { table }) => table[x], { with: { table } }).toArray()).toEqual([5, 6, 7]);
    expect(t.reduce((a, x, { k }) => a + k * x, { with: { k }, init: 0 }).item()).toBe(6);
    expect(t.scan((a, x, { k }) => a + k * x, { with: { k }, init: 0 }).toArray()).toEqual([0, 2, 6]);
    expect(zip([t, t], (a, b, { k }) => a + b * k, { with: { k } }).toArray()).toEqual([0, 3, 6]);
    const square = kernel((x: number) => x * x);
    expect(t.map((x, { square }) => square(x) + 1, { with: { square } }).toArray()).toEqual([1, 2, 5]);
    expect(strided.explain(() => t.map((x, { k }) => x * k, { with: { k: 3 } })).fallbacks).toEqual([]);
    for (const value of [2, 3, 2.5, -1])
      expect(t.map((x, { k }) => x * k, { with: { k: value } }).get(1)).toBe(value);
    expect(() => t.map(((x: number, { k }: { k: number }) => x * k) as never)).toThrow(
      /expects a captured value "k"/,
    );
  });
});
