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
const CODE_BYTES = 8;
const DESCRIPTORS = 9;
const DESCRIPTOR_BYTES = 10;
const TASKS = 11;
const SPIN = 12;
/** 0: a task is a descriptor for the export "run"; 1: a task is a tape of calls. */
const TAPED = 13;
/** Counts the calls of tapes: signs of life during long tasks. */
const BEAT = 14;
/** Byte position of the job's code, behind the words. */
const CODE_AT = 1024;

const INDEX_BITS = 10;
const INDEX_MASK = (1 << INDEX_BITS) - 1;

/** Tells the processor that a thread only waits, where the host can: the core's other thread is the faster for it. */
const pause = /** @type {{ pause?: () => void }} */ (Atomics).pause;

/** @param {Start} start */
function work({ memory, control, id }) {
  /** @type {Map<number, { run: (descriptor: number) => void, calls: ((...args: number[]) => void)[] }>} */
  const kernels = new Map();
  /** So many are kept: those that have not been used for the longest time go first. */
  const mostKernels = 256;

  /** The kernel of the job: compiled from the bytes in the control block, unless it is known. */
  const kernelFor = (/** @type {number} */ number, /** @type {number} */ bytes) => {
    let kernel = kernels.get(number);
    if (kernel === undefined) {
      const copy = new Uint8Array(bytes);
      copy.set(new Uint8Array(control.buffer, CODE_AT, bytes));
      const module = new WebAssembly.Module(copy);
      const exports = /** @type {Record<string, (...args: number[]) => void>} */ (
        new WebAssembly.Instance(module, { e: { m: memory } }).exports
      );
      kernel = {
        run: exports.run,
        calls: WebAssembly.Module.exports(module).map(({ name }) => exports[name]),
      };
    } else kernels.delete(number);
    kernels.set(number, kernel);
    for (const oldest of kernels.keys()) {
      if (kernels.size <= mostKernels) break;
      kernels.delete(oldest);
    }
    return kernel;
  };

  let words = new Int32Array(memory.buffer);

  /**
   * A tape: [words, then per call: the export's number, how many arguments, the arguments].
   * @param {((...args: number[]) => void)[]} calls
   * @param {number} address
   */
  const play = (calls, address) => {
    if (words.buffer !== memory.buffer) words = new Int32Array(memory.buffer);
    const start = address / 4;
    const end = start + 1 + words[start];
    for (let at = start + 1; at < end; ) {
      const call = calls[words[at]];
      /** @type {number[]} */
      const args = [];
      const first = at + 2;
      at = first + words[at + 1];
      for (let i = first; i < at; i++) args.push(words[i]);
      call(...args);
      Atomics.add(control, BEAT, 1);
    }
  };

  const takeTasks = (/** @type {number} */ epoch) => {
    const number = Atomics.load(control, KERNEL);
    const bytes = Atomics.load(control, CODE_BYTES);
    const descriptors = Atomics.load(control, DESCRIPTORS) >>> 0;
    const step = Atomics.load(control, DESCRIPTOR_BYTES);
    const tasks = Atomics.load(control, TASKS);
    const taped = Atomics.load(control, TAPED) === 1;
    let kernel = null;
    for (;;) {
      const ticket = Atomics.load(control, TICKET);
      const index = ticket & INDEX_MASK;
      // Another epoch's ticket means that what was read above may be of two jobs: leave it.
      if (ticket >>> INDEX_BITS !== (epoch & (0xffffffff >>> INDEX_BITS)) || index >= tasks) return;
      if (Atomics.compareExchange(control, TICKET, ticket, ticket + 1) !== ticket) continue;
      try {
        kernel ??= kernelFor(number, bytes);
        const task = descriptors + index * step;
        if (taped) play(kernel.calls, new Int32Array(memory.buffer, task, 1)[0] >>> 0);
        else kernel.run(task);
      } catch {
        Atomics.store(control, FAILED, id + 1);
      }
      Atomics.add(control, COMPLETED, 1);
    }
  };

  Atomics.add(control, READY, 1);
  let seen = Atomics.load(control, EPOCH);
  for (;;) {
    const until = performance.now() + control[SPIN] / 1000;
    let epoch = Atomics.load(control, EPOCH);
    for (let i = 0; epoch === seen; i++) {
      pause?.();
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
