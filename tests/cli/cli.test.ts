/** The command line, as functions with a host of the test's own: what each command prints, its JSON, its exit codes. */
import { describe, expect, it } from "vitest";
import type { Archive, Files } from "../../src/cli/archive-types.ts";
import { matches, parseArgs, parseSlice } from "../../src/cli/args.ts";
import { commands, run } from "../../src/cli/commands.ts";
import { type Host, Usage } from "../../src/cli/host.ts";
import { differenceOf } from "../../src/cli/statistics.ts";
import { bytesText, columns } from "../../src/cli/table.ts";
import {
  arange,
  fromJSON,
  memory,
  random,
  scope,
  type Tensor,
  TensorError,
  tensor,
} from "../../src/index.ts";

type Make = Readonly<Record<string, () => Tensor>>;
interface Shelf {
  readonly tensors: Make;
  readonly meta?: Readonly<Record<string, unknown>>;
}

const widths: Readonly<Record<string, number>> = { bool: 1, bf16: 2 };
const bytesOf = (t: Tensor): number => t.size * (widths[t.dtype] ?? Number(t.dtype.slice(1)) / 8);

/** Files that are made when they are opened; what is saved is kept. */
function filesOf(shelves: Readonly<Record<string, Shelf>>) {
  const saved: Record<string, { tensors: Record<string, unknown>; meta: unknown }> = {};
  const closed: string[] = [];
  const files: Files = {
    async open(source) {
      const name = typeof source === "string" ? source : new TextDecoder().decode(source);
      const shelf = shelves[name];
      if (shelf === undefined) throw new TensorError("value", `open: there is no file "${name}".`);
      const entries = Object.entries(shelf.tensors).map(([key, make]) => {
        const t = scope(make);
        const entry = { name: key, type: `<${t.dtype}`, dtype: t.dtype, shape: t.shape, bytes: bytesOf(t) };
        t.dispose();
        return key.startsWith("q:") ? { ...entry, type: "Q4_K", dtype: null } : entry;
      });
      const archive: Archive = {
        format: "test",
        entries,
        meta: shelf.meta ?? {},
        async read(key, items) {
          const make = shelf.tensors[key];
          return scope(() =>
            items === undefined
              ? make()
              : make()
                  .slice(...items)
                  .clone(),
          );
        },
        async close() {
          closed.push(name);
        },
      };
      return archive;
    },
    async save(path, tensors, { meta }) {
      const plain: [string, unknown][] = [];
      for (const lazy of tensors) {
        let [n, first]: [number, unknown] = [0, null];
        for await (const piece of lazy.pieces()) {
          first ??= piece.toJSON();
          n += piece.size;
          piece.dispose();
        }
        expect(n).toBe(lazy.shape.reduce((a, b) => a * b, 1));
        plain.push([lazy.name, first ?? { dtype: lazy.dtype, shape: lazy.shape, data: [] }]);
      }
      saved[path] = { tensors: Object.fromEntries(plain), meta };
    },
    async savePicture(path, picture) {
      saved[path] = { tensors: {}, meta: picture.shape };
    },
  };
  return { files, saved, closed };
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly written: Readonly<Record<string, string>>;
  readonly saved: ReturnType<typeof filesOf>["saved"];
}

async function runWith(
  shelves: Readonly<Record<string, Shelf>>,
  args: readonly string[],
  more: Partial<Host> & { readonly input?: string } = {},
): Promise<Ran> {
  const before = memory().tensors;
  const { files, saved, closed } = filesOf(shelves);
  let [out, err] = ["", ""];
  const written: Record<string, string> = {};
  const host: Host = {
    out: (text) => {
      out += `${text}\n`;
    },
    err: (text) => {
      err += text;
    },
    terminal: { columns: 80, color: "none", ascii: false },
    showsProgress: false,
    version: "1.2.3",
    files,
    stdin: async () => new TextEncoder().encode(more.input ?? ""),
    exists: (path) => path === "there.npz" || path === "there.svg",
    write: (path, text) => {
      written[path] = text;
    },
    pipe: (name, write) => write(name),
    ...more,
  };
  const code = await run(args, host);
  expect(memory().tensors, "tensors left behind").toBe(before);
  const opened = args.filter((arg) => Object.hasOwn(shelves, arg));
  if (code === 0) for (const name of opened) expect(closed).toContain(name);
  return { code, out, err, written, saved };
}

