/**
 * What a worker thread does: waits for a job, takes its tasks one by one, goes back to waiting. Plain JavaScript without
 * imports, so that Node, browsers and bundlers can start it as it is. The protocol is in pool.ts.
 *
 * @typedef {{ memory: WebAssembly.Memory, control: Int32Array, id: number }} Start
 */

/** Words of the control block; pool.ts has the same names. */
const EPOCH = 0;
const TICKET = 1;
const COMPLETED = 2;
const SLEEPING = 3;
const READY = 4;
const FAILED = 5;
const KERNEL = 6;
const CODE = 7;
const CODE_BYTES = 8;
const DESCRIPTORS = 9;
const DESCRIPTOR_BYTES = 10;
const TASKS = 11;
const SPIN = 12;
/** One word a worker: the task it is at, plus one. */
const AT = 16;

const INDEX_BITS = 10;
const INDEX_MASK = (1 << INDEX_BITS) - 1;

/** @param {Start} start */
function work({ memory, control, id }) {
  /** @type {Map<number, (descriptor: number) => void>} */
  const kernels = new Map();

  /** The kernel of the job: compiled from the bytes that lie in shared memory, once. */
  const kernelFor = (
    /** @type {number} */ number,
    /** @type {number} */ code,
    /** @type {number} */ bytes,
  ) => {
    let run = kernels.get(number);
    if (run === undefined) {
      const copy = new Uint8Array(bytes);
      copy.set(new Uint8Array(memory.buffer, code, bytes));
      const instance = new WebAssembly.Instance(new WebAssembly.Module(copy), { e: { m: memory } });
      run = /** @type {(descriptor: number) => void} */ (instance.exports.run);
      kernels.set(number, run);
    }
    return run;
  };

  const takeTasks = (/** @type {number} */ epoch) => {
    const number = Atomics.load(control, KERNEL);
    const code = Atomics.load(control, CODE) >>> 0;
    const bytes = Atomics.load(control, CODE_BYTES);
    const descriptors = Atomics.load(control, DESCRIPTORS) >>> 0;
    const step = Atomics.load(control, DESCRIPTOR_BYTES);
    const tasks = Atomics.load(control, TASKS);
    /** @type {((descriptor: number) => void) | null} */
    let run = null;
    for (;;) {
      const ticket = Atomics.load(control, TICKET);
      const index = ticket & INDEX_MASK;
      // Another epoch's ticket means that what was read above may be of two jobs: leave it.
      if (ticket >>> INDEX_BITS !== (epoch & (0xffffffff >>> INDEX_BITS)) || index >= tasks) return;
      if (Atomics.compareExchange(control, TICKET, ticket, ticket + 1) !== ticket) continue;
      Atomics.store(control, AT + id, index + 1);
      try {
        run ??= kernelFor(number, code, bytes);
        run(descriptors + index * step);
      } catch {
        Atomics.store(control, FAILED, id + 1);
      }
      Atomics.store(control, AT + id, 0);
      Atomics.add(control, COMPLETED, 1);
    }
  };

  Atomics.add(control, READY, 1);
  let seen = Atomics.load(control, EPOCH);
  for (;;) {
    const until = performance.now() + control[SPIN] / 1000;
    let epoch = Atomics.load(control, EPOCH);
    for (let i = 0; epoch === seen; i++) {
      if ((i & 63) === 63 && performance.now() > until) {
        Atomics.add(control, SLEEPING, 1);
        Atomics.wait(control, EPOCH, seen);
        Atomics.sub(control, SLEEPING, 1);
      }
      epoch = Atomics.load(control, EPOCH);
    }
    seen = epoch;
    if (epoch === -1) return;
    takeTasks(epoch);
  }
}

const threads = globalThis.process?.getBuiltinModule?.("node:worker_threads");
if (threads?.parentPort) work(threads.workerData);
else globalThis.onmessage = (/** @type {MessageEvent<Start>} */ event) => work(event.data);
