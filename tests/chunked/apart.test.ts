/** What a run writes lies apart from what it reads, by whatever name both are called; nothing of a caller's is removed. */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { beyond, readAllow } from "../../src/chunked/engines/worker.ts";
import { prepare } from "../../src/chunked/resume.ts";
import { runBound } from "../../src/chunked/run.ts";
import { allowPlan } from "../../src/chunked/stores.ts";
import { chunked, local, shard } from "../../src/chunked.ts";
import { arange } from "../../src/index.ts";
import { type ZarrSource, zarr } from "../../src/io.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-apart-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const values = async (source: ZarrSource, path?: string) =>
  (await (await zarr.openArray(source, path === undefined ? {} : { path })).read()).toArray();

/** A folder of its own with an array in it. */
async function stored(): Promise<string> {
  const cwd = join(folder, String(made++));
  mkdirSync(cwd);
  await zarr.save(join(cwd, "s.zarr"), arange(6), { chunks: [3] });
  return cwd;
}

describe("a process opens what really lies in its folders", () => {
  it("links out of them are refused, wherever the name says that they lie", async () => {
    const cwd = await stored();
    const [root, elsewhere] = [join(cwd, "plans"), join(cwd, "elsewhere")];
    mkdirSync(root);
    mkdirSync(elsewhere);
    symlinkSync(elsewhere, join(root, "ln"));
    symlinkSync(join(cwd, "nowhere"), join(root, "dangling"));
    symlinkSync(root, join(cwd, "alias"));
    const plan = chunked.full([2], 1, { chunks: [1] }).plan();
    const run = async (to: string, allow: string) => {
      const bound = await plan.toPlan({ to });
      const context = { allow: readAllow("test", [allow]) };
      const shut = beyond(bound, context.allow);
      if (shut.length === 0) return runBound("test", { plan: bound, allow: context.allow }, local(), {});
      await expect(prepare(bound, context)).rejects.toThrow(/is not one that this process may open/);
      return shut;
    };
    const real = (name: string) => join(realpathSync(cwd), name);
    expect(await run(join(root, "ln", "z.zarr"), root)).toEqual([real("elsewhere/z.zarr")]);
    expect(await run(join(root, "ln", "deep", "z.zarr"), root)).toEqual([real("elsewhere/deep/z.zarr")]);
    expect(await run(join(root, "dangling", "z.zarr"), root)).toEqual([join(root, "dangling", "z.zarr")]);
    expect(readdirSync(elsewhere)).toEqual([]);
    // By a link to what is allowed, and what is allowed by a link.
    expect(await run(join(cwd, "alias", "a.zarr"), root)).toMatchObject({ ran: 2 });
    expect(await run(join(root, "b.zarr"), join(cwd, "alias"))).toMatchObject({ ran: 2 });
    expect(await run(join(root, "ln", "c.zarr"), join(root, "ln"))).toMatchObject({ ran: 2 });
    expect(readdirSync(root).sort()).toEqual(["a.zarr", "b.zarr", "dangling", "ln"]);
    expect(readdirSync(elsewhere)).toEqual(["c.zarr"]);
  });
});