const model: Shelf = {
  tensors: {
    "embed.weight": () => random.generator(1).normal([20, 8]),
    "layer.bias": () => tensor([0, 1, NaN, Infinity, -2.5], { dtype: "f64" }),
    ids: () => tensor([1n, 2n, 3n]),
    empty: () => tensor([], { dtype: "u8" }),
    "q:packed": () => tensor([1, 2], { dtype: "u8" }),
  },
  meta: {
    license: "MIT",
    "general.name": "tiny\x1b[31m\u202e",
    tokens: Array.from({ length: 9 }, (_, i) => `t${i}`),
    merges: new Float32Array(5000),
    count: 12345678901234567890n,
  },
};
const shelves = { "m.st": model, "x.npy": { tensors: { x: () => arange(12).reshape(3, 4) } } };
const only = (...args: string[]) => runWith(shelves, args);

describe("info", () => {
  it("lists tensors and metadata, reading the header only", async () => {
    const { code, out } = await only("info", "m.st");
    expect(code).toBe(0);
    expect(out).toMatchInlineSnapshot(`
      "m.st  test  5 tensors  706 bytes

      name          dtype  shape        bytes
      embed.weight  f32    [20, 8]  640 bytes
      layer.bias    f64    [5]       40 bytes
      ids           i64    [3]       24 bytes
      empty         u8     [0]        0 bytes
      q:packed      Q4_K   [2]        2 bytes

      metadata
        license: MIT
        general.name: tiny\\u001b[31m\\u202e
        tokens: a list of 9
        merges: 5000 numbers
        count: 12345678901234567890
      "
    `);
  });

  it("with numbers of every tensor", async () => {
    const { out } = await only("info", "m.st", "--stats", "--only", "*.*");
    expect(out).toMatchInlineSnapshot(`
      "m.st  test  2 tensors  680 bytes

      name          dtype  shape        bytes     min    max     mean  histogram
      embed.weight  f32    [20, 8]  640 bytes  -2.632  2.518  0.01859  ▁▂▂▂▃▅▅█▆▆▆▄▃▂▁▁
      layer.bias    f64    [5]       40 bytes    -2.5      1     -0.5  █          █   █

      metadata
        license: MIT
        general.name: tiny\\u001b[31m\\u202e
        tokens: a list of 9
        merges: 5000 numbers
        count: 12345678901234567890
      "
    `);
  });

  it("as JSON, from standard input", async () => {
    const { out } = await runWith(shelves, ["info", "-", "--json"], { input: "x.npy" });
    expect(JSON.parse(out)).toEqual({
      file: "-",
      format: "test",
      entries: [{ name: "x", type: "<f32", dtype: "f32", shape: [3, 4], bytes: 48 }],
      meta: {},
    });
    const all = JSON.parse((await only("info", "m.st", "--json", "--stats")).out);
    expect(all.meta.count).toBe("12345678901234567890");
    expect(all.meta.merges).toBe("Float32Array of 5000");
    expect(all.entries[1].statistics).toEqual({
      count: 5,
      zeros: 1,
      nan: 1,
      infinite: 1,
      min: -2.5,
      max: 1,
      mean: -0.5,
      std: expect.closeTo(1.4719601443879744, 12),
    });
    expect(all.entries[4].statistics).toBe(null);
  });

  it("no letter of a file is an order to the terminal", async () => {
    const evil = {
      "e.npz": { tensors: { "\x1b]0;x\x07\n\u009b2J": () => arange(2) }, meta: { "\x1b[1m": "\u202eabc" } },
    };
    for (const args of [
      ["info", "e.npz"],
      ["info", "e.npz", "--json"],
      ["stats", "e.npz"],
      ["stats", "e.npz", "--json"],
    ]) {
      const { out, code } = await runWith(evil, args);
      expect(code).toBe(0);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: those must not be there
      expect(out.replaceAll("\n", "")).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/);
    }
    const refused = await runWith(evil, ["show", "e.npz", "\x1b[31mx"]);
    expect(refused.code).toBe(2);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those must not be there
    expect(refused.err.replaceAll("\n", "")).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
  });
});

