/** Starting workers, in Node and in browsers. Node's modules are asked for at run time, so bundlers see none. */

interface NodeWorker {
  on(event: string, listener: (value: unknown) => void): void;
  unref(): void;
  terminate(): Promise<number>;
}
interface NodeThreads {
  readonly isMainThread: boolean;
  readonly Worker: new (url: URL, options: object) => NodeWorker;
}
interface NodeProcess {
  getBuiltinModule?(name: string): unknown;
  readonly versions?: { readonly node?: string };
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
    const worker = new threads.Worker(new URL("./worker.js", import.meta.url), {
      workerData: data,
      execArgv: [],
      name: "strided",
    });
    worker.on("error", () => {});
    worker.on("exit", () => ended("a worker thread ended"));
    worker.unref();
    return { stop: () => void worker.terminate() };
  }
  if (typeof Worker === "undefined") return null;
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "strided" });
  worker.onerror = () => ended("a worker could not be started");
  worker.postMessage(data);
  return { stop: () => worker.terminate() };
}
