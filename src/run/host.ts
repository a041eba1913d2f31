/**
 * What the host gives: cores, its environment, and workers, in Node and its like and in browsers. Node's modules are asked
 * for at run time, so bundlers see none. Where to find a worker's code is the one thing that differs between a package, a
 * bundle and a page with a policy: see `startWorker`.
 */
import { workerText } from "./worker-text.ts";

interface NodeWorker {
  on(event: string, listener: (value: unknown) => void): void;
  unref(): void;
  terminate(): Promise<number>;
}
interface NodePort {
  postMessage(value: unknown, transfer: readonly unknown[]): void;
}
interface NodeThreads {
  readonly isMainThread: boolean;
  readonly MessageChannel: new () => { readonly port1: NodePort; readonly port2: NodePort };
  receiveMessageOnPort(port: NodePort): { readonly message: unknown } | undefined;
  readonly Worker: new (code: string, options: object) => NodeWorker;
}
interface NodeProcess {
  getBuiltinModule?(name: string): unknown;
  readonly versions?: Readonly<Record<string, string | undefined>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
}
interface DenoPermissions {
  querySync?(wanted: { readonly name: "env"; readonly variable: string }): { readonly state: string };
}

const nodeProcess = (): NodeProcess | undefined => (globalThis as { process?: NodeProcess }).process;
const nodeModule = (name: string): unknown => nodeProcess()?.getBuiltinModule?.(name);
const nodeThreads = (): NodeThreads | undefined =>
  nodeModule("node:worker_threads") as NodeThreads | undefined;

/** How many threads this machine runs at once. */
export function cores(): number {
  const { navigator } = globalThis as { navigator?: { hardwareConcurrency?: number } };
  try {
    const os = nodeModule("node:os") as { availableParallelism?(): number } | undefined;
    if (os?.availableParallelism !== undefined) return os.availableParallelism();
  } catch {
    // A host may keep it to itself.
  }
  return navigator?.hardwareConcurrency ?? 1;
}

/**
 * A variable of the environment; undefined where there is none, or where reading it is not allowed. Deno is asked first
 * whether it is: to read without permission would throw, or stop the program with a question.
 */
export function environment(name: string): string | undefined {
  const { Deno } = globalThis as { Deno?: { readonly permissions?: DenoPermissions } };
  try {
    const permission = Deno?.permissions?.querySync?.({ name: "env", variable: name });
    if (permission !== undefined && permission.state !== "granted") return undefined;
    return nodeProcess()?.env?.[name];
  } catch {
    return undefined;
  }
}

/**
 * Is this one of Node's worker threads? They usually come in numbers, one a core, and each would start as many again. A
 * Web Worker is not meant: it is where a page does its heavy work.
 */
export function inWorkerThread(): boolean {
  return nodeThreads()?.isMainThread === false;
}

export interface WorkerHandle {
  stop(): void;
  /** Has it ended, for whatever reason? Known at once, though its events wait. null: this host cannot tell. */
  readonly ended: (() => boolean) | null;
}

/**
 * Starts strided-worker.js with this data; or says why none can be started. A worker never keeps the program running.
 *
 * Node takes the worker's text, so it needs no file: not from a bundle, not from a test runner's sandbox. A page takes the
 * file that bundlers put beside the code, since a policy may allow nothing else; where the file is missing, comes from
 * another origin or lacks a header, it takes the text as a blob.
 */
export function startWorker(data: object, ended: (why: string) => void): WorkerHandle | string {
  const threads = nodeThreads();
  try {
    if (threads !== undefined) return startThread(threads, data, ended);
    return startWebWorker(data, ended);
  } catch (error) {
    // A host may forbid it, as Node's permission model does.
    return `this host starts no workers (${error instanceof Error ? error.message : String(error)})`;
  }
}

function startThread(threads: NodeThreads, data: object, ended: (why: string) => void): WorkerHandle {
  const watch = watchOf(threads);
  const worker = new threads.Worker(workerText, {
    eval: true,
    workerData: { ...data, port: watch?.port },
    transferList: watch === null ? [] : [watch.port],
    execArgv: [],
    name: "strided",
  });
  let why = "a worker thread ended";
  worker.on("error", (error) => {
    why = `a worker thread ended (${error instanceof Error ? error.message : String(error)})`;
  });
  worker.on("exit", () => ended(why));
  worker.unref();
  return { stop: () => void worker.terminate(), ended: watch?.ended ?? null };
}

/** Ways to a worker in a page, the best first. Each may throw, fail later or stay silent: then the next has its turn. */
const ways: readonly (() => Worker)[] = [
  // Bundlers know this expression as it stands, and take the file along.
  () => new Worker(new URL("./strided-worker.js", import.meta.url), { type: "module", name: "strided" }),
  () => new Worker(blobUrl(), { name: "strided" }),
];

/** A worker that has not answered after so many milliseconds is given up: what came may be anything but our file. */
const SILENCE_MS = 10_000;
/** A page that was busy all the while sees its clock before its messages: they get this long. */
const GRACE_MS = 200;

const NO_WAY =
  "no worker could be started, neither from strided-worker.js beside the code nor from a blob: URL " +
  "(the page's Content-Security-Policy may forbid them: worker-src)";

function startWebWorker(data: object, ended: (why: string) => void): WorkerHandle | string {
  if (typeof Worker === "undefined") return "this host has no workers";
  let current: Worker | null = null;
  let isStopped = false;
  const start = (way: number): boolean => {
    for (let i = way; i < ways.length; i++) {
      try {
        current = ways[i]();
      } catch {
        continue;
      }
      const worker = current;
      let isSilent = true;
      const next = () => {
        if (!isSilent || isStopped) return;
        isSilent = false;
        worker.terminate();
        if (!start(i + 1)) ended(NO_WAY);
      };
      worker.onmessage = ({ data }) => {
        if (data === "strided") isSilent = false;
      };
      worker.onerror = (event) => {
        // What is dealt with here needs no line in the console.
        event.preventDefault?.();
        if (isSilent) next();
        else ended("a worker ended");
      };
      setTimeout(() => setTimeout(next, GRACE_MS), SILENCE_MS);
      worker.postMessage(data);
      return true;
    }
    return false;
  };
  if (!start(0)) return NO_WAY;
  const stop = () => {
    isStopped = true;
    current?.terminate();
  };
  return { stop, ended: null };
}

let blob: string | undefined;

/** One for all workers, and for as long as the page lives: they may be asked for at any time. */
function blobUrl(): string {
  blob ??= URL.createObjectURL(new Blob([workerText], { type: "text/javascript" }));
  return blob;
}

/**
 * How this thread learns that another has ended without waiting for events: a port that the other holds is closed with
 * it, and then so is the port's other end. Whether one is closed shows when it is to be transferred: a closed port
 * cannot be, any other is received again. Only in Node itself: its imitations may differ here.
 */
function watchOf(threads: NodeThreads): { port: NodePort; ended: () => boolean } | null {
  const versions = nodeProcess()?.versions;
  if (versions?.node === undefined || versions.deno !== undefined || versions.bun !== undefined) return null;
  const { port1, port2 } = new threads.MessageChannel();
  const loop = new threads.MessageChannel();
  let near = port1;
  return {
    port: port2,
    ended: () => {
      // Takes note of the other end's closing, if it has come.
      threads.receiveMessageOnPort(near);
      try {
        loop.port1.postMessage(near, [near]);
      } catch {
        return true;
      }
      near = threads.receiveMessageOnPort(loop.port2)?.message as NodePort;
      return false;
    },
  };
}