describe("show", () => {
  it("a tensor, a slice of it, and without its name where there is only one", async () => {
    expect((await only("show", "x.npy")).out).toMatchInlineSnapshot(`
      "Tensor f32 [3, 4]
      [[ 0,  1,  2,  3],
       [ 4,  5,  6,  7],
       [ 8,  9, 10, 11]]
      "
    `);
    expect((await only("show", "x.npy", "x", "1:,::2")).out).toMatchInlineSnapshot(`
      "Tensor f32 [2, 2]
      [[ 4,  6],
       [ 8, 10]]
      "
    `);
    expect((await only("show", "x.npy", "-1")).out).toContain("[ 8,  9, 10, 11]");
    expect((await only("show", "x.npy", "[0,1]")).out).toContain("\n1\n");
    expect((await only("show", "m.st", "embed*", "0,:3", "--digits", "2")).out).toContain("Tensor f32 [3]");
  });

  it("as JSON, which reads back", async () => {
    const { out } = await only("show", "x.npy", "::-1,0", "--json");
    scope(() => expect(fromJSON(out).toArray()).toEqual([8, 4, 0]));
  });

  it("everything, where it is asked for", async () => {
    const long = { "l.npy": { tensors: { l: () => arange(3000) } } };
    expect((await runWith(long, ["show", "l.npy"])).out).toContain("…");
    expect((await runWith(long, ["show", "l.npy", "--all"])).out).not.toContain("…");
  });

  it("a pattern that fits several names says which", async () => {
    const { code, err } = await only("show", "m.st", "*e*");
    expect([code, err]).toEqual([
      2,
      expect.stringContaining(
        '"*e*" fits 4 tensors, and one is meant. There are embed.weight, layer.bias, empty, q:packed.',
      ),
    ]);
  });
});

describe("stats", () => {
  it("a table, and as JSON", async () => {
    expect((await only("stats", "m.st")).out).toMatchInlineSnapshot(`
      "name          dtype  shape       min    max     mean     std  zeros  NaN  inf
      embed.weight  f32    [20, 8]  -2.632  2.518  0.01859  0.9577      0    0    0
      layer.bias    f64    [5]        -2.5      1     -0.5   1.472      1    1    1
      ids           i64    [3]           1      3        2  0.8165      0    0    0
      empty         u8     [0]                                          0    0    0
      q:packed      Q4_K   [2]
      "
    `);
    const [one] = JSON.parse((await only("stats", "x.npy", "x", "--json")).out);
    expect(one.statistics).toMatchObject({ count: 12, min: 0, max: 11, mean: 5.5, zeros: 1 });
  });

  it("the ends of whole numbers of 64 bits are exact in JSON, as those of show are", async () => {
    const big = 2n ** 63n - 1n;
    const long = {
      "l.npy": { tensors: { l: () => tensor([-big, 5n, big]) } },
      "u.npy": { tensors: { u: () => tensor([2n, 5n, 2n ** 53n - 1n], { dtype: "u64" }) } },
    };
    const of = async (name: string) =>
      JSON.parse((await runWith(long, ["stats", name, "--json"])).out)[0].statistics;
    expect(await of("l.npy")).toMatchObject({ min: String(-big), max: String(big) });
    expect(await of("u.npy")).toMatchObject({ min: 2, max: 2 ** 53 - 1 });
    expect((await runWith(long, ["info", "l.npy", "--stats"])).out).toContain("9.223e18");
  });
});

