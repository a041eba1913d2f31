/**
 * A thread that ends the process when one call takes too long, and says which: a loop without an end can be stopped from
 * outside only. Memory: the number of calls begun, the length of the line, the line.
 */
import { writeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";

const { buffer, milliseconds } = workerData;
const [counter, bytes] = [new Int32Array(buffer, 0, 2), new Uint8Array(buffer, 8)];

parentPort?.postMessage("watching");
let seen = -1;
let since = Date.now();
setInterval(() => {
  const now = Atomics.load(counter, 0);
  const length = Atomics.load(counter, 1);
  if (now !== seen || length === 0) {
    seen = now;
    since = Date.now();
  } else if (Date.now() - since > milliseconds) {
    const line = new TextDecoder().decode(bytes.slice(0, length));
    writeSync(2, `\nhostile: this call does not end:\n  ${line}\n`);
    process.kill(process.pid, "SIGKILL");
  }
}, 500);
