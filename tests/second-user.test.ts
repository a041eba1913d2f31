/** What a second user's hour found: each failed before its fix. */
import { spawnSync } from "node:child_process";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { engine } from "../src/engine.ts";
import { TensorError } from "../src/errors.ts";
import {
  arange,
  einsum,
  explain,
  full,
  kernel,
  mapReduce,
  ones,
  ready,
  stencil,
  type Tensor,
  tensor,
  unstack,
  zip,
} from "../src/index.ts";
import { png, pnm, safetensors, zarr } from "../src/io.ts";
import { quantise } from "../src/quantised.ts";

const values = (t: Tensor) => t.toArray();

describe("named folds with an integer dtype", () => {
  it("convert floats first, one by one, as NumPy", () => {
    const t = tensor([1.5, -0.6]);
    expect(t.sum({ dtype: "i32" }).item()).toBe(1);
    expect(values(t.cumsum({ dtype: "i32" }))).toEqual([1, 1]);
    expect(tensor([2.5, 2.5]).prod({ dtype: "i32" }).item()).toBe(4);
    expect(tensor([200, 100]).sum({ dtype: "u8" }).item()).toBe(44);
    expect(
      kernel((x) => x)
        .reduce("sum", { dtype: "i32" })(t)
        .item(),
    ).toBe(1);
    const offset = 0;
    expect(mapReduce([t], (x) => x + offset, { dtype: "i32" }).item()).toBe(1);
    const many = arange(1000).map((x) => (x % 2 === 0 ? 1.5 : -0.6));
    for (let i = 0; i < 2; i++) expect(many.sum({ dtype: "i32" }).item()).toBe(500);
    expect(many.sum({ dtype: "f64" }).item()).toBeCloseTo(450, 4);
  });
});

describe("values that do not fit", () => {
  it("are errors for i64 as for the others", () => {
    const i = tensor([1n, -2n]);
    for (const run of [
      () => i.add(1e30),
      () => i.maximum(2n ** 63n),
      () => i.clip(-(2n ** 64n), 2n ** 64n),
      () => kernel((x: number, { k }) => x === (k as unknown as number), { k: 2n ** 64n + 1n })(i),
    ])
      expect(run).toThrow(/does not fit i64/);
  });

  it("are errors as the start of a fold", () => {
    const u = tensor([1, 2], { dtype: "u8" });
    expect(() => u.reduce((a, x) => a + x, { init: 300 })).toThrow(
      /init is 300, which does not fit the accumulator's u8/,
    );
    expect(() => tensor([1n]).reduce((a, x) => a + x, { init: 2n ** 63n })).toThrow(/does not fit/);
    expect(u.reduce((a, x) => a + x, { init: 300, dtype: "i32" }).item()).toBe(303);
  });
});

describe("kernel.as", () => {
  it("is kept wherever the kernel goes", () => {
    const a = tensor([0.5, 1.5, 2.5]);
    const k = kernel((x: number) => x * 1.5).as("i32");
    expect(values(k(a))).toEqual([0, 2, 3]);
    expect(values(a.map(k as never))).toEqual([0, 2, 3]);
    expect(values(zip([a], k as never))).toEqual([0, 2, 3]);
    expect(k.reduce("sum")(a).item()).toBe(5);
    expect(values(kernel((x: number, f: (v: number) => number) => f(x) + 0.5, { f: k })(a))).toEqual([
      0.5, 2.5, 3.5,
    ]);
  });
});

describe("functions that are called", () => {
  it("cannot free what they are called for", () => {
    const t = arange(6);
    let other: Tensor | null = null;
    const made = t.map((x) => {
      if (other === null) {
        t.dispose();
        other = full([6], 99);
      }
      return [x][0];
    });
    expect(values(made)).toEqual([0, 1, 2, 3, 4, 5]);
    const u = arange(6);
    const sum = u.reduce((acc, x) => {
      u.dispose();
      return [acc + x][0];
    });
    expect(sum.item()).toBe(15);
  });

  it("fold halves as compiled folds do", () => {
    const h = ones([3000], { dtype: "f16" });
    expect(h.reduce((p, x) => [p + x][0]).item()).toBe(h.reduce((p, x) => p + x).item());
  });

  it("are refused on integers and bool, where they would compute otherwise than compiled ones", () => {
    const b = tensor([true, false]);
    expect(() => b.reduce((p, x) => [p || x][0])).toThrow(/not in bool/);
    expect(() => tensor([1n, 2n]).reduce((p, x) => [p + x][0], { init: 0 })).toThrow(/not in i64/);
    expect(b.reduce((p, x) => [p + x][0], { compute: "f32" }).item()).toBe(1);
  });
});

