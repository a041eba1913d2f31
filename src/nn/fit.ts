/** Training: batches through a step and an optimiser, and a line that says how it goes. */
import { scope, tensor } from "../api.ts";
import { describe, fail, list } from "../errors.ts";
import { checkSignal } from "../io/source.ts";
import { readOptions } from "../ops/arguments.ts";
import { plot } from "../plot.ts";
import { turns } from "../run/turns.ts";
import { isTensor, type Tensor } from "../tensor.ts";
import { unrecorded } from "./aside.ts";
import { checkNumbers } from "./check.ts";
import type { Loader } from "./data.ts";
import { accumulate, clipByNorm } from "./gradients.ts";
import type { Optimiser } from "./optimisers.ts";
import { type Progress, progressLine } from "./progress.ts";
import type { Schedule } from "./schedules.ts";
import { leavesOf } from "./tree.ts";
import { free, isWalkable, walk } from "./walk.ts";

/** A loss and its gradients: what `valueAndGrad` of strided/grad gives. */
export interface Stepped {
  /** The loss. */
  readonly value: Tensor;
  /** A tree of gradients. */
  readonly grads: unknown;
}

/** The options of `fit`. */
export interface FitOptions<P, B> {
  /** What changes the parameters. */
  readonly optimiser: Optimiser<P>;
  /** Batches: a loader, a list, or anything that can be walked over, again in each epoch. */
  readonly data: Loader<B> | Iterable<B> | AsyncIterable<B>;
  /** The loss and gradients of a batch: `valueAndGrad(loss)`. */
  readonly step: (params: P, batch: B) => Stepped;
  /** Walks over the data. Default 1. */
  readonly epochs?: number;
  /** Steps at the most. */
  readonly steps?: number;
  /** The step size as a function of the step, which is 0 at the first of this call, whatever the optimiser has done before. */
  readonly schedule?: Schedule;
  /** Gradients that are longer, as one vector, become that long. */
  readonly clip?: number;
  /** So many batches make one step, at the end of an epoch those that are left. Default 1. */
  readonly accumulate?: number;
  /** Ends it after the step that is under way, or while a batch is waited for; raised before, it makes none. */
  readonly signal?: AbortSignal;
  /** Hears of every step; false ends it. */
  readonly onStep?: (at: {
    readonly step: number;
    readonly epoch: number;
    readonly loss: number;
    readonly lr: number;
  }) => unknown;
  /** A line that says how it goes: true, false, or who writes it. Default: true where there is a console. */
  readonly progress?: boolean | Progress;
  /** Draws the losses at the end. Default false. */
  readonly plot?: boolean;
  /** Looks at every number, and names the operation that made the first NaN. Default false. */
  readonly check?: boolean;
}

/** How it went. */
export interface Fitted {
  /** Of each step. */
  readonly losses: readonly number[];
  /** Steps that were made. */
  readonly steps: number;
  /** Walks over the data. */
  readonly epochs: number;
  /** Ended by the signal, or by onStep. */
  readonly stopped: boolean;
}

const names =
  `optimiser data step epochs steps schedule clip accumulate signal onStep progress plot check`.split(" ");

function whole(name: string, value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  return fail("value", "fit", `${name} is ${describe(value)}.`, "Use a whole number from 1.");
}

/**
 * Trains: each batch gives a loss and gradients, each step changes the parameters in place. Tensors that a step makes are
 * freed with it, and so are batches that a loader or a generator makes; those of a list are yours. Timers and signals have
 * their turn several times a second.
 *
 *     await fit({ optimiser: adam(params), data: loader({ x, y }, { shuffle: 1 }), epochs: 10,
 *       step: valueAndGrad((p, { x, y }) => mse(model(p, x), y)) });
 *
 * @param options `optimiser`, `data`, `step`, `epochs` and more
 * @returns a promise of the losses, and of how it ended
 * @example
 * const params = { w: tensor([0]) };
 * const x = tensor([1]);
 * const { losses } = await fit({
 *   optimiser: sgd(params, { lr: 0.25 }),
 *   data: [x],
 *   step: valueAndGrad((p = params, target = x) => mse(p.w, target)),
 *   epochs: 2,
 *   progress: false,
 * });
 * losses; // → [1, 0.25]
 */
