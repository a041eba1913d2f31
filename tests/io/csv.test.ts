/** Tables of numbers in text: quotes, names, columns, awkward numbers, and pieces that end anywhere. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { arange, type DType, memory, TensorError, tensor } from "../../src/index.ts";
import { csv, save } from "../../src/io.ts";
import { anyLay, filled, placed, viewOf } from "../fuzz/memory.ts";
import { factOf } from "./fixtures.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-csv-"));
afterAll(() => rmSync(folder, { recursive: true }));
const bytes = (text: string) => new TextEncoder().encode(text);

async function read(text: string, options?: Parameters<typeof csv.load>[1]) {
  const { data, names } = await csv.load(bytes(text), options);
  const rows = data.toArray();
  data.dispose();
  return { rows, names };
}

async function refusal(text: string, options?: Parameters<typeof csv.load>[1]): Promise<string> {
  const before = memory().tensors;
  try {
    await csv.load(bytes(text), options);
  } catch (error) {
    expect(error).toBeInstanceOf(TensorError);
    expect(memory().tensors).toBe(before);
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
}

describe("csv", () => {
  it.each<[string, string, unknown[], string[] | null]>([
    [
      "numbers",
      "1,2\n3,4\n",
      [
        [1, 2],
        [3, 4],
      ],
      null,
    ],
    [
      "no end of the last line",
      "1,2\n3,4",
      [
        [1, 2],
        [3, 4],
      ],
      null,
    ],
    [
      "lines of Windows",
      "1,2\r\n3,4\r\n",
      [
        [1, 2],
        [3, 4],
      ],
      null,
    ],
    ["names", "x,y\n1,2\n", [[1, 2]], ["x", "y"]],
    ["names in quotes", '"a ""b""","c\nd, e"\n1,2\n', [[1, 2]], ['a "b"', "c\nd, e"]],
    [
      "numbers in quotes",
      '"1","-2.5"\n" 3 ","4"\n',
      [
        [1, -2.5],
        [3, 4],
      ],
      null,
    ],
    [
      "tabs",
      "1\t2\n3\t4\n",
      [
        [1, 2],
        [3, 4],
      ],
      null,
    ],
    ["semicolons", "a;b\n1;2\n", [[1, 2]], ["a", "b"]],
    [
      "blanks",
      " 1 ,  2 \n\n \n3,4\n\n",
      [
        [1, 2],
        [3, 4],
      ],
      null,
    ],
    ["one column", "1\n2\n", [[1], [2]], null],
    [
      "empty cells",
      "1,,3\n,,\n",
      [
        [1, NaN, 3],
        [NaN, NaN, NaN],
      ],
      null,
    ],
    ["names of no numbers", "nan,inf,-Infinity,NaN\n", [[NaN, Infinity, -Infinity, NaN]], null],
    ["a byte order mark", "\ufeffx\n1\n", [[1]], ["x"]],
    ["nothing", "", [], null],
    ["only names", "a,b\n", [], ["a", "b"]],
    ["signs and points", "+1,-.5,2.,.25\n", [[1, -0.5, 2, 0.25]], null],
    ["exponents", "1e3,2.5E-3,-1e+22,1e23\n", [[1000, 0.0025, -1e22, 1e23]], null],
    [
      "tiny and huge",
      "5e-324,1.7976931348623157e308,1e400,1e-400\n",
      [[5e-324, Number.MAX_VALUE, Infinity, 0]],
      null,
    ],
    [
      "many digits",
      "0.1234567890123456789,12345678901234567890\n",
      [[0.12345678901234568, Number("12345678901234567890")]],
      null,
    ],
    ["minus zero", "-0,-0.0\n", [[-0, -0]], null],
    ["a comma in quotes beside semicolons", '"a,b,c";d\n1;2\n', [[1, 2]], ["a,b,c", "d"]],
  ])("%s", async (_, text, rows, names) => {
    expect(await read(text)).toEqual({ rows, names });
  });

  it("takes columns by name and number, in any order", async () => {
    const text = "a,b,c\n1,x,3\n4,y,6\n";
    expect(await read(text, { columns: ["c", 0] })).toEqual({
      rows: [
        [3, 1],
        [6, 4],
      ],
      names: ["c", "a"],
    });
    expect(await read(text, { columns: [-1] })).toEqual({ rows: [[3], [6]], names: ["c"] });
    expect(await refusal(text, { columns: ["d"] })).toMatchInlineSnapshot(`
      "csv.load: the bytes: there is no column "d".
        There are "a", "b", "c"."
    `);
    expect(await refusal(text, { columns: [3] })).toMatch(/there is no column 3/);
    expect(await refusal(text, { columns: ["a", 0] })).toMatch(/named twice/);
  });

  it("takes blanks between numbers where the first line is nothing else", async () => {
    const read = async (lines: string) => {
      const { data, names } = await csv.load(new TextEncoder().encode(lines));
      const found = { rows: data.toArray(), names };
      data.dispose();
      return found;
    };
    expect(await read("1 2\n3    -4.5\n")).toEqual({
      rows: [
        [1, 2],
        [3, -4.5],
      ],
      names: null,
    });
    expect(await read("first name\n1\n2\n")).toEqual({ rows: [[1], [2]], names: ["first name"] });
    expect(await read("2 ,3\n")).toEqual({ rows: [[2, 3]], names: null });
  });

  it("leaves lines out, takes the first for names or not, and other delimiters", async () => {
    expect(await read("# made by\n#\n1 2\n3 4\n", { skip: 2, delimiter: " " })).toEqual({
      rows: [
        [1, 2],
        [3, 4],
      ],
      names: null,
    });
    expect(await read("1,2\n3,4\n", { header: true })).toEqual({ rows: [[3, 4]], names: ["1", "2"] });
    expect(await refusal("a,b\n1,2\n", { header: false })).toMatch(/row 1, column 1 is "a", which is no f64/);
  });

  it.each<[DType, string, unknown]>([
    ["f32", "0.1\n", Math.fround(0.1)],
    ["u8", "255\n", 255],
    ["i16", "-32768\n", -32768],
    ["bool", "1\n", true],
    ["f16", "0.5\n", 0.5],
    ["i64", "-9223372036854775808\n", -(2n ** 63n)],
    ["u64", "18446744073709551615\n", 2n ** 64n - 1n],
    ["i64", "12\n", 12n],
  ])("as %s", async (dtype, text, value) => {
    const { data } = await csv.load(bytes(text), { dtype });
    expect([data.dtype, data.shape, data.reshape([]).toArray()]).toEqual([dtype, [1, 1], value]);
    data.dispose();
  });

  it.each<[string, Parameters<typeof csv.load>[1], RegExp]>([
    ["1,2\n3\n", {}, /row 2 has 1 cells, the first 2/],
    ["1,2\n3,4,5\n", {}, /row 2 has 3 cells, the first 2/],
    ["x,y\n1,two\n", {}, /row 2, column 2 \("y"\) is "two", which is no f64/],
    ["1\n0x10\n", {}, /is "0x10"/],
    ["1\n1e\n", {}, /is "1e"/],
    ["1\n--1\n", {}, /is "--1"/],
    ["1\n1 2\n", {}, /is "1 2"/],
    ["1\n1_000\n", {}, /is "1_000"/],
    ['1,2\n"3,4\n', {}, /a quote is open/],
    ['1,2\n"3"4,5\n', {}, /something follows its closing quote/],
    ["256\n", { dtype: "u8" }, /row 1 has 256, which is no u8/],
    ["1.5\n", { dtype: "i32" }, /row 1 has 1\.5, which is no i32/],
    ["1,\n", { dtype: "i32" }, /row 1, column 2 is empty, which is no i32/],
    ["1.5\n", { dtype: "i64" }, /is "1\.5", which is no i64/],
    ["1\n", { delimiter: "ab" }, /the delimiter is the string "ab"/],
    ["1\n", { delimiter: "1" }, /the delimiter is/],
    ["1\n", { skip: -1 }, /skip is the number -1/],
    ["1\n", { columns: [1.5] }, /columns is an array/],
    ["1\n", { columns: [] }, /columns is an array/],
    ["1\n", { dtype: "f128" as never }, /unknown dtype/],
  ])("%j with %j is refused", async (text, options, message) => {
    expect(await refusal(text, options)).toMatch(message);
  });

  it("reads what it writes, of any layout, bit for bit", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<DType>("f64", "f32", "i32", "u8", "i64", "u64", "f16", "bf16", "bool"),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 5 }),
        anyLay,
        fc.nat(1e6),
        async (dtype, n, m, lay, seed) => {
          const where = placed([n, m], lay);
          const base = filled(dtype, where.room, "any", seed);
          const t = viewOf(base, where);
          const { data } = await csv.load(await csv.encode(t), { dtype, header: false });
          // A NaN has no sign and no payload in text.
          const [got, want] = [data, t].map((x) =>
            [...x.toTypedArray()].map((v, i) => {
              const one = x.slice(Math.floor(i / m), i % m).toArray() as unknown;
              return Number.isNaN(one) ? "nan" : v;
            }),
          );
          expect(got).toEqual(want);
          for (const x of [base, t, data]) x.dispose();
        },
      ),
      { numRuns: 150 },
    );
  });

  it("gives the same whatever the pieces are", async () => {
    const lines = Array.from(
      { length: 60_000 },
      (_, i) => `${i},"${i / 7}",${i % 3 === 0 ? "" : i * 1e-30},${i}.5`,
    );
    const all = bytes(`a,"b\n,",c,d\n${lines.join("\n")}\n`);
    expect(all.length).toBeGreaterThan(2 << 20);
    const { data, names } = await csv.load(new Blob([all]));
    expect(names).toEqual(["a", "b\n,", "c", "d"]);
    expect(data.shape).toEqual([60_000, 4]);
    for (const i of [0, 1, 30_000, 59_999]) {
      expect(data.slice(i).toArray()).toEqual([i, i / 7, i % 3 === 0 ? NaN : i * 1e-30, i + 0.5]);
    }
    expect(data.slice(":", 0).sum().item()).toBe((60_000 * 59_999) / 2);
  });

  it("long rows of cells that are no plain numbers take no more time than they should", async () => {
    const wide = `${"nan,".repeat(200_000)}1\n`;
    const began = performance.now();
    const { data } = await csv.load(bytes(wide + wide));
    expect(data.shape).toEqual([2, 200_001]);
    data.dispose();
    expect(performance.now() - began).toBeLessThan(60_000);
  });

  it("writes names, tabs by the ending, and short numbers", async () => {
    const t = tensor([
      [0.1, 1],
      [NaN, -Infinity],
    ]);
    expect(new TextDecoder().decode(await csv.encode(t, { names: ["x", 'a "b", c'] }))).toBe(
      'x,"a ""b"", c"\n0.1,1\nnan,-inf\n',
    );
    await save(join(folder, "x.tsv"), t);
    expect(readFileSync(join(folder, "x.tsv"), "utf8")).toBe("0.1\t1\nnan\t-inf\n");
    await save(join(folder, "v.csv"), arange(3));
    expect(readFileSync(join(folder, "v.csv"), "utf8")).toBe("0\n1\n2\n");
    expect(factOf((await csv.load(join(folder, "x.tsv"), { dtype: "f32" })).data)).toEqual(factOf(t));
    await expect(csv.encode(arange(8).reshape(2, 2, 2))).rejects.toThrow("a tensor of 3 axes is no table");
    await expect(csv.encode(t, { names: ["x"] })).rejects.toThrow("1 names for 2 columns");
    await expect(csv.encode(t, { delimiter: "." })).rejects.toThrow("the delimiter is");
  });
});