describe("a result is not written over an input", () => {
  it("by the same name, by another way there, through a link, or as a URL", async () => {
    const cwd = await stored();
    const at = join(cwd, "s.zarr");
    mkdirSync(join(cwd, "x"));
    symlinkSync(at, join(cwd, "link.zarr"));
    symlinkSync(cwd, join(cwd, "x", "up"));
    const others = [
      at,
      `${at}/`,
      join(cwd, "x", "..", "s.zarr"),
      `${cwd}/x/../s.zarr`,
      join(cwd, "link.zarr"),
    ];
    const urls = [pathToFileURL(at), join(cwd, "x", "up", "s.zarr")];
    const stores = [zarr.folderStore(at), zarr.folderStore(join(cwd, "link.zarr"))];
    for (const to of [...others, ...urls, ...stores]) {
      for (const from of [at, join(cwd, "link.zarr"), zarr.folderStore(at)]) {
        const plan = (await chunked.open(from, {})).add(1).plan();
        for (const overwrite of [true, false])
          await expect(plan.run({ to, overwrite }), String(to)).rejects.toThrow(
            /would be written over an array that the plan reads: input0/,
          );
      }
    }
    expect(await values(at)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("nor into it, nor around it", async () => {
    const cwd = await stored();
    const plan = (await chunked.open(join(cwd, "s.zarr"))).add(1).plan();
    await expect(plan.run({ to: join(cwd, "s.zarr/inner") })).rejects.toThrow(
      /written into an array that the plan reads: input0/,
    );
    await expect(plan.run({ to: cwd, overwrite: true })).rejects.toThrow(
      /written around an array that the plan reads: input0/,
    );
    expect(existsSync(join(cwd, "s.zarr/inner"))).toBe(false);
    await plan.run({ to: join(cwd, "s.zarr.new") });
    expect(await values(join(cwd, "s.zarr.new"))).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("of a store in memory, a Map or a store of one's own, at another path of it", async () => {
    const map = new Map<string, Uint8Array>();
    const own = {
      get: (key: string) => map.get(key),
      set: (key: string, bytes: Uint8Array) => map.set(key, bytes),
    };
    await zarr.save(map, arange(6), { chunks: [3], path: "a" });
    for (const store of [map, own]) {
      const plan = (await chunked.open(store, { path: "a" })).add(1).plan();
      await expect(plan.run({ to: store, overwrite: true })).rejects.toThrow(
        /would be written around an array that the plan reads: input0\./,
      );
    }
    expect(await values(map, "a")).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("of a bucket", async () => {
    const sign = (request: Request) => request;
    const bucket = (prefix: string) => zarr.s3Store("https://host/bucket", { prefix, sign });
    const plan = (await chunked.open(await stored().then((cwd) => join(cwd, "s.zarr")))).add(1).plan();
    const { arrays, ...rest } = await plan.toPlan({ to: bucket("a.zarr") });
    const stores = { ...rest.stores, source0: { kind: "given", name: "source0" } as const };
    for (const [to, from, fact] of [
      [bucket("a.zarr"), bucket("a.zarr"), "over"],
      [bucket("a.zarr"), bucket("a.zarr/b"), "around"],
      [bucket("a b,é.zarr"), zarr.httpStore("https://HOST:443/bucket/a%20b,%C3%A9.zarr/"), "over"],
      [bucket("a b,é.zarr"), zarr.httpStore("https://host/bucket/a b%2Cé.zarr"), "over"],
      [zarr.s3Store("https://host/bucket/a b", { sign }), bucket("a b/c%d"), "around"],
    ] as const) {
      const given = new Map<string, ZarrSource>([
        ["output", to],
        ["source0", from],
      ]);
      const forged = { ...rest, arrays, stores };
      await expect(prepare(forged, { allow: allowPlan(forged, given) }, { overwrite: true })).rejects.toThrow(
        `would be written ${fact} an array that the plan reads: input0, at "https://host/bucket/a`,
      );
    }
  });

  it("by a shard either, and by what lies between operations", async () => {
    const cwd = await stored();
    const at = join(cwd, "s.zarr");
    const plan = (await chunked.open(at)).cumsum({ axis: 0 }).plan();
    await expect(plan.run({ to: at, on: shard(0, 1) })).rejects.toThrow(
      /written over an array that the plan reads: input0/,
    );
    await expect(plan.run({ to: join(cwd, "z.zarr"), work: at })).rejects.toThrow(
      /what lies between operations would be written into an array that the plan reads: input0[\s\S]*another \{ work \}/,
    );
    await expect(plan.run({ to: join(cwd, "z.zarr"), work: join(cwd, "z.zarr") })).rejects.toThrow(
      /what lies between operations would be written into the result/,
    );
    expect(await values(at)).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe("what is not the run's own stays", () => {
  it("a group where the result would be, with overwrite too", async () => {
    const cwd = await stored();
    const group = join(cwd, "group.zarr");
    await zarr.createGroup(group);
    await zarr.save(group, arange(3), { path: "kept" });
    const plan = (await chunked.open(join(cwd, "s.zarr"))).add(1).plan();
    for (const overwrite of [true, false])
      await expect(plan.run({ to: group, overwrite })).rejects.toThrow(/a group of arrays lies where/);
    expect(await values(group, "kept")).toEqual([0, 1, 2]);
  });

  it("a group, or an array without chunks, that is given as the place of work", async () => {
    const cwd = await stored();
    const plan = (await chunked.open(join(cwd, "s.zarr"))).cumsum({ axis: 0 }).plan();
    const group = join(cwd, "group.zarr");
    await zarr.createGroup(group, { attributes: { title: "measured" } });
    await plan.run({ to: join(cwd, "z.zarr"), work: group });
    expect((await zarr.openGroup(group)).attributes).toEqual({ title: "measured" });
    const array = join(cwd, "zeros.zarr");
    await zarr.create(array, { shape: [4], dtype: "f32" });
    const before = readFileSync(join(array, "zarr.json"));
    await expect(plan.run({ to: join(cwd, "y.zarr"), work: array })).rejects.toThrow(/is an array/);
    expect(readFileSync(join(array, "zarr.json"))).toEqual(before);
  });

  it("a file where a folder would be", async () => {
    const cwd = await stored();
    const file = join(cwd, "plain");
    writeFileSync(file, "x");
    const plan = (await chunked.open(join(cwd, "s.zarr"))).add(1).plan();
    await expect(plan.run({ to: file, overwrite: true })).rejects.toThrow(
      /it is a file, not a folder\.\n {2}Give another path/,
    );
    expect(readFileSync(file, "utf8")).toBe("x");
  });

  it("what is no path, and no file URL, is refused as such", async () => {
    const plan = chunked.full([2], 1, { chunks: [1] }).plan();
    const odd = ["", "a\0b", "file:///%E0%A4%A", "file://elsewhere/z.zarr", "file:///a%2Fz.zarr"];
    for (const to of [...odd, new URL("s3://bucket/z.zarr"), new URL("file://elsewhere/z.zarr")])
      await expect(plan.run({ to }), String(to)).rejects.toThrow(
        /^run: (cannot write to|"file:.*" is no file URL)/,
      );
    expect(existsSync("zarr.json")).toBe(false);
  });

  it("a copy of an input is no input", async () => {
    const cwd = await stored();
    cpSync(join(cwd, "s.zarr"), join(cwd, "copy.zarr"), { recursive: true });
    const plan = (await chunked.open(join(cwd, "s.zarr"))).add(1).plan();
    await plan.run({ to: join(cwd, "copy.zarr"), overwrite: true });
    expect(await values(join(cwd, "copy.zarr"))).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

describe("a result has one writer at a time", async () => {
  const plan = (await chunked.open(join(await stored(), "s.zarr"))).mean({ axis: 0 }).plan();
  const others = (cwd: string) => readdirSync(cwd).filter((name) => name !== "s.zarr" && name !== "z.zarr");

  it("a second run is refused at its start, and the first one ends well", async () => {
    for (const resume of [false, true]) {
      const cwd = await stored();
      const to = join(cwd, "z.zarr");
      symlinkSync(cwd, join(cwd, "link"));
      let second: Promise<unknown> | undefined;
      const first = plan.run({
        to,
        progress: () => {
          second ??= plan
            .run({ to: join(cwd, "link", "z.zarr"), resume, overwrite: !resume })
            .catch((error) => error.message);
        },
      });
      expect((await first).ran).toBe(plan.operations.reduce((n, op) => n + op.tasks, 0));
      expect(await second).toMatch(
        /^run: another run writes to ".*z\.zarr": process \d+ on ".*", since .*\.\n {2}Wait for its end, .*z\.zarr\.lock"\.$/,
      );
      expect(await values(to)).toBe(2.5);
      expect(others(cwd)).toEqual(["link"]);
    }
  });

  it("of two that begin together one is refused", async () => {
    const cwd = await stored();
    const runs = [1, 2, 3, 4].map(() => plan.run({ to: join(cwd, "z.zarr") }));
    const ends = await Promise.allSettled(runs);
    expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const end of ends)
      if (end.status === "rejected") expect(String(end.reason)).toMatch(/another run writes|lies already/);
    expect(await values(join(cwd, "z.zarr"))).toBe(2.5);
    expect(others(cwd)).toEqual([]);
  });

  it("one that is gone keeps nobody out, and one of elsewhere only whoever does not resume", async () => {
    const gone = spawnSync(process.execPath, ["-e", ""]).pid;
    const since = new Date().toISOString();
    const [host, born] = [hostname(), ""];
    const leftBy = async (holder: unknown) => {
      const cwd = await stored();
      writeFileSync(join(cwd, "z.zarr.lock"), typeof holder === "string" ? holder : JSON.stringify(holder));
      return cwd;
    };
    for (const holder of [
      { pid: gone, host, born, since },
      { pid: process.pid, host, born: "1", since },
    ]) {
      const cwd = await leftBy(holder);
      await plan.run({ to: join(cwd, "z.zarr") });
      expect(others(cwd)).toEqual([]);
    }
    const far = await leftBy({ pid: gone, host: "elsewhere", born, since });
    await expect(plan.run({ to: join(far, "z.zarr") })).rejects.toThrow(/process \d+ on "elsewhere"/);
    await plan.run({ to: join(far, "z.zarr"), resume: true });
    expect(others(far)).toEqual([]);
    const odd = await leftBy("{");
    await expect(plan.run({ to: join(odd, "z.zarr") })).rejects.toThrow(/If it is gone, remove ".*lock"/);
    const file = join(odd, "plain");
    writeFileSync(file, "");
    await expect(plan.run({ to: join(file, "z.zarr") })).rejects.toThrow(/no folder|not a folder/);
    mkdirSync(join(odd, "y.zarr.lock"));
    symlinkSync(join(odd, "nowhere"), join(odd, "x.zarr.lock"));
    for (const name of ["y.zarr", "x.zarr"])
      await expect(plan.run({ to: join(odd, name) })).rejects.toThrow(/another run writes to/);
  });

  it("runs that fail or are refused give it back", async () => {
    const cwd = await stored();
    const to = join(cwd, "z.zarr");
    const broken = { name: "broken", run: () => Promise.reject(new Error("broken")) };
    await expect(plan.run({ to, on: broken })).rejects.toThrow("broken");
    expect(others(cwd).filter((name) => name.endsWith(".lock"))).toEqual([]);
    await expect(plan.run({ to })).rejects.toThrow(/lies already/);
    await plan.run({ to, resume: true });
    expect(others(cwd)).toEqual([]);
  });
});
