/** Watches over hostile calls from another thread: one that never ends would otherwise end in silence. */
import { Worker } from "node:worker_threads";
import { watch } from "./hostile.ts";

/** Ends the process, naming the case, when one takes longer than this. Gives back what stops the watching. */
export async function startWatchdog(milliseconds = 60_000): Promise<() => Promise<unknown>> {
  const buffer = new SharedArrayBuffer(8 + 4096);
  const counter = new Int32Array(buffer, 0, 2);
  const bytes = new Uint8Array(buffer, 8);
  const encoder = new TextEncoder();
  watch((line) => {
    const encoded = encoder.encode(line).subarray(0, bytes.length);
    bytes.set(encoded);
    Atomics.store(counter, 1, encoded.length);
    Atomics.add(counter, 0, 1);
  });
  const worker = new Worker(new URL("./watchdog.js", import.meta.url), {
    workerData: { buffer, milliseconds },
  });
  // A thread begins only while this one is idle.
  await new Promise((resolve) => worker.once("message", resolve));
  worker.unref();
  return () => worker.terminate();
}
