/** `strided worker`: computes tasks that come through a queue. */
import { availableParallelism } from "node:os";
import { serveQueue } from "../../chunked/engines/worker.ts";
import { showBytes } from "../../chunked/memory.ts";
import { type Command, given, help } from "../command.ts";
import { plainLines, Usage } from "../host.ts";
import { allow, attempts, lock, queue, timeLimit } from "../plans.ts";

export const worker: Command = {
  usage: "REDIS-URL --root DIR [--allow DIR|URL] [--workers N]",
  says: "computes tasks of runs through Redis, until it is stopped",
  more: `Plans are the .json files of --root, each checked against its hash: a message names a task of one of them, and nothing
else. Only --root and what --allow names is opened.`,
  flags: {
    root: { kind: "text", value: "DIR", says: "the folder of the plans; what lies in it may be opened, too" },
    allow,
    workers: { kind: "number", value: "N", says: "processes that compute; default one a core" },
    memory: {
      kind: "text",
      value: "BYTES",
      says: "that one of them may use: 1GiB; default what the plan says",
    },
    queue,
    lock,
    attempts,
    "time-limit": timeLimit,
    quiet: { kind: "flag", says: "says only what was refused" },
    help,
  },
  examples: [
    "strided worker redis://10.0.0.5:6379 --root /data",
    "strided worker redis://10.0.0.5:6379 --root plans --allow /data --allow https://host/measured/ --workers 4",
  ],
  words: [1, 1],
  run: async (args, host) => {
    const root = args.text("root");
    if (root === undefined)
      throw new Usage("--root is needed: the folder of the plans. Messages of a queue choose no files.");
    if (!host.exists(root)) throw new Usage(`there is no folder ${JSON.stringify(root)}.`);
    const signal = host.interrupted?.() ?? new AbortController().signal;
    const say = (text: string) => {
      if (!args.flag("quiet")) host.err(`${text}\n`);
    };
    let [tasks, bytes] = [0, 0];
    const tell = setInterval(() => {
      if (tasks > 0) say(`${tasks} tasks, ${showBytes(bytes)}`);
      [tasks, bytes] = [0, 0];
    }, 10_000);
    tell.unref();
    try {
      await serveQueue({
        connection: args.words[0],
        root,
        allow: args.list("allow"),
        workers: args.number("workers") ?? availableParallelism(),
        signal,
        onReady: () => say("ready"),
        onRefused: (reason) => host.err(`refused: ${plainLines(reason)}\n`),
        onDone: ({ read, written }) => {
          tasks++;
          bytes += read + written;
        },
        ...given({
          memory: args.text("memory"),
          queue: args.text("queue"),
          lock: args.number("lock"),
          attempts: args.number("attempts"),
          timeLimit: args.number("time-limit"),
        }),
      });
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      clearInterval(tell);
    }
    say("stopped");
    return 0;
  },
};
