/** HDF5 by h5wasm, where it is installed: what h5py wrote is what we read; and what happens where it is not. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { memory, type SliceItem, TensorError } from "../../src/index.ts";
import { hdf5, open } from "../../src/io.ts";
import { load } from "../interop/packages.ts";
import { bytesOf, type Fact, factOf, pathOf } from "./fixtures.ts";

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

const h5wasm = await load("h5wasm");
const facts = JSON.parse(readFileSync(pathOf("all.h5.json"), "utf8")) as Record<string, Fact>;

describe("without h5wasm", () => {
  it("a module that is none is told", async () => {
    const ready = Promise.reject(new Error("no memory"));
    ready.catch(() => {});
    const broken = { ready, File: class {} };
    const at = pathOf("all.h5");
    expect(await refusal(hdf5.open(at, { peers: { h5wasm: broken } }))).toMatch(
      /h5wasm cannot read it: no memory/,
    );
    expect(await refusal(hdf5.open(at, { peers: { h5wasm: {} } }))).toMatch(
      /what was given as h5wasm is not its module/,
    );
  });
  it("a file that is too long is refused before it is read", async () => {
    expect(await refusal(hdf5.open(pathOf("all.h5"), { limit: 1000 }))).toMatch(
      /it has \d+ bytes, and would be held in memory/,
    );
    expect(await refusal(hdf5.open(pathOf("all.h5"), { milliseconds: "1" as never }))).toMatch(
      /milliseconds is the string "1"/,
    );
  });
});

describe.skipIf(h5wasm === null)("hdf5", () => {
  const peers = { h5wasm };

  it("lists datasets, groups and attributes; cycles of groups end", async () => {
    const file = await open(pathOf("all.h5"), { peers });
    expect(file.format).toBe("hdf5");
    const names = file.entries.filter((e) => e.dtype !== null).map((e) => e.name);
    expect(names.filter((name) => name !== "link").sort()).toEqual(Object.keys(facts).sort());
    expect(file.meta.groups).toEqual(["group", "group/inner", "group/inner/back"]);
    const attributes = file.meta.attributes as Record<string, object>;
    expect({ ...attributes["/"] }).toEqual({ title: "fixtures" });
    expect({ ...attributes["group/inner/chunked"] }).toEqual({ unit: "m/s", scale: 0.5, offsets: [1, 2, 3] });
    expect(await refusal(file.read("text"))).toMatch(
      /entry "text": elements of type string have no dtype here/,
    );
    expect(await refusal(file.read("nothing"))).toMatch(/it has no elements/);
    expect(await refusal(file.read("outside"))).toMatch(/there is no entry "outside"/);
  });

  it("reads every dtype, chunked and packed ones too", async () => {
    const all = await hdf5.load(bytesOf("all.h5"), { peers });
    for (const [name, fact] of Object.entries(facts)) expect(factOf(all[name]), name).toEqual(fact);
    expect(factOf(all.link)).toEqual(facts["group/inner/gzip"]);
    for (const t of Object.values(all)) t.dispose();
  });

  it("reads a box alone, and takes the slice out of it", async () => {
    const file = await hdf5.open(pathOf("all.h5"), { peers });
    const slices: SliceItem[][] = [
      ["3:9", "::-4"],
      [5],
      [":", -1],
      ["::-7", "2:3"],
      [null, "4:4"],
      ["...", "::2"],
    ];
    for (const name of ["group/inner/gzip", "complex", "f2-big"]) {
      const whole = await file.read(name);
      for (const items of slices) {
        let want: unknown;
        try {
          const view = whole.slice(...items);
          want = factOf(view);
          view.dispose();
        } catch {
          continue;
        }
        const part = await file.read(name, items);
        expect(factOf(part), `${name} ${JSON.stringify(items)}`).toEqual(want);
        part.dispose();
      }
      whole.dispose();
    }
  });

  it("keeps to its limits", async () => {
    const file = await hdf5.open(pathOf("all.h5"), { peers, limit: 30_000 });
    (await file.read("group/inner/gzip")).dispose();
    const small = await hdf5.open(bytesOf("all.h5"), { peers, limit: 22_000 });
    expect(small.entries.length).toBeGreaterThan(20);
    expect(await refusal(hdf5.open(pathOf("all.h5"), { peers, milliseconds: 0 }))).toMatch(
      /it takes longer than 0 ms/,
    );
    const stop = new AbortController();
    stop.abort(new Error("enough"));
    await expect(hdf5.open(pathOf("all.h5"), { peers, signal: stop.signal })).rejects.toThrow("enough");
    // A signal of open ended what was read later.
    const later = new AbortController();
    const open = await hdf5.open(pathOf("all.h5"), { peers, signal: later.signal });
    later.abort(new Error("too late"));
    (await open.read("group/inner/gzip")).dispose();
    const gone = open.read("group/inner/gzip", undefined, { signal: stop.signal });
    await expect(gone).rejects.toThrow("enough");
  });

  it("damaged files are an error in our words, and nothing is printed or left behind", async () => {
    const good = bytesOf("all.h5");
    expect(await refusal(hdf5.open(good.slice(0, 700), { peers }))).toMatch(
      /^hdf5\.open: the bytes: HDF5's library cannot read it: \w/,
    );
    expect(await refusal(hdf5.open(new Uint8Array(100), { peers }))).toMatch(
      /does not begin as an HDF5 file/,
    );
    let [refused, seed] = [0, 1];
    for (let round = 0; round < 60; round++) {
      const bytes = good.slice();
      for (let k = 0; k < 8; k++) {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        bytes[200 + (seed % (bytes.length - 200))] = seed >>> 24;
      }
      try {
        const all = await hdf5.load(bytes, { peers, limit: 1e6 });
        for (const t of Object.values(all)) t.dispose();
      } catch (error) {
        expect(error).toBeInstanceOf(TensorError);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(0);
    const { FS } = await h5wasm.ready;
    expect(FS.readdir("/").filter((name: string) => name.startsWith("strided-"))).toEqual([]);
  });
});
