/**
 * Arrow and Parquet: nulls, ranges of rows, what is packed, what is written, and files that lie. What pyarrow wrote is
 * read with all other files (read.test.ts); here the packages of others read what we write, where they are installed.
 */
import { describe, expect, it } from "vitest";
import { arange, type DType, dtypeNames, memory, scope, type Tensor, TensorError } from "../../src/index.ts";
import { peer } from "../../src/io/peer.ts";
import { arrow, type CustomSource, open, parquet } from "../../src/io.ts";
import { load } from "../interop/packages.ts";
import { bytesOf, factOf, manifest, pathOf } from "./fixtures.ts";

async function refusal(promise: Promise<unknown>): Promise<string> {
  const before = memory().tensors;
  try {
    await promise;
  } catch (error) {
    expect(error).toBeInstanceOf(TensorError);
    expect(memory().tensors).toBe(before);
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
}

/** Bytes, and which of them were asked for. */
function counted(bytes: Uint8Array): CustomSource & { total: number } {
  const source = {
    size: bytes.length,
    total: 0,
    async read(from: number, length: number) {
      source.total += length;
      return bytes.slice(from, from + length);
    },
  };
  return source;
}

const lists = (tensors: Record<string, Tensor>) =>
  Object.fromEntries(Object.entries(tensors).map(([name, t]) => [name, t.toArray()]));

describe.each([
  ["arrow", "nulls.arrow"],
  ["arrow, packed", "nulls-lz4.arrow"],
  ["parquet", "nulls.parquet"],
  ["parquet, pages of the second kind", "nulls-v2.parquet"],
])("nulls of %s", (_, file) => {
  const isArrow = file.endsWith("arrow");
  const format = isArrow ? arrow : parquet;

  it("are refused, and the columns without them are not", async () => {
    const archive = await open(pathOf(file));
    expect(archive.entries.map((e) => e.dtype)).toEqual([
      "f64",
      "i32",
      "bool",
      ...(isArrow ? ["f32"] : []),
      "f64",
    ]);
    const message = await refusal(archive.read("f"));
    expect(message).toMatch(
      /entry "f": (1 of its elements are|some of its values are) null\.\n {2}Say what they become: (arrow|parquet)\.load\(file, \{ nulls: NaN \}\)\./,
    );
    const g = await archive.read("g");
    expect(g.toArray()).toEqual([1, 2, 3]);
    g.dispose();
  });

  it("become what is asked for, where the dtype holds it", async () => {
    const filled = await format.load(pathOf(file), { nulls: 1 });
    expect(lists(filled)).toEqual({
      f: [1.5, 1, 3.5],
      i: [1, 2, 3],
      b: [true, true, false],
      ...(isArrow
        ? {
            l: [
              [1, 1],
              [1, 1],
              [5, 6],
            ],
          }
        : {}),
      g: [1, 2, 3],
    });
    for (const t of Object.values(filled)) t.dispose();
    const nan = await format.load(pathOf(file), { nulls: NaN, names: ["f"] });
    expect(nan.f.toArray()).toEqual([1.5, NaN, 3.5]);
    nan.f.dispose();
    expect(await refusal(format.load(pathOf(file), { nulls: NaN }))).toMatch(
      /entry "i": nulls would become NaN, which no i32 is/,
    );
    expect(await refusal(format.load(pathOf(file), { nulls: "x" as never }))).toMatch(
      /nulls is the string "x"/,
    );
  });
});

describe("rows", () => {
  it("of Parquet are read by their row groups alone", async () => {
    const bytes = bytesOf("groups.parquet");
    const source = counted(bytes);
    const file = await parquet.open(source);
    source.total = 0;
    const part = await file.read("i8", ["4:6"]);
    const whole = await file.read("i8");
    expect(part.toArray()).toEqual(whole.slice("4:6").toArray());
    const all = source.total;
    source.total = 0;
    (await file.read("i8", [3])).dispose();
    expect(source.total).toBeLessThan(all / 3);
    const { i8 } = await parquet.load(bytes, { names: ["i8"], rows: [2, 5] });
    expect(i8.toArray()).toEqual(whole.slice("2:5").toArray());
    for (const t of [part, whole, i8]) t.dispose();
    expect(await refusal(parquet.load(bytes, { rows: [1] as never }))).toMatch(/rows is an array/);
  });

  it("of Arrow are read across batches, as bytes in a row", async () => {
    const source = counted(bytesOf("batches.arrow"));
    const file = await arrow.open(source);
    const { entries } = file;
    expect(entries.find((e) => e.name === "f4")).not.toHaveProperty("byteStrides");
    source.total = 0;
    const part = await file.read("matrix", ["2:5", 1]);
    expect(source.total).toBeLessThan(7 * 12);
    const whole = await file.read("matrix");
    expect(factOf(part)).toEqual(factOf(whole.slice("2:5", 1)));
    part.dispose();
    whole.dispose();
  });
});

const dtypes = dtypeNames.filter((d) => d !== "bf16");
const made = (dtype: DType, ...shape: number[]) =>
  scope(() =>
    arange(
      shape.reduce((a, b) => a * b, 1),
      { dtype: "f64" },
    )
      .remainder(dtype === "bool" ? 2 : 100)
      .to(dtype)
      .reshape(...shape),
  );
const columns = (shape: readonly number[]) =>
  Object.fromEntries(dtypes.map((d) => [`a ${d}`, made(d, ...shape)]));

describe("writing", () => {
  it("every dtype, and reads it again", async () => {
    for (const n of [0, 1, 7, 64, 1000]) {
      const vectors = columns([n]);
      const files = [
        await arrow.encode(vectors),
        await arrow.encode(vectors, { kind: "stream", meta: { by: "ü" } }),
        await parquet.encode(vectors),
      ];
      for (const bytes of files) {
        const file = await open(bytes);
        for (const [name, t] of Object.entries(vectors)) {
          const back = await file.read(name);
          expect(factOf(back), `${file.format} ${name}`).toEqual(factOf(t));
          back.dispose();
        }
      }
      expect((await arrow.open(files[1])).meta).toMatchObject({
        kind: "stream",
        rows: n,
        schema: { by: "ü" },
      });
      for (const t of Object.values(vectors)) t.dispose();
    }
  });

  it("matrices and more as lists of Arrow's", async () => {
    const all = {
      ...columns([3, 2]),
      cube: made("f32", 3, 2, 4),
      stepped: scope(() => made("i16", 6, 2).slice("::-2", ":").slice("...")),
    };
    const back = await arrow.load(await arrow.encode(all));
    for (const [name, t] of Object.entries(all)) expect(factOf(back[name]), name).toEqual(factOf(t));
    for (const t of [...Object.values(all), ...Object.values(back)]) t.dispose();
  });

  it("refuses what is no table", async () => {
    const [a, b, c, m] = [arange(3), arange(4), arange(2).to("bf16"), made("f32", 3, 2)];
    expect(await refusal(arrow.encode({ a, b }))).toMatchInlineSnapshot(`
      "arrow.encode: "b" is [4], "a" has 3 rows.
        Columns of a table have the same length; further axes become lists."
    `);
    expect(await refusal(parquet.encode({ a, m }))).toMatch(/"m" is \[3, 2\], the columns are vectors of 3/);
    expect(await refusal(arrow.encode({ c }))).toMatch(/Arrow has no bf16/);
    expect(await refusal(parquet.encode({ c }))).toMatch(/Parquet has no bf16/);
    expect(await refusal(arrow.encode({ a }, { kind: "table" as never }))).toMatch(
      /kind is the string "table"/,
    );
    for (const t of [a, b, c, m]) t.dispose();
  });
});

const hyparquet = await load("hyparquet");
const fzstd = await load("fzstd");
const flechette = await load("@uwdata/flechette");

describe("the packages of others", () => {
  it.skipIf(flechette === null)("flechette reads what we write, and we what it writes", async () => {
    const vectors = { ...columns([50]), "a matrix": made("f32", 50, 3) };
    for (const kind of ["file", "stream"] as const) {
      const table = flechette.tableFromIPC(await arrow.encode(vectors, { kind }), { useBigInt: true });
      expect(table.names).toEqual(Object.keys(vectors));
      for (const [name, t] of Object.entries(vectors)) {
        expect(
          [...table.getChild(name)].map((x) => (typeof x === "object" ? [...x] : x)),
          name,
        ).toEqual(t.toArray());
      }
    }
    const theirs = flechette.tableToIPC(
      flechette.tableFromArrays(
        { x: [1.5, 2.5], n: [1, 2], s: ["a", "b"] },
        { types: { n: flechette.int16() } },
      ),
      { format: "file" },
    );
    const back = await arrow.load(theirs);
    expect(lists(back)).toEqual({ x: [1.5, 2.5], n: [1, 2] });
    for (const t of [...Object.values(vectors), ...Object.values(back)]) t.dispose();
  });

  it.skipIf(hyparquet === null)("hyparquet reads what we write", async () => {
    const vectors = columns([300]);
    const { buffer } = await parquet.encode(vectors);
    const file = { byteLength: buffer.byteLength, slice: (a: number, b?: number) => buffer.slice(a, b) };
    const rows = await hyparquet.parquetReadObjects({ file });
    expect(rows.length).toBe(300);
    for (const [name, t] of Object.entries(vectors)) {
      expect(
        rows.map((row: Record<string, unknown>) => row[name]),
        name,
      ).toEqual(t.toArray());
    }
    for (const t of Object.values(vectors)) t.dispose();
  });

  it.skipIf(fzstd === null)("fzstd unpacks what zstd packed", async () => {
    const peers = { fzstd };
    const table = await arrow.load(pathOf("zstd.feather"), { peers });
    expect(scope(() => table.x.slice("-2:").toArray())).toEqual([498, 499]);
    expect(scope(() => table.y.slice(250).item())).toBe(2);
    const file = await open(pathOf("zstd.parquet"), { peers });
    const [got, want] = [await file.read("j"), manifest["encodings.parquet"].j!.hex!];
    expect(factOf(got).hex).toBe(want.slice(0, 1600));
    for (const t of [...Object.values(table), got]) t.dispose();
  });

  it("a package that is not there is named, with the line that installs it", async () => {
    expect(await refusal(peer("parquet.read", "@strided/none", {}, "a column that is packed by none"))).toBe(
      "parquet.read: a column that is packed by none needs the package @strided/none, which is not here.\n" +
        "  npm install @strided/none\n" +
        '  In a bundle for browsers, give it: { peers: { "@strided/none": await import("@strided/none") } }.',
    );
    const given = { x: 1, y: 2 };
    expect(await peer("a", "b", { b: given }, "")).toBe(given);
    expect(await peer("a", "b", { b: { default: given } }, "")).toBe(given);
    expect(await refusal(arrow.open(pathOf("all.arrow"), { peers: 5 as never }))).toMatch(
      /the options are the number 5/,
    );
  });

  it("what a package throws is told in our words", async () => {
    const broken = {
      decompress: () => {
        throw new RangeError("offset is out of bounds");
      },
    };
    const message = await refusal(
      parquet.load(pathOf("zstd.parquet"), { peers: { fzstd: broken }, names: ["i"] }),
    );
    expect(message).toMatch(/zstd\.parquet", entry "i": fzstd cannot read it: offset is out of bounds/);
  });
});

describe("files that lie", () => {
  const change = (name: string, at: number, value: number) => {
    const bytes = bytesOf(name);
    bytes[at < 0 ? bytes.length + at : at] = value;
    return bytes;
  };
  it("Arrow", async () => {
    const good = bytesOf("all.arrow");
    expect(await refusal(arrow.open(good.slice(0, 40)))).toMatch(/does not end as an Arrow file/);
    expect(await refusal(arrow.open(good.slice(0, 12)))).toMatch(/ends inside of its header/);
    expect(await refusal(arrow.open(change("all.arrow", -7, 0x7f)))).toMatch(
      /its footer would have \d+ bytes/,
    );
    expect(await refusal(arrow.open(new Uint8Array(100)))).toMatch(
      /begins neither as an Arrow file nor as a stream/,
    );
    const stream = bytesOf("batches.arrows");
    expect(await refusal(arrow.open(stream.slice(0, 2000)))).toMatch(
      /would have a description|has a body of/,
    );
    const file = await arrow.open(good);
    expect(await refusal(file.read("text"))).toMatch(
      /entry "text": elements of type "utf8" have no dtype here/,
    );
    expect(await refusal(file.raw("b1"))).toMatch(/not bytes in a row/);
  });

  it("Parquet", async () => {
    const good = bytesOf("plain.parquet");
    expect(await refusal(parquet.open(good.slice(0, 60)))).toMatch(/does not end as a Parquet file/);
    expect(await refusal(parquet.open(good.slice(0, 6)))).toMatch(/too short/);
    expect(await refusal(parquet.open(change("plain.parquet", -6, 0xff)))).toMatch(
      /its footer would have \d+ bytes/,
    );
    const file = await parquet.open(good);
    expect(await refusal(file.read("text"))).toMatch(/values of type "BYTE_ARRAY string" have no dtype here/);
    expect(await refusal(file.read("lists.list.element"))).toMatch(/list of INT64/);
    expect(await refusal(parquet.load(good, { limit: 10, names: ["i4"] }))).toMatch(
      /7 rows take 28 bytes, \d+ in the file\.\n {2}If that is true: \{ limit: 28 \}/,
    );
    expect(await refusal(parquet.load(good, { limit: -1 }))).toMatch(/limit is the number -1/);
  });
});

describe("a signal", () => {
  it("of open ends the opening alone, that of read the reading: Arrow, Parquet and PNG kept the first", async () => {
    for (const name of ["all.arrow", "groups.parquet", "rgb8.png"]) {
      const opening = new AbortController();
      const file = await open(pathOf(name), { signal: opening.signal });
      opening.abort(new Error("opening"));
      const entry = file.entries.find((e) => e.dtype !== null && e.dtype !== "bool")!;
      (await file.read(entry.name)).dispose();
      const reading = new AbortController();
      const read = file.read(entry.name, undefined, { signal: reading.signal });
      reading.abort(new Error("reading"));
      await expect(read, name).rejects.toThrow("reading");
    }
  });
});
