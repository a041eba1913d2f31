/**
 * The parent's side of a contestant's process. Out of its turn a child is stopped by the system, so that neither its
 * spinning threads nor its compiler can disturb the others.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { type BlasKernels, blasEnvironment, blasKernels } from "../openblas.ts";
import { benchFolder, type Contestant, programOf } from "./contestants.ts";
import type { Command, Reply } from "./protocol.ts";
import type { About } from "./types.ts";

export interface Builds {
  /** The bundled child.ts. */
  readonly child: string;
  /** The folder of strided's built files. */
  readonly strided: string;
}

const kernels = new Map<string, BlasKernels>();
/** OpenBLAS at its best, whether or not it knows the processor. */
function bestKernels(python: string): BlasKernels {
  let best = kernels.get(python);
  if (best === undefined) {
    [best] = blasKernels(python);
    kernels.set(python, best);
  }
  return best;
}

const canStop = process.platform !== "win32";

export class Peer {
  readonly contestant: Contestant;
  readonly #builds: Builds;
  #child: ChildProcess | null = null;
  #waiting: ((reply: Reply) => void) | null = null;
  #stderr = "";
  about: About | null = null;

  constructor(contestant: Contestant, builds: Builds) {
    this.contestant = contestant;
    this.#builds = builds;
  }

  get running(): boolean {
    return this.#child !== null;
  }

  /** Starts the process and loads the library; the answer says what went wrong, if anything did. */
  async start(first?: Extract<Command, { do: "start" }>["first"]): Promise<Reply> {
    const program = programOf(this.contestant);
    if ("missing" in program) return { missing: program.missing };
    this.#spawn(program.path);
    const { adapter } = this.contestant;
    const reply = await this.ask(
      { do: "start", adapter, ...(first === undefined ? {} : { first }) },
      120_000,
    );
    if (reply.about !== undefined) this.about = reply.about;
    return reply;
  }

  #spawn(path: string): void {
    const { runtime, threads, turbo, build } = this.contestant;
    const script = runtime === "python" ? [`${benchFolder}/peers/python/child.py`] : [this.#builds.child];
    const env = {
      ...process.env,
      ...(runtime === "python" ? blasEnvironment(bestKernels(path)) : {}),
      BENCH_THREADS: String(threads),
      STRIDED_THREADS: String(threads),
      BENCH_STRIDED: build ?? this.#builds.strided,
      BENCH_TURBO: turbo ? "1" : "0",
      PYTHONDONTWRITEBYTECODE: "1",
      BENCH_MODULES: `${benchFolder}/node_modules`,
    };
    const child = spawn(path, script, { env, stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"] });
    this.#child = child;
    this.#stderr = "";
    child.stderr!.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-2000);
    });
    // A child that dies breaks its pipe; the exit below says so.
    (child.stdio[3] as Writable).on("error", () => {});
    createInterface({ input: child.stdio[4] as Readable }).on("line", (line) => {
      this.#settle(JSON.parse(line) as Reply);
    });
    const gone = (why: string) => {
      if (this.#child !== child) return;
      this.#child = null;
      this.#settle({ error: `the process ended (${why}): ${lastLine(this.#stderr)}` });
    };
    child.on("exit", (code, signal) => gone(signal ?? `code ${code}`));
    child.on("error", (error) => gone(error.message));
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.(reply);
  }

  ask(command: Command, limit = 60_000): Promise<Reply> {
    const child = this.#child;
    if (child === null) return Promise.resolve({ error: "the process is not running" });
    this.resume();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.end();
        this.#settle({ error: `no answer within ${limit / 1000} s` });
      }, limit);
      this.#waiting = (reply) => {
        clearTimeout(timer);
        resolve(reply);
      };
      (child.stdio[3] as Writable).write(`${JSON.stringify(command)}\n`);
    });
  }

  pause(): void {
    if (canStop) this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    if (canStop) this.#child?.kill("SIGCONT");
  }

  end(): void {
    const child = this.#child;
    this.#child = null;
    child?.kill("SIGKILL");
  }
}

function lastLine(text: string): string {
  const lines = text
    .trim()
    .split("\n")
    .map((line) => line.trim());
  return (lines.findLast((line) => /error|abort|memory/i.test(line)) ?? lines.at(-1) ?? "").slice(0, 200);
}
