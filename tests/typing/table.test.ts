/** What an editor shows for expressions as users write them, what does not compile, and what it costs. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compile, root } from "./declare.ts";

const expressions = `
f32.add(f64)
f32.add(u8)
i32.add(f32)
u8.mul(i8)
u64.add(i64)
f16.add(bf16)
bool.add(u8)
i32.add(2)
i32.add(0.5)
i32.add(n)
f32.add(n)
bool.add(bool)
bool.add(1)
i64.add(1n)
u8.div(2)
u8.pow(2)
bool.remainder(bool)
u8.bitwiseAnd(15)
s.hypot(u8, u8)
s.leftShift(bool, bool)
f32.add(f32, { dtype: "f64" })
f32.add(f32, { out: f64 })
u8.exp()
u8.exp({ dtype: "f32" })
f16.exp()
u8.neg()
bool.relu()
u8.floor()
f32.greater(0)
s.less(u8, 300)
u8.sum()
i16.sum()
f32.sum()
u8.sum({ dtype: "i32" })
u8.mean()
u8.max()
u8.argmax()
u8.cumsum()
s.softmax(f16)
s.softmax(u8)
s.median(u8)
s.quantile(u8, 0.5, { method: "nearest" })
s.quantile(f32, f64)
s.conv2d(f32, f32)
s.conv2d(u8, f32, { bias: f64 })
s.where(bool, f32, 0)
s.where(bool, 1, 0)
u8.clip(0, 100)
s.concat([f32, u8, i16])
s.einsum("i,i", f32, f64)
f32.matmul(f64)
s.kernel((x) => 2 * x)(f32)
s.kernel((x) => x > 0)(f32)
s.kernel((x) => 2 * x)(u8)
s.kernel((x, y) => x * y)(f32, f64)
s.kernel((x, y) => x * y)
s.kernel((x) => 2 * x).as("i32")(f32)
s.kernel((x) => 2 * x, {}, { compute: "f32" })(u8)
s.kernel((x, { k }) => k * x, { k: 2 })(f64)
s.kernel((x, y, { k }) => k * x + y, { k: 2 })
s.kernel((x, y, z, w, { k, t }) => k * x + y + z * t.get(w), { k: 2, t: f32 })
s.kernel((x: number, y: number, { k }: { k: number }) => k * x + y, { k: 2 })
s.kernel((x, y, { k }) => [x + y, x > k], { k: 2 })(f32, f32)
s.kernel((x, y) => [x + y, x - y])(f32, f32)
s.kernel((x, y) => [x + y, x - y]).into([f32, f64], f32, f32)
s.mapIndex(f32, (x, i, { k }) => x + i * k, { with: { k: 2 } })
s.mapIndex(f32, (x, i, j, { t }) => x > t.get(i, j), { with: { t: f32 } })
s.image.rgbToGray(s.image.resize(u8, [2, 2]))
s.image.fromRGBA(bytes, { width: 2, dtype: "f32" })
s.kernel((a, b) => a * b).reduce("sum")(u8, u8)
s.zip([f32, f32], (a, b) => a * b)
s.zip([u8, u8], (a, b) => (a + b) / 2, { compute: "f32", dtype: "u8" })
f32.map((x) => x * x)
f32.map((x) => x > 0)
u8.map((x) => x / 2)
f32.reduce((a, x) => a + x)
f32.reduce((a, x) => a + x).item()
u8.scan((a, x) => a + x)
s.mapReduce([f32], (x) => x * x, { reduce: "max" })
f32.slice(0)
u8.argmax().item()
u8.get(0)
bool.get(0)
i64.item()
i64.toArray()
f32.toArray()
f32.toTypedArray()
f32.data
s.zeros([2])
s.arange(3)
s.arange(3n)
s.tensor([1, 2])
any.add(any)
any.add(f64)
any.mean()
`
  .trim()
  .split("\n");

const head = `import * as s from "strided";
declare const n: number;
declare const bytes: Uint8ClampedArray;
declare const any: s.Tensor;
${["bool", "u8", "i8", "i16", "i32", "i64", "u64", "f16", "bf16", "f32", "f64"].map((d) => `declare const ${d}: s.Tensor<"${d}">;`).join("\n")}
`;

describe("an editor shows", () => {
  it("the dtype of a result, in few words", { timeout: 120_000 }, () => {
    const lines = expressions.map((code, i) => `export const r${i} = ${code};`);
    const { types, errors } = compile(head + lines.join("\n"));
    expect(errors).toEqual([]);
    expect(expressions.length).toBeGreaterThan(60);
    const shown = expressions.map((code, i) => `${code.padEnd(72)} ${types.get(`r${i}`)}`);
    for (const line of shown) expect(line.slice(73).length, line).toBeLessThan(70);
    expect(`\n${shown.join("\n")}\n`).toMatchInlineSnapshot(`
      "
      f32.add(f64)                                                             Tensor<"f64">
      f32.add(u8)                                                              Tensor<"f32">
      i32.add(f32)                                                             Tensor<"f64">
      u8.mul(i8)                                                               Tensor<"i16">
      u64.add(i64)                                                             Tensor<"f64">
      f16.add(bf16)                                                            Tensor<"f32">
      bool.add(u8)                                                             Tensor<"u8">
      i32.add(2)                                                               Tensor<"i32">
      i32.add(0.5)                                                             Tensor<"f64">
      i32.add(n)                                                               Tensor<"f64" | "i32">
      f32.add(n)                                                               Tensor<"f32">
      bool.add(bool)                                                           Tensor<"bool">
      bool.add(1)                                                              Tensor<"i32">
      i64.add(1n)                                                              Tensor<"i64">
      u8.div(2)                                                                Tensor<"f64">
      u8.pow(2)                                                                Tensor<"u8">
      bool.remainder(bool)                                                     Tensor<"i32">
      u8.bitwiseAnd(15)                                                        Tensor<"u8">
      s.hypot(u8, u8)                                                          Tensor<"f64">
      s.leftShift(bool, bool)                                                  Tensor<"i32">
      f32.add(f32, { dtype: "f64" })                                           Tensor<"f64">
      f32.add(f32, { out: f64 })                                               Tensor<"f64">
      u8.exp()                                                                 Tensor<"f64">
      u8.exp({ dtype: "f32" })                                                 Tensor<"f32">
      f16.exp()                                                                Tensor<"f16">
      u8.neg()                                                                 Tensor<"u8">
      bool.relu()                                                              Tensor<"i32">
      u8.floor()                                                               Tensor<"u8">
      f32.greater(0)                                                           Tensor<"bool">
      s.less(u8, 300)                                                          Tensor<"bool">
      u8.sum()                                                                 Tensor<"u64">
      i16.sum()                                                                Tensor<"i64">
      f32.sum()                                                                Tensor<"f32">
      u8.sum({ dtype: "i32" })                                                 Tensor<"i32">
      u8.mean()                                                                Tensor<"f64">
      u8.max()                                                                 Tensor<"u8">
      u8.argmax()                                                              Tensor<"i64">
      u8.cumsum()                                                              Tensor<"u64">
      s.softmax(f16)                                                           Tensor<"f16">
      s.softmax(u8)                                                            Tensor<"f64">
      s.median(u8)                                                             Tensor<"f64">
      s.quantile(u8, 0.5, { method: "nearest" })                               Tensor<"u8">
      s.quantile(f32, f64)                                                     Tensor<"f64">
      s.conv2d(f32, f32)                                                       Tensor<"f32">
      s.conv2d(u8, f32, { bias: f64 })                                         Tensor<DType>
      s.where(bool, f32, 0)                                                    Tensor<"f32">
      s.where(bool, 1, 0)                                                      Tensor<"i32">
      u8.clip(0, 100)                                                          Tensor<"u8">
      s.concat([f32, u8, i16])                                                 Tensor<"f32">
      s.einsum("i,i", f32, f64)                                                Tensor<"f64">
      f32.matmul(f64)                                                          Tensor<"f64">
      s.kernel((x) => 2 * x)(f32)                                              Tensor<"f32">
      s.kernel((x) => x > 0)(f32)                                              Tensor<"bool">
      s.kernel((x) => 2 * x)(u8)                                               Tensor<"f64" | "i32" | "u8">
      s.kernel((x, y) => x * y)(f32, f64)                                      Tensor<"f32" | "f64">
      s.kernel((x, y) => x * y)                                                Kernel<[x: number, y: number], number>
      s.kernel((x) => 2 * x).as("i32")(f32)                                    Tensor<"i32">
      s.kernel((x) => 2 * x, {}, { compute: "f32" })(u8)                       Tensor<"f32">
      s.kernel((x, { k }) => k * x, { k: 2 })(f64)                             Tensor<"f64">
      s.kernel((x, y, { k }) => k * x + y, { k: 2 })                           Kernel<[x: number, y: number], number>
      s.kernel((x, y, z, w, { k, t }) => k * x + y + z * t.get(w), { k: 2, t: f32 }) Kernel<[x: number, y: number, z: number, w: number], number>
      s.kernel((x: number, y: number, { k }: { k: number }) => k * x + y, { k: 2 }) Kernel<[x: number, y: number], number>
      s.kernel((x, y, { k }) => [x + y, x > k], { k: 2 })(f32, f32)            [Tensor<"f32">, Tensor<"bool">]
      s.kernel((x, y) => [x + y, x - y])(f32, f32)                             [Tensor<"f32">, Tensor<"f32">]
      s.kernel((x, y) => [x + y, x - y]).into([f32, f64], f32, f32)            readonly [Tensor<"f32">, Tensor<"f64">]
      s.mapIndex(f32, (x, i, { k }) => x + i * k, { with: { k: 2 } })          Tensor<"f32">
      s.mapIndex(f32, (x, i, j, { t }) => x > t.get(i, j), { with: { t: f32 } }) Tensor<"bool">
      s.image.rgbToGray(s.image.resize(u8, [2, 2]))                            Tensor<"u8">
      s.image.fromRGBA(bytes, { width: 2, dtype: "f32" })                      Tensor<"f32">
      s.kernel((a, b) => a * b).reduce("sum")(u8, u8)                          Tensor<"f64" | "i64" | "u64">
      s.zip([f32, f32], (a, b) => a * b)                                       Tensor<"f32">
      s.zip([u8, u8], (a, b) => (a + b) / 2, { compute: "f32", dtype: "u8" })  Tensor<"u8">
      f32.map((x) => x * x)                                                    Tensor<"f32">
      f32.map((x) => x > 0)                                                    Tensor<"bool">
      u8.map((x) => x / 2)                                                     Tensor<"f64" | "i32" | "u8">
      f32.reduce((a, x) => a + x)                                              Tensor<"f32">
      f32.reduce((a, x) => a + x).item()                                       number
      u8.scan((a, x) => a + x)                                                 Tensor<"f64" | "i32" | "u8">
      s.mapReduce([f32], (x) => x * x, { reduce: "max" })                      Tensor<"f32">
      f32.slice(0)                                                             Tensor<"f32">
      u8.argmax().item()                                                       number
      u8.get(0)                                                                number
      bool.get(0)                                                              boolean
      i64.item()                                                               number
      i64.toArray()                                                            Elements<bigint>
      f32.toArray()                                                            Elements<number>
      f32.toTypedArray()                                                       Float32Array<ArrayBuffer>
      f32.data                                                                 Float32Array<ArrayBufferLike>
      s.zeros([2])                                                             Tensor<"f32">
      s.arange(3)                                                              Tensor<"f32">
      s.arange(3n)                                                             Tensor<"i64">
      s.tensor([1, 2])                                                         Tensor<"f32">
      any.add(any)                                                             Tensor<DType>
      any.add(f64)                                                             Tensor<"f64">
      any.mean()                                                               Tensor<FloatDType>
      "
    `);
  });

  it("what people write compiles, and what makes no sense does not", { timeout: 120_000 }, () => {
    const { errors } = compile(`${head}
      export const blob = new Blob([f32.toTypedArray(), u8.toTypedArray()]);
      export const name = ["a", "b"][f32.argmax().item()].length;
      export const at = f32.get(f32.argmax().item(), u8.sum().item());
      const [a, b] = f32.toArray();
      const [[p]] = f32.toArray();
      export const sum: number = a + b + p + s.bincount(u8).get(1);
      export const rows: number[][] = f32.toArray();
      export const either: s.Tensor<"f32"> | s.Tensor<"u8"> = n > 0 ? f32 : u8;
      export const mapped = either.map((x) => x * 2).reduce((a, x) => a + x);
      export const kernels: s.Kernel[] = [s.kernel((x) => x + 1), s.kernel((x, y) => x + y)];
      const add = s.kernel((x, y) => x + y);
      // @ts-expect-error one tensor too few
      add(f32);
      // @ts-expect-error one too many
      add(f32, f32, f32);
      // @ts-expect-error f32 and f64 make f64
      export const narrow: s.Tensor<"f32"> = f32.add(f64);
      // @ts-expect-error nobody asked for i8
      export const asked: s.Tensor<"i8"> = s.zeros([2]);
      // @ts-expect-error the type has to know of it
      s.configure({ dtype: "f64" });
    `);
    expect(errors).toEqual([]);
  });

  it("the default dtype that was declared", { timeout: 120_000 }, () => {
    const { types, errors } = compile(`import * as s from "strided";
      declare module "strided" { interface Defaults { dtype: "f64" } }
      s.configure({ dtype: "f64" });
      export const a = s.tensor([1]);
      export const b = s.zeros([2]);
    `);
    expect(errors).toEqual([]);
    expect([...types.values()]).toEqual(['Tensor<"f64">', 'Tensor<"f64">']);
  });
});

describe("the default dtype", () => {
  it("is what configure says, in creation, literals and random numbers", () => {
    const code = `
      import * as s from ${JSON.stringify(join(root, "src/index.ts"))};
      s.configure({ dtype: "f64" });
      const made = [s.tensor([1763392000123]), s.zeros(2), s.arange(3), s.linspace(0, 1), s.eye(2), s.full([1], 2),
        s.random.normal([2]), s.fft.fftfreq(4), s.oneHot([0], 2), s.fromFunction((i) => i, 3), s.windows.hann(4),
        s.windows.kaiser(1, 2), s.tensor([true])];
      console.log(made.map((t) => t.dtype).join(" "), made[0].get(0));
      try { s.configure({ dtype: "i32" }); } catch (error) { console.log(error.message.split("\\n")[0]); }`;
    const { stdout, stderr } = spawnSync(
      join(root, "node_modules/.bin/tsx"),
      ["--input-type=module", "-e", code],
      { cwd: root, encoding: "utf8" },
    );
    expect(stdout, stderr).toBe(`${"f64 ".repeat(12)}bool 1763392000123\nconfigure: dtype is i32.\n`);
  });
});

describe("types cost", () => {
  it("little: a program of 500 lines stays below what it took before dtypes were computed, times 1.2", {
    timeout: 120_000,
  }, () => {
    const program = readFileSync(join(root, "tests/typing/program.txt"), "utf8");
    const count = (text: string) => {
      const { errors, output } = compile(text);
      expect(errors).toEqual([]);
      return Number(/Instantiations:\s+(\d+)/.exec(output)![1]);
    };
    const own = count(program) - count('import * as s from "strided";\nexport const t = s.zeros([1]);\n');
    console.log(`types: ${own} instantiations of a program of ${program.split("\n").length} lines`);
    expect(own).toBeLessThan(4800);
  });
});