describe("diff", () => {
  const before = {
    tensors: { a: () => tensor([1, 2, NaN]), b: () => arange(4), c: () => arange(2), d: () => arange(2) },
  };
  const after = {
    tensors: {
      a: () => tensor([1, 2.0000005, NaN]),
      b: () => arange(4),
      c: () => arange(3),
      e: () => arange(2),
    },
  };
  const half = { tensors: { ...before.tensors, a: () => tensor([1, 2, NaN], { dtype: "f16" }) } };
  const pair = { "a.npz": before, "b.npz": after, "c.npz": before, "h.npz": half };

  it("says what differs, how much and where; exit code 1", async () => {
    const { code, out } = await runWith(pair, ["diff", "a.npz", "b.npz"]);
    expect(code).toBe(1);
    expect(out).toMatchInlineSnapshot(`
      "a  1 of 3 differ, max error 4.768e-7, 2 ulp, at [1]: 2 and 2.000000476837158
      c  shape [2] and [3]
      d  only in the first file
      e  only in the second file
      1 tensor the same, 4 not
      "
    `);
  });

  it("equal files are exit code 0", async () => {
    expect(await runWith(pair, ["diff", "a.npz", "c.npz"])).toMatchObject({
      code: 0,
      out: "4 tensors, all the same\n",
    });
  });

  it("a tolerance forgives errors and dtypes, not shapes", async () => {
    const close = await runWith(pair, [
      "diff",
      "a.npz",
      "b.npz",
      "--rtol",
      "1e-6",
      "--only",
      "[ab]",
      "--only",
      "a",
      "--only",
      "b",
    ]);
    expect(close.code).toBe(0);
    expect(close.out).toMatchInlineSnapshot(`
      "a  1 of 3 differ, max error 4.768e-7, 2 ulp, at [1]: 2 and 2.000000476837158 (close enough)
      1 tensor the same, 1 close
      "
    `);
    expect((await runWith(pair, ["diff", "a.npz", "h.npz"])).code).toBe(1);
    expect((await runWith(pair, ["diff", "a.npz", "h.npz", "--atol", "0"])).code).toBe(0);
    expect((await runWith(pair, ["diff", "a.npz", "b.npz", "--rtol", "1"])).code).toBe(1);
  });

  it("files of one tensor are about the same tensor", async () => {
    const one = {
      "x.npy": { tensors: { x: () => arange(3) } },
      "y.npy": { tensors: { y: () => arange(3) } },
    };
    expect((await runWith(one, ["diff", "x.npy", "y.npy"])).code).toBe(0);
    const many = { ...one, "m.npz": { tensors: { a: () => arange(3), b: () => arange(4) } } };
    expect((await runWith(many, ["diff", "m.npz", "x.npy", "--only", "a"])).code).toBe(0);
    expect((await runWith(many, ["diff", "x.npy", "m.npz", "--only", "b"])).code).toBe(1);
    expect((await runWith(many, ["diff", "x.npy", "m.npz"])).code).toBe(1);
  });

  it("as JSON", async () => {
    const { out } = await runWith(pair, ["diff", "a.npz", "b.npz", "--json"]);
    const { equal, tensors } = JSON.parse(out);
    expect(equal).toBe(false);
    expect(tensors[0].difference).toMatchObject({ different: 1, maxUlp: 2, at: [1] });
    expect(tensors.map((t: { what: string }) => t.what)).toEqual([
      "different",
      "same",
      "different",
      "missing",
      "missing",
    ]);
  });

  it("counts floats between two floats in every dtype, across zero too", () => {
    scope(() => {
      const of = (x: number[], y: number[], dtype: "f16" | "bf16" | "f32" | "f64") =>
        differenceOf(tensor(x, { dtype }), tensor(y, { dtype }), { rtol: 0, atol: 0 }).maxUlp;
      expect(of([1], [1 + 2 ** -23], "f32")).toBe(1);
      expect(of([1], [1 + 2 ** -52], "f64")).toBe(1);
      expect(of([1], [1 + 2 ** -10], "f16")).toBe(1);
      expect(of([1], [1 + 2 ** -7], "bf16")).toBe(1);
      expect(of([5e-324], [-5e-324], "f64")).toBe(2);
      expect(of([0], [-0], "f32")).toBe(0);
      const nan = differenceOf(tensor([NaN, 1]), tensor([1, 1]), { rtol: 1, atol: 1 });
      expect(nan).toMatchObject({ different: 1, beyond: 1, maxError: NaN, maxUlp: NaN, at: [0] });
    });
  });

  it("no tolerance reaches from a number to infinity or NaN", async () => {
    const over = {
      "a.npy": { tensors: { x: () => tensor([1, 70000, -1e6, Infinity]) } },
      "b.npy": { tensors: { x: () => tensor([1, 70000, -1e6, Infinity], { dtype: "f16" }) } },
      "n.npy": { tensors: { x: () => tensor([1, NaN, -1e6, Infinity]) } },
    };
    const { code, out } = await runWith(over, ["diff", "a.npy", "b.npy", "--rtol", "1e-3"]);
    expect([code, out]).toEqual([
      1,
      expect.stringContaining("2 of 4 differ, max error inf, at [1]: 70000 and Infinity"),
    ]);
    const missing = await runWith(over, ["diff", "a.npy", "n.npy", "--rtol", "1e-3"]);
    expect(missing.out).toContain("NaN beside a number, at [1]: 70000 and NaN\n");
  });

  it("whole numbers are compared as they are, whatever their dtypes", () => {
    const [a, b] = [2n ** 53n + 1n, 2n ** 62n + 1n];
    const of = (x: Tensor, y: Tensor, atol = 0) => {
      const { different, beyond, maxError, values } = differenceOf(x, y, { rtol: 0, atol });
      return [different, beyond, maxError, values];
    };
    scope(() => {
      const u64 = (n: bigint) => tensor([n], { dtype: "u64" });
      const f64 = (n: number) => tensor([n], { dtype: "f64" });
      expect(of(tensor([a]), f64(2 ** 53))).toEqual([1, 1, 1, [`${a}`, `${2 ** 53}`]]);
      expect(of(tensor([b]), u64(b - 1n))).toEqual([1, 1, 1, [`${b}`, `${b - 1n}`]]);
      expect(of(tensor([b]), u64(b))).toEqual([0, 0, 0, null]);
      expect(of(tensor([b]), tensor([b - 3n]), 3)).toEqual([1, 0, 3, [`${b}`, `${b - 3n}`]]);
      expect(of(tensor([b]), tensor([b - 3n]), 2.5)).toEqual([1, 1, 3, [`${b}`, `${b - 3n}`]]);
      expect(of(tensor([-b]), u64(b))).toEqual([1, 1, 2 ** 63, [`${-b}`, `${b}`]]);
      expect(of(tensor([5n]), f64(5.5), 0.5)).toEqual([1, 0, 0.5, ["5", "5.5"]]);
      expect(of(tensor([b]), f64(Infinity), 1)).toEqual([1, 1, Infinity, [`${b}`, "Infinity"]]);
      expect(of(tensor([true]), tensor([0], { dtype: "u8" }))).toEqual([1, 1, 1, ["true", "0"]]);
      expect(of(tensor([-0]), tensor([0], { dtype: "i32" }))).toEqual([0, 0, 0, null]);
    });
  });

  it("a name that no tensor has is a mistake, not a file without a difference", async () => {
    for (const args of [
      ["diff", "a.npz", "c.npz", "--only", "TYPO"],
      ["stats", "a.npz", "--only", "q*"],
      ["info", "a.npz", "--except", "*"],
    ]) {
      const { code, err } = await runWith(pair, args);
      expect([code, err]).toEqual([2, expect.stringContaining("no tensor is chosen. There are a, b, c, d")]);
    }
    expect((await runWith(pair, ["diff", "a.npz", "b.npz", "--only", "e"])).out).toContain(
      "only in the second",
    );
    const none = { "n.npz": { tensors: {} } };
    expect((await runWith(none, ["diff", "n.npz", "n.npz"])).code).toBe(0);
  });
});