export async function fit<P, B>(options: FitOptions<P, B>): Promise<Fitted> {
  const read = readOptions("fit", options, "{ optimiser, data, step }", names) as FitOptions<P, B>;
  const { optimiser, data, step, schedule, clip, onStep } = read;
  const signal = checkSignal("fit", read.signal);
  if (typeof step !== "function")
    fail(
      "value",
      "fit",
      `step is ${describe(step)}.`,
      "Give a function: valueAndGrad((params, batch) => loss).",
    );
  if (typeof optimiser?.step !== "function")
    fail("value", "fit", `the optimiser is ${describe(optimiser)}.`, "Make one: adam(params).");
  if (!isWalkable(data))
    fail("value", "fit", `the data are ${describe(data)}.`, "Give batches: a loader, or a list.");
  const epochs = whole("epochs", read.epochs ?? 1);
  const each = whole("accumulate", read.accumulate ?? 1);
  const most = read.steps === undefined ? Infinity : whole("steps", read.steps);
  const batches = "length" in data ? Math.ceil((data as Loader<B>).length / each) : null;
  const total = Math.min(most, batches === null ? Infinity : batches * epochs);
  const line = progressLine(read.progress ?? true, total, epochs);
  const turn = turns(50);
  const losses: number[] = [];
  let [epoch, samples, stopped] = [0, 0, false];

  let sum: unknown = null;
  let [waiting, loss] = [0, 0];
  /** One batch: its gradients are added up. */
  const take = (batch: B) => {
    samples += sizeOf(batch);
    const run = () =>
      scope(() => {
        const { value, grads } = checkStep(step(optimiser.params, batch));
        loss += Number(value.item()) / each;
        // One batch a step: its gradients need no copy.
        if (each === 1) move(grads);
        return each === 1 ? null : accumulate(waiting === 0 ? null : sum, grads, 1 / each);
      });
    sum = read.check ? checkNumbers(run) : run();
    waiting++;
  };
  const move = (grads: unknown) => {
    if (clip !== undefined) clipByNorm(grads, clip);
    if (schedule !== undefined) optimiser.lr = schedule(losses.length);
    optimiser.step(grads);
  };
  /** The batches that wait are one step, by the mean of their gradients; false: it was the last. */
  const end = (): boolean => {
    const short = each / waiting;
    loss *= short;
    if (each > 1) {
      if (short !== 1) scaleBy(sum, short);
      move(sum);
      free(leavesOf("fit", sum));
    }
    losses.push(loss);
    const at = { step: losses.length, epoch, loss, lr: optimiser.lr };
    [waiting, loss, sum] = [0, 0, null];
    line.step({ ...at, samples });
    return onStep?.(at) !== false && losses.length < most;
  };

  try {
    for (; epoch < epochs && !stopped; epoch++) {
      let count = 0;
      for await (const batch of walk(data, signal)) {
        let goesOn = !signal?.aborted;
        if (goesOn) {
          count++;
          take(batch);
          if (waiting === each) goesOn = end();
          await turn();
          goesOn &&= !signal?.aborted;
        }
        stopped = !goesOn && losses.length < most;
        if (!goesOn) break;
      }
      if (signal?.aborted && losses.length < most) stopped = true;
      if (count === 0 && !stopped) failEmpty(epoch);
      if (waiting > 0 && !stopped && losses.length < most) stopped = !end() && losses.length < most;
      if (losses.length >= most) break;
    }
  } finally {
    if (sum !== null) free(leavesOf("fit", sum));
    line.end();
  }
  if (read.plot && losses.length > 1) {
    const t = tensor(losses);
    line.print(plot.text(t, { kind: "line", height: 10, title: "loss" }));
    t.dispose();
  }
  return { losses, steps: losses.length, epochs: epoch, stopped };
}

function checkStep(made: Stepped): Stepped {
  if (!isTensor(made?.value))
    fail(
      "value",
      "fit",
      `the step gave ${describe(made)}.`,
      "It gives { value, grads }, as valueAndGrad does.",
    );
  if (made.value.size === 1) return made;
  const { dtype, shape } = made.value;
  return fail(
    "shape",
    "fit",
    `the step gave a loss of ${dtype} ${list(shape)}.`,
    "A loss is one number: end with mean().",
  );
}

function scaleBy(grads: unknown, share: number): void {
  unrecorded(() => {
    for (const { tensor: t } of leavesOf("fit", grads)) t.mul(share, { out: t });
  });
}

function failEmpty(epoch: number): never {
  return fail(
    "value",
    "fit",
    epoch === 0 ? "the data have no batch." : `the data have no batch in epoch ${epoch + 1}.`,
    epoch === 0
      ? "Is the list empty, or the loader's last batch left out?"
      : "A generator is walked over once: give a loader, a list, or { *[Symbol.iterator]() { … } }, which is walked anew.",
  );
}

function sizeOf(batch: unknown): number {
  const [first] = leavesOf("fit", batch);
  return first === undefined || first.tensor.rank === 0 ? 1 : first.tensor.shape[0];
}
