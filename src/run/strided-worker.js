/**
 * What a worker thread does: waits for a job, takes its tasks one by one, goes back to waiting. Plain JavaScript without
 * imports, so that Node, browsers and bundlers can start it as it is. The protocol is in pool.ts.
 *
 * @typedef {{ memory: WebAssembly.Memory, control: Int32Array, id: number }} Start
 */

/** Words of the control block; pool.ts has the same names. */
const EPOCH = 0;
const LEFT = 1;
const COMPLETED = 2;
const SLEEPING = 3;
const FAILED = 4;
/** Tasks that workers could not begin, for want of memory to compile for instance: the caller does them. */
const RETURNED = 5;
const KERNEL = 6;
const CODE_BYTES = 7;
const DESCRIPTORS = 8;
const DESCRIPTOR_BYTES = 9;
const TASKS = 10;
const SPIN = 11;
/** 0: a task is a descriptor for the export "run"; 1: a task is a tape of calls. */
const TAPED = 12;
/** Counts the calls of tapes: signs of life during long tasks. */
const BEAT = 13;
/** Counts kernels that workers compiled for the job. */
const COMPILED = 14;
/** A word a worker: what it is doing. A worker is BUSY from before it takes a task until after it is completed. */
const STATES = 16;
const UP = 1;
const BUSY = 2;
/** A word a worker: the task that it returned, counted from 1. */
const RETURNS = 80;
/** Byte positions of why a task failed, as text behind its length, and of the job's code. */
const REASON_AT = 576;
const CODE_AT = 1024;

/** Tells the processor that a thread only waits, where the host can: the core's other thread is the faster for it. */
const pause = /** @type {{ pause?: () => void }} */ (Atomics).pause;

/** @param {Start} start */
function work({ memory, control, id }) {
  /** @type {Map<number, { run: (descriptor: number) => void, calls: ((...args: number[]) => void)[] }>} */
  const kernels = new Map();
  /** So many are kept: those that have not been used for the longest time go first. */
  const mostKernels = 256;
  /** The number of the one used last. */
  let latest = 0;

  /** The kernel of the job: compiled from the bytes in the control block, unless it is known. */
  const kernelFor = (/** @type {number} */ number, /** @type {number} */ bytes) => {
    let kernel = kernels.get(number);
    if (kernel !== undefined && number === latest) return kernel;
    if (kernel === undefined) {
      const copy = new Uint8Array(bytes);
      copy.set(new Uint8Array(control.buffer, CODE_AT, bytes));
      const module = new WebAssembly.Module(copy);
      const exports = /** @type {Record<string, (...args: number[]) => void>} */ (
        new WebAssembly.Instance(module, { e: { m: memory } }).exports
      );
      Atomics.add(control, COMPILED, 1);
      kernel = {
        run: exports.run,
        calls: WebAssembly.Module.exports(module).map(({ name }) => exports[name]),
      };
    } else kernels.delete(number);
    kernels.set(number, kernel);
    latest = number;
    for (const oldest of kernels.keys()) {
      if (kernels.size <= mostKernels) break;
      kernels.delete(oldest);
    }
    return kernel;
  };

  let words = new Int32Array(memory.buffer);

  /** The memory's words, at least as many as these. Another thread may have let it grow since. */
  const wordsTo = (/** @type {number} */ count) => {
    if (count > words.length) words = new Int32Array(memory.buffer);
    if (count > words.length) {
      // By nothing: that renews the buffer where the news has not come yet.
      memory.grow(0);
      words = new Int32Array(memory.buffer);
    }
    return words;
  };

  /**
   * A tape: [words, then per call: the export's number, how many arguments, the arguments].
   * @param {((...args: number[]) => void)[]} calls
   * @param {number} address
   */
  const play = (calls, address) => {
    const start = address / 4;
    const end = start + 1 + wordsTo(start + 1)[start];
    const words = wordsTo(end);
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

  /** Why a task failed, in as many bytes as there are. */
  const explain = (/** @type {unknown} */ error) => {
    const text = new TextEncoder().encode(String(error)).subarray(0, CODE_AT - REASON_AT - 4);
    new Uint8Array(control.buffer, REASON_AT + 4).set(text);
    Atomics.store(control, REASON_AT / 4, text.length);
  };

  /** The job's words lie still while one of its tasks is held. */
  const runTask = (/** @type {number} */ index) => {
    let kernel;
    try {
      kernel = kernelFor(Atomics.load(control, KERNEL), Atomics.load(control, CODE_BYTES));
    } catch {
      Atomics.store(control, RETURNS + id, index + 1);
      Atomics.add(control, RETURNED, 1);
      return;
    }
    const descriptors = Atomics.load(control, DESCRIPTORS) >>> 0;
    const task = descriptors + index * Atomics.load(control, DESCRIPTOR_BYTES);
    try {
      if (Atomics.load(control, TAPED) === 1) play(kernel.calls, wordsTo(task / 4 + 1)[task / 4] >>> 0);
      else kernel.run(task);
    } catch (error) {
      explain(error);
      Atomics.store(control, FAILED, id + 1);
    }
  };

  /** Takes tasks and does them, until none is left. While the caller has not taken back a returned one, no other. */
  const takeTasks = () => {
    while (Atomics.load(control, RETURNS + id) === 0) {
      const left = Atomics.load(control, LEFT);
      if (left === 0) return;
      if (Atomics.compareExchange(control, LEFT, left, left - 1) !== left) continue;
      runTask(Atomics.load(control, TASKS) - left);
      Atomics.add(control, COMPLETED, 1);
    }
  };

  Atomics.store(control, STATES + id, UP);
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
    Atomics.store(control, STATES + id, BUSY);
    takeTasks();
    Atomics.store(control, STATES + id, UP);
  }
}

const threads = globalThis.process?.getBuiltinModule?.("node:worker_threads");
if (threads?.parentPort) work(threads.workerData);
else
  globalThis.onmessage = (/** @type {MessageEvent<Start>} */ event) => {
    // Before the work, which never returns: the page waits for it. See host.ts.
    globalThis.postMessage("strided");
    work(event.data);
  };