describe("large kernels", () => {
  const deep = kernel((x: number) => {
    let y = x;
    for (let i = 0; i < 60; i++) y = y * 0.5 + Math.sin(y);
    return y;
  });

  it("print in a line of bounded length", () => {
    expect(String(deep).length).toBeLessThan(2000);
    expect(String(explain(() => deep.reduce("sum")(arange(5)))).length).toBeLessThan(1_000_000);
  });

  it("have a WAT, however long", () => {
    const k = kernel((x: number) => {
      let y = x;
      for (let i = 0; i < 60; i++) y = Math.sin(y) + y ** 1.1 * 0.01;
      return y;
    });
    const report = explain(() => k(arange(5)));
    expect(String(report)).toContain("kernel");
    expect(report.wat().length).toBeGreaterThan(100_000);
  });
});

describe("the host", () => {
  it("gives typed arrays of another realm, which are taken", () => {
    expect(values(tensor(runInNewContext("new Float32Array([1, 2])")))).toEqual([1, 2]);
    expect(tensor(runInNewContext("new BigInt64Array([1n])")).dtype).toBe("i64");
  });

  it("may be slow: a task that takes its time is not a dead worker", async () => {
    await ready();
    // A remainder with a huge quotient is a thousand times slower than any estimate.
    const t = full([768, 3000], 1.7e-300, { dtype: "f64" });
    for (let i = 0; i < 3; i++) t.reduce((a, x) => (1e300 + a) % x, { axis: 1, init: 0 }).dispose();
    // Late it may be, beside other programs.
    expect(engine().pool.status().why ?? "workers came late").toMatch(/^workers came late/);
  });
});

describe("softmax and logsumexp", () => {
  it("leave nothing behind when memory runs out in the middle", () => {
    const script = `
      import * as s from "./src/index.ts";
      s.configure({ maximumBytes: 8388608, threads: 1 });
      const m = s.full([40, 40], 1);
      const out = [];
      for (const f of [s.softmax, s.logSoftmax, s.logsumexp]) {
        const hold = s.empty([6592], { dtype: "u8" });
        const fill = [];
        for (let z = 8388608; z >= 64; ) try { fill.push(s.empty([z], { dtype: "u8" })); } catch { z >>= 1; }
        hold.dispose();
        const before = s.memory().tensors;
        try { s.scope(() => { f(m, { axis: 0 }); }); } catch {}
        out.push(s.memory().tensors - before);
        for (const t of fill) t.dispose();
      }
      console.log(out.join());
    `;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ["--import", "tsx", "--input-type=module", "-e", script],
      {
        encoding: "utf8",
      },
    );
    expect(stderr).toBe("");
    expect(stdout).toBe("0,0,0\n");
  });
});

describe("mistakes of a first hour", () => {
  const message = async (f: () => unknown): Promise<string> => {
    try {
      await f();
    } catch (error) {
      expect(error).toBeInstanceOf(TensorError);
      return (error as Error).message;
    }
    return "nothing was thrown";
  };

  it("a stencil of a tensor and a function: the function comes first", async () => {
    const wrong = () => (stencil as (...args: unknown[]) => unknown)(arange(3), (at: never) => at);
    expect(await message(wrong)).toBe(
      "stencil: expected a function, got a Tensor.\n  Pass one, such as stencil((at) => at(-1) + at(1)).",
    );
  });
  it("a billion parts are refused, and end no process", async () => {
    expect(await message(() => unstack(full([1], 1).broadcastTo(1e9)))).toContain("1000000000 parts");
    expect(unstack(arange(6).reshape(2, 3), { axis: 1 }).length).toBe(3);
    expect(unstack(full([0, 2], 1))).toEqual([]);
  });
  it("blocks where a tensor belongs: decode them", async () => {
    const q = quantise(arange(32), "q8_0");
    expect(await message(() => safetensors.encode({ q: q as never }))).toContain("dequantise()");
    q.dispose();
  });
  it("floats are no picture: how they become one", async () => {
    expect(await message(() => png.encode(ones([2, 2])))).toContain('t.mul(255).round().to("u8")');
    expect(await message(() => pnm.encode(ones([2, 2])))).toContain('t.mul(255).round().to("u8")');
    expect(await message(() => png.encode(ones([2, 2], { dtype: "i32" })))).not.toContain("255");
  });
  it("a long text is not repeated to its end", async () => {
    const long = "a".repeat(1e6);
    const t = arange(4);
    for (const f of [
      () => t.slice(long),
      () => t.to(long as never),
      () => t.sum({ axis: long as never }),
      () => t.sum({ [long]: 1 } as never),
      () => einsum(long, t),
      () => quantise(t, long as never),
    ]) {
      expect((await message(f)).length).toBeLessThan(1000);
    }
  });
  it("a store whose codec has a level that is an object", async () => {
    const store = new Map<string, Uint8Array>();
    await zarr.save(store, arange(4), { compressor: "gzip" });
    const meta = JSON.parse(new TextDecoder().decode(store.get("zarr.json")));
    meta.codecs.find((c: { name: string }) => c.name === "gzip").configuration.level = {};
    store.set("zarr.json", new TextEncoder().encode(JSON.stringify(meta)));
    expect(await message(() => zarr.openArray(store))).toContain("the level an object of a codec");
  });
});
