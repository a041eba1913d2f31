/**
 * What a call costs when the work is small, of two builds that take turns in one process:
 *
 *     node bench/lab/dispatch.mjs dist/node other/dist/node
 *
 * Nanoseconds of this process a call, medians; the last column is the second build's time over the first's.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folders = process.argv.slice(2, 4);
if (folders.length < 2) throw new Error("give two folders with an index.js");
const builds = await Promise.all(
  folders.map((folder) => import(pathToFileURL(resolve(folder, "index.js")).href)),
);

/** Calls by name; each makes what it needs and gives back one call. */
const cases = {
  "add into, 64²": (s) => {
    const add = s.kernel((a, b) => a + b);
    const [a, b, out] = [s.ones([64, 64]), s.ones([64, 64]), s.ones([64, 64])];
    return () => add.into(out, a, b);
  },
  "add, allocating, 64²": (s) => {
    const [a, b] = [s.ones([64, 64]), s.ones([64, 64])];
    return () => a.add(b).dispose();
  },
  "add into, out option, 64²": (s) => {
    const [a, b, out] = [s.ones([64, 64]), s.ones([64, 64]), s.ones([64, 64])];
    return () => a.add(b, { out });
  },
  "add of 10": (s) => {
    const [a, b, out] = [s.ones([10]), s.ones([10]), s.ones([10])];
    return () => s.add(a, b, { out });
  },
  "a + row, 16²": (s) => {
    const [a, b] = [s.ones([16, 16]), s.ones([16])];
    return () => a.add(b).dispose();
  },
  "mul(2) of a dense tensor, 16²": (s) => {
    const a = s.ones([16, 16]);
    return () => a.mul(2).dispose();
  },
  "mul(v) of a view": (s) => {
    const v = s.ones([16, 16]).slice(":", "::2");
    return () => v.mul(v).dispose();
  },
  "mul(2) of a view": (s) => {
    const v = s.ones([16, 16]).slice(":", "::2");
    return () => v.mul(2).dispose();
  },
  "map with captures": (s) => {
    const v = s.ones([16, 16]);
    return () => v.map((x, { k }) => x * k, { with: { k: 1.5 } }).dispose();
  },
  "sum, axis 1, 64²": (s) => {
    const a = s.ones([64, 64]);
    return () => a.sum({ axis: 1 }).dispose();
  },
  "sum, axes in turn, 64²": (s) => {
    const a = s.ones([64, 64]);
    let i = 0;
    return () => a.sum({ axis: i++ & 1 }).dispose();
  },
  "sum of all, 64²": (s) => {
    const a = s.ones([64, 64]);
    return () => a.sum().dispose();
  },
  "add, six shapes in turn": (s) => {
    const all = [10, 20, 30, 40, 50, 60].map((n) => s.ones([n, 4]));
    let i = 0;
    return () => all[i++ % 6].add(all[(i - 1) % 6]).dispose();
  },
  "add, 1,000 shapes in turn": (s) => {
    const all = Array.from({ length: 1000 }, (_, n) => s.ones([n + 1]));
    let i = 0;
    return () => {
      const t = all[i++ % 1000];
      t.add(t).dispose();
    };
  },
  "v.add(v), 1,000 shapes in turn": (s) => {
    const all = Array.from({ length: 1000 }, (_, n) => s.ones([n + 1, 2]).slice(":", 0));
    let i = 0;
    return () => {
      const t = all[i++ % 1000];
      t.add(t).dispose();
    };
  },
  "kernel.reduce of 4,096": (s) => {
    const dot = s.kernel((a, b) => a * b).reduce("sum");
    const [a, b] = [s.ones([4096]), s.ones([4096])];
    return () => dot(a, b).dispose();
  },
  "map then sum of 4,096": (s) => {
    const mul = s.kernel((a, b) => a * b);
    const [a, b] = [s.ones([4096]), s.ones([4096])];
    return () => {
      const t = mul(a, b);
      t.sum().dispose();
      t.dispose();
    };
  },
  "copy of a view, 26 × 4": (s) => {
    const v = s.ones([26, 8]).slice(":", "::2");
    const out = s.ones([26, 4]);
    return () => out.assign(v);
  },
  "clone, 16²": (s) => {
    const a = s.ones([16, 16]);
    return () => a.clone().dispose();
  },
  "to f64, 16²": (s) => {
    const a = s.ones([16, 16]);
    return () => a.to("f64").dispose();
  },
  "matmul 8²": (s) => {
    const [a, b] = [s.ones([8, 8]), s.ones([8, 8])];
    return () => a.matmul(b).dispose();
  },
  "matmul 8², two shapes": (s) => {
    const [a, b, c] = [s.ones([8, 8]), s.ones([8, 8]), s.ones([8, 4])];
    let i = 0;
    return () => a.matmul(i++ & 1 ? b : c).dispose();
  },
  "cumsum of 100": (s) => {
    const a = s.ones([100]);
    return () => a.cumsum().dispose();
  },
  "argmax, axis 1, 16²": (s) => {
    const a = s.ones([16, 16]);
    return () => a.argmax({ axis: 1 }).dispose();
  },
  "std, axis 1, 16²": (s) => {
    const a = s.ones([16, 16]);
    return () => a.std({ axis: 1 }).dispose();
  },
  "softmax, axis 0, 16²": (s) => {
    const a = s.ones([16, 16]);
    return () => s.softmax(a, { axis: 0 }).dispose();
  },
};

const only = process.argv[4];
const median = (x) => x.sort((p, q) => p - q)[x.length >> 1];
for (const [name, make] of Object.entries(cases)) {
  if (only !== undefined && !name.includes(only)) continue;
  const runs = builds.map(make);
  try {
    for (const run of runs) for (let i = 0; i < 20_000; i++) run();
  } catch (error) {
    console.log(name.padEnd(34), error.message.split("\n")[0]);
    continue;
  }
  const calls = 5000;
  const times = runs.map(() => []);
  for (let turn = 0; turn < 40; turn++) {
    // Who goes first changes: what one leaves behind, the other finds.
    for (const k of turn % 2 === 0 ? [0, 1] : [1, 0]) {
      const run = runs[k];
      const start = process.cpuUsage().user;
      for (let i = 0; i < calls; i++) run();
      times[k].push(((process.cpuUsage().user - start) / calls) * 1e3);
    }
  }
  const [a, b] = times.map(median);
  console.log(
    name.padEnd(34),
    a.toFixed(0).padStart(7),
    b.toFixed(0).padStart(7),
    (b / a).toFixed(2).padStart(6),
  );
}