describe("convert", () => {
  it("keeps indices whole: only floats become floats, unless --all says so", async () => {
    const { code, out, saved } = await only(
      "convert",
      "m.st",
      "out.st",
      "--dtype",
      "f16",
      "--only",
      "layer*",
      "--only",
      "ids",
    );
    expect([code, out]).toEqual([0, "m.st → out.st: 2 tensors, 1 of them as f16\n"]);
    const { tensors, meta } = saved["out.st"] as {
      tensors: Record<string, { dtype: string }>;
      meta: unknown;
    };
    expect([tensors["layer.bias"].dtype, tensors.ids.dtype]).toEqual(["f16", "i64"]);
    expect(meta).toBe(model.meta);
    const all = await only("convert", "m.st", "out.st", "--dtype=f32", "--all", "--only=ids", "--json");
    expect(JSON.parse(all.out).entries).toEqual([{ name: "ids", dtype: "f32", shape: [3] }]);
  });

  it("a dtype that would change nothing is refused", async () => {
    const mixed = {
      "f.npz": { tensors: { f: () => arange(3), m: () => tensor([true, false]) } },
      "i.npy": { tensors: { i: () => tensor([1n]) } },
    };
    const said = async (...args: string[]) => {
      const { code, out, err } = await runWith(mixed, ["convert", ...args]);
      return `${code} ${out}${err.split("\n")[0]}`;
    };
    expect(await said("f.npz", "o.npz", "--dtype", "u8", "--only", "f")).toBe(
      "2 strided convert: --dtype u8 would change nothing: f is f32, and of floats it makes whole numbers with --all only.",
    );
    expect(await said("i.npy", "o.npz", "--dtype", "f16")).toContain(
      "i is i64, and of whole numbers it makes floats with --all only.",
    );
    expect(await said("f.npz", "o.npz", "--dtype", "u8")).toBe(
      "0 f.npz → o.npz: 2 tensors, 1 of them as u8\n",
    );
    expect(await said("f.npz", "o.npz", "--dtype", "u8", "--all")).toBe("0 f.npz → o.npz: 2 tensors\n");
    expect(await said("f.npz", "o.npz", "--dtype", "f32", "--only", "f")).toBe("0 f.npz → o.npz: 1 tensor\n");
  });

  it("names of tensors are names, whatever they are", async () => {
    const odd = {
      "o.npz": {
        tensors: {
          __proto__x: () => arange(1),
          ["__proto__"]: () => arange(2),
          constructor: () => arange(3),
        },
      },
    };
    const { code, saved } = await runWith(odd, ["convert", "o.npz", "p.npz"]);
    expect(code).toBe(0);
    expect(Object.keys(saved["p.npz"].tensors)).toContain("constructor");
  });

  it("does not write over a file unless told", async () => {
    expect((await only("convert", "m.st", "there.npz")).code).toBe(2);
    expect((await only("convert", "x.npy", "there.npz", "--force")).code).toBe(0);
    const most = await only("convert", "m.st", "out.npz", "--except", "q:*", "--except", "e*");
    expect(Object.keys(most.saved["out.npz"].tensors)).toEqual(["layer.bias", "ids"]);
    expect((await only("convert", "x.npy", "out.npz", "--only", "nothing")).err).toContain(
      "no tensor is chosen",
    );
    expect((await only("convert", "x.npy", "out.npz", "--dtype", "q9_9")).err).toContain(
      'there is no dtype "q9_9"',
    );
    expect((await only("convert", "x.npy", "out.npz", "--dtype", "q4_0")).err).toContain(
      "only files of GGUF hold it",
    );
  });

  it("shows how far it is where standard error is a terminal, and nothing elsewhere", async () => {
    expect((await only("convert", "x.npy", "out.npz")).err).toBe("");
    const { err } = await runWith(shelves, ["convert", "x.npy", "out.npz"], { showsProgress: true });
    expect(JSON.stringify(err)).toMatchInlineSnapshot(
      `""\\r\\u001b[K░░░░░░░░░░░░░░░░░░░░░░░░ 0/1 x\\r\\u001b[K""`,
    );
  });
});

