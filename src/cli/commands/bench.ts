/** `strided bench`: a short benchmark of this machine. */
import { availableParallelism, cpus, loadavg } from "node:os";
import { engine } from "../../engine.ts";
import { short } from "../../plot/scale.ts";
import { benchmark, type Row } from "../bench.ts";
import { type Command, help, json } from "../command.ts";
import { jsonText, Progress, Usage } from "../host.ts";
import { columns } from "../table.ts";

export const bench: Command = {
  usage: "[--size N] [--rounds N] [--json]",
  says: "a short benchmark of this machine, beside plain loops",
  more:
    "Each workload is checked against a loop over typed arrays, then both take turns; medians are shown. Times belong to the\n" +
    "machine of the day, ratios less so: on a machine that is busy neither is worth much, and it says so.",
  flags: {
    size: { kind: "number", value: "N", says: "rows and columns of the matrices; default 2048" },
    rounds: { kind: "number", value: "N", says: "turns of each; default 11" },
    json,
    help,
  },
  examples: ["strided bench", "strided bench --size 4096 --json"],
  words: [0, 0],
  run: async (args, host) => {
    const [size, rounds] = [args.number("size") ?? 2048, args.number("rounds") ?? 11];
    for (const [name, x, least, most] of [
      ["size", size, 16, 16384],
      ["rounds", rounds, 1, 1000],
    ] as const) {
      if (!Number.isInteger(x) || x < least || x > most)
        throw new Usage(`--${name} is ${x}: a whole number from ${least} to ${most}.`);
    }
    engine().pool.waitUntilReady();
    const machine = {
      processor: `${cpus()[0]?.model ?? "unknown"}, ${availableParallelism()} cores`,
      runtime: `Node ${process.version}, V8 ${process.versions.v8}`,
      strided: `${host.version}, ${engine().pool.status().threads} threads`,
      load: loadavg()[0],
    };
    const isJson = args.flag("json");
    const isBusy = machine.load > availableParallelism() / 2;
    if (!isJson) {
      host.out([machine.processor, machine.runtime, `strided ${machine.strided}`].join("\n"));
      if (isBusy)
        host.out(`The machine is busy (load ${machine.load.toFixed(1)}): do not trust what follows.`);
    }
    const rows: Row[] = [];
    const progress = new Progress(host, 5);
    try {
      progress.step("");
      for (const row of benchmark(size, rounds, 8)) {
        rows.push(row);
        progress.step(row.name);
      }
    } finally {
      progress.end();
    }
    if (isJson) {
      host.out(jsonText({ ...machine, busy: isBusy, size, rounds, rows }));
      return 0;
    }
    const cells = rows.map((r) => [
      r.name,
      `${short(r.strided)} ms`,
      `±${Math.round(50 * r.spread)}%`,
      `${short(r.rate, 3)} ${r.unit}`,
      `${short(r.loop)} ms`,
      `${r.ratio.toFixed(1)}×`,
    ]);
    const titles = [`${size} × ${size}`, "strided", "", "", "loop", "as fast as the loop"];
    host.out(["", ...columns(titles, cells, [1, 2, 3, 4, 5])].join("\n"));
    return 0;
  },
};
