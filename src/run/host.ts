/** Starting workers, in Node and in browsers. Node's modules are asked for at run time, so bundlers see none. */

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
  readonly Worker: new (url: URL, options: object) => NodeWorker;
}
interface NodeProcess {
  getBuiltinModule?(name: string): unknown;
  readonly versions?: Readonly<Record<string, string | undefined>>;
}

const nodeModule = (name: string): unknown =>
  (globalThis as { process?: NodeProcess }).process?.getBuiltinModule?.(name);
const nodeThreads = (): NodeThreads | undefined =>
  nodeModule("node:worker_threads") as NodeThreads | undefined;

export function cores(): number {
  const os = nodeModule("node:os") as { availableParallelism?(): number } | undefined;
  if (os?.availableParallelism !== undefined) return os.availableParallelism();
  return (globalThis as { navigator?: { hardwareConcurrency?: number } }).navigator?.hardwareConcurrency ?? 1;
}

export function inWorkerThread(): boolean {
  const threads = nodeThreads();
  if (threads !== undefined) return !threads.isMainThread;
  return typeof (globalThis as { importScripts?: unknown }).importScripts === "function";
}

export interface WorkerHandle {
  stop(): void;
  /** Has it ended, for whatever reason? Known at once, though its events wait. null: this host cannot tell. */
  readonly ended: (() => boolean) | null;
}

/** Starts worker.js with this data; null where there are no workers. A worker never keeps the program running. */
export function startWorker(data: object, ended: (why: string) => void): WorkerHandle | null {
  try {
    return tryWorker(data, ended);
  } catch {
    // A host may forbid it, as Node's permission model does.
    return null;
  }
}

function tryWorker(data: object, ended: (why: string) => void): WorkerHandle | null {
  const threads = nodeThreads();
  if (threads !== undefined) {
    const watch = watchOf(threads);
    const worker = new threads.Worker(new URL("./worker.js", import.meta.url), {
      workerData: { ...data, port: watch?.port },
      transferList: watch === null ? [] : [watch.port],
      execArgv: [],
      name: "strided",
    });
    worker.on("error", () => {});
    worker.on("exit", () => ended("a worker thread ended"));
    worker.unref();
    return { stop: () => void worker.terminate(), ended: watch?.ended ?? null };
  }
  if (typeof Worker === "undefined") return null;
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "strided" });
  worker.onerror = () => ended("a worker could not be started");
  worker.postMessage(data);
  return { stop: () => worker.terminate(), ended: null };
}

/**
 * How this thread learns that another has ended without waiting for events: a port that the other holds is closed with
 * it, and then so is the port's other end. Whether one is closed shows when it is to be transferred: a closed port
 * cannot be, any other is received again. Only in Node itself: its imitations may differ here.
 */
function watchOf(threads: NodeThreads): { port: NodePort; ended: () => boolean } | null {
  const { versions } = (globalThis as { process?: NodeProcess }).process ?? {};
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