describe("plot", () => {
  it("in the terminal, and as SVG", async () => {
    const { out } = await only("plot", "x.npy", "0", "--width", "30", "--height", "5");
    expect(out).toMatchInlineSnapshot(`
      "x
      3 ┤                   ⣀⣀⠤⠤⠔⠒⠊⠉
        │        ⣀⣀⡠⠤⠤⠔⠒⠒⠊⠉⠉
      0 ┤⣀⡠⠤⠔⠒⠒⠉⠉
        └───────────────────────────
         0                         3
      "
    `);
    expect((await only("plot", "x.npy", "--kind", "histogram", "--ascii", "--bins=4")).out).toContain("#");
    const drawn = await only("plot", "x.npy", "--out", "p.svg", "--title", "a < b");
    const { code, written } = drawn;
    expect(drawn.out).toBe("x.npy → p.svg\n");
    expect(code).toBe(0);
    expect(written["p.svg"]).toContain("a &lt; b");
    expect((await only("plot", "x.npy", "--out", "p.png", "--width", "300")).saved["p.png"].meta).toEqual([
      800, 600, 3,
    ]);
    expect((await only("plot", "x.npy", "--out", "p.jpg")).code).toBe(2);
    expect((await only("plot", "x.npy", "--out", "there.svg")).code).toBe(2);
    for (const [flag, value, said] of [
      ["--kind", "pie", '--kind is "pie".\n  Use one of line'],
      ["--width", "0", "--width is 0.\n  Use a whole number"],
      ["--color", "pink", '--color is "pink".'],
    ]) {
      const { code: wrong, err } = await only("plot", "x.npy", flag, value);
      expect([wrong, err]).toEqual([2, expect.stringContaining(`strided plot: ${said}`)]);
    }
  });
});

describe("explain", () => {
  it("what a function given as text becomes, without running it", async () => {
    const { code, out } = await only(
      "explain",
      "(a, b) => a * b + 1",
      "--dtype",
      "f32,u8",
      "--shape",
      "8,8",
      "--show",
      "passes",
    );
    expect(code).toBe(0);
    expect(out).toMatchInlineSnapshot(`
      "── function: what the function says, with dtypes
      %0 = input f32 #0    a
      %1 = input u8 #1     b
      %2 = cast f32 %1
      %3 = mul f32 %0 %2   a * b
      %4 = const f32 1     1
      %5 = add f32 %3 %4   a * b + 1
      return f32 %5
      "
    `);
    expect((await only("explain", "x => x + 1")).out).toContain("1. kernel: x => x + 1");
    expect((await only("explain", "x => x + 1", "--show", "wat")).out).toContain("(module");
    expect(JSON.parse((await only("explain", "x => x + 1", "--json")).out).steps.length).toBe(1);
  });

  it("refuses with a caret", async () => {
    const { code, err } = await only("explain", "x => process.exit(7) + x");
    expect(code).toBe(1);
    expect(err).toMatchInlineSnapshot(`
      "strided explain: cannot compile this call; only Math.* functions are known.
        x => process.exit(7) + x
             ^^^^^^^^^^^^^^^
      "
    `);
    expect((await only("explain", "not a function")).code).toBe(1);
    expect((await only("explain", "() => 1")).code).toBe(2);
    expect((await only("explain", "x => x", "--dtype", "f99")).code).toBe(2);
    expect((await only("explain", "x => x", "--shape", "a")).code).toBe(2);
    expect((await only("explain", "x => x", "--show", "assembler")).code).toBe(2);
  });
});

describe("every command", () => {
  it("has help with examples that parse", async () => {
    for (const [name, { examples, flags }] of Object.entries(commands)) {
      const { code, out } = await only(name, "--help");
      expect(code).toBe(0);
      expect(out).toContain("Examples");
      expect((await only("help", name)).out).toBe(out);
      for (const example of examples) {
        const words = /strided (\S+) (.*)/.exec(`${example} `)!;
        const args = [...words[2].matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
        expect(words[1]).toBe(name);
        expect(() => parseArgs(args, flags)).not.toThrow();
      }
    }
  });

  it("the general help and version", async () => {
    expect((await only("--help")).out).toMatchInlineSnapshot(`
      "strided: tensors in files, and what kernels become

      strided COMMAND …

        info     what is in a file: tensors, dtypes, shapes, bytes, metadata
        show     the elements of a tensor, or of a slice of it
        stats    count, smallest, largest, mean, deviation, zeros, NaN and infinite elements
        diff     how two files differ: largest error, ulps, and where
        convert  tensors of one file into another, in the format its name ends in
        plot     a line, histogram, heat map or scatter plot, in the terminal, as SVG or PNG
        explain  what a kernel is compiled to: program, passes, loops, WebAssembly
        bench    a short benchmark of this machine, beside plain loops
        doctor   what this machine has for strided, and what it reaches
        run      runs a plan of strided/chunked: in processes here, through Redis, or a shard of it
        worker   computes tasks of runs through Redis, until it is stopped
        status   how far a run of a plan is, by what lies in its stores

      strided COMMAND --help says more. A FILE is a path or a URL, or - for standard input.
      Exit codes: 0 all is well, 1 something differs or failed, 2 called in a way that does not exist.
      "
    `);
    expect((await only()).code).toBe(2);
    expect((await only("help")).code).toBe(0);
    expect((await only("--version")).out).toBe("1.2.3\n");
  });

  it("mistakes are exit code 2 and say how it is called; failures are exit code 1", async () => {
    const lines: string[] = [];
    for (const args of [
      ["inf", "x.npy"],
      ["info"],
      ["info", "x.npy", "y.npy"],
      ["info", "x.npy", "--jsn"],
      ["show", "m.st"],
      ["show", "m.st", "weights"],
      ["show", "x.npy", "x", "a:b"],
      ["show", "x.npy", "x", "5"],
      ["show", "x.npy", "--digits"],
      ["show", "x.npy", "--digits", "many"],
      ["show", "x.npy", "--digits", "-1"],
      ["diff", "-", "-"],
      ["diff", "x.npy", "x.npy", "--rtol", "-1"],
      ["stats", "x.npy", "--json=yes"],
      ["info", "missing.npy"],
    ]) {
      const { code, err, out } = await only(...args);
      expect(out).toBe("");
      lines.push(`${code} ${err}`);
    }
    expect(lines.join("")).toMatchInlineSnapshot(`
      "2 strided: there is no command "inf".
        info, show, stats, diff, convert, plot, explain, bench, doctor, run, worker, status
      2 strided info: something is missing.
        strided info FILE [--stats] [--only GLOB] [--json]
      2 strided info: "y.npy" is one word too many.
        strided info FILE [--stats] [--only GLOB] [--json]
      2 strided info: there is no --jsn. Did you mean --json?
        strided info FILE [--stats] [--only GLOB] [--json]
      2 strided show: which of the 5 tensors? There are embed.weight, layer.bias, ids, empty, q:packed.
        strided show FILE [NAME] [SLICE] [--digits N] [--all] [--json]
      2 strided show: there is no tensor "weights". There are embed.weight, layer.bias, ids, empty, q:packed.
        strided show FILE [NAME] [SLICE] [--digits N] [--all] [--json]
      2 strided show: "a:b" is no slice: write it as 0:10,:,::2 or 3,-1.
        strided show FILE [NAME] [SLICE] [--digits N] [--all] [--json]
      1 strided show: slice: index 5 is out of range for axis 0 of size 3.
        Use -3 … 2.
      2 strided show: --digits needs a value: --digits N.
        strided show FILE [NAME] [SLICE] [--digits N] [--all] [--json]
      2 strided show: --digits is "many", not a number.
        strided show FILE [NAME] [SLICE] [--digits N] [--all] [--json]
      2 strided show: --digits is -1: write a number from 1.
        strided show FILE [NAME] [SLICE] [--digits N] [--all] [--json]
      2 strided diff: standard input can be one of the two files.
        strided diff A B [--rtol R] [--atol A] [--only GLOB] [--json]
      2 strided diff: --rtol is -1: write a number from 0.
        strided diff A B [--rtol R] [--atol A] [--only GLOB] [--json]
      2 strided stats: --json takes no value.
        strided stats FILE [NAME] [--only GLOB] [--json]
      1 strided info: open: there is no file "missing.npy".
      "
    `);
  });
});

describe("parts", () => {
  it("patterns, in a time that does not explode", () => {
    expect(["*", "a*", "*c", "a?c", "a*b*c", "abc", "*b*"].every((p) => matches(p, "abc"))).toBe(true);
    expect(["", "a", "?", "b*", "abcd", "a?"].some((p) => matches(p, "abc"))).toBe(false);
    expect(matches(`${"*a".repeat(30)}b`, "a".repeat(3000))).toBe(false);
  });

  it("slices", () => {
    expect(parseSlice("0:10, :, ::2,-1,...,null")).toEqual(["0:10", ":", "::2", -1, "...", null]);
    for (const odd of ["", "a", "1.5", "1:2:3:4", "0;1"]) expect(() => parseSlice(odd)).toThrow(Usage);
  });

  it("words, flags and what follows --", () => {
    const flags = { only: { kind: "list", says: "" }, json: { kind: "flag", says: "" } } as const;
    const parsed = parseArgs(["a", "--only", "x", "--json", "--only=y=z", "-1:", "--", "--json"], flags);
    expect(parsed.words).toEqual(["a", "-1:", "--json"]);
    expect(parsed.list("only")).toEqual(["x", "y=z"]);
  });

  it("columns and bytes", () => {
    expect(
      columns(
        ["a", "bb"],
        [
          ["long", "1"],
          ["é", "22"],
        ],
        [1],
      ),
    ).toEqual(["a     bb", "long   1", "é     22"]);
    expect([0, 999, 1000, 1234567, 2 ** 40].map(bytesText)).toEqual([
      "0 bytes",
      "999 bytes",
      "1.00 kB",
      "1.23 MB",
      "1.10 TB",
    ]);
  });
});
