/** Training: batches through a step and an optimiser, and a line that says how it goes. */
import { scope, tensor } from "../api.ts";
import { describe, fail } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import { plot } from "../plot.ts";
import { isTensor, type Tensor } from "../tensor.ts";
import { checkNumbers } from "./check.ts";
import type { Loader } from "./data.ts";
import { accumulate, clipByNorm } from "./gradients.ts";
import type { Optimiser } from "./optimisers.ts";
import { type Progress, progressLine } from "./progress.ts";
import type { Schedule } from "./schedules.ts";
import { leavesOf } from "./tree.ts";

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
  /** Batches: a loader, or anything that can be walked over again. */
  readonly data: Loader<B> | Iterable<B> | AsyncIterable<B>;
  /** The loss and gradients of a batch: `valueAndGrad(loss)`. */
  readonly step: (params: P, batch: B) => Stepped;
  /** Walks over the data. Default 1. */
  readonly epochs?: number;
  /** Steps at the most. */
  readonly steps?: number;
  /** The step size as a function of the step. */
  readonly schedule?: Schedule;
  /** Gradients that are longer, as one vector, become that long. */
  readonly clip?: number;
  /** So many batches make one step. Default 1. */
  readonly accumulate?: number;
  /** Ends it after the step that is under way. */
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
 * freed with it, those of the batch too.
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
  const { optimiser, data, step, schedule, clip, signal, onStep } = read;
  if (typeof step !== "function")
    fail(
      "value",
      "fit",
      `step is ${describe(step)}.`,
      "Give a function: valueAndGrad((params, batch) => loss).",
    );
  if (typeof optimiser?.step !== "function")
    fail("value", "fit", `the optimiser is ${describe(optimiser)}.`, "Make one: adam(params).");
  const epochs = whole("epochs", read.epochs ?? 1);
  const each = whole("accumulate", read.accumulate ?? 1);
  const most = read.steps === undefined ? Infinity : whole("steps", read.steps);
  const batches = "length" in (data as object) ? Math.ceil((data as Loader<B>).length / each) : null;
  const total = Math.min(most, batches === null ? Infinity : batches * epochs);
  const line = progressLine(read.progress ?? true, total, epochs);
  const losses: number[] = [];
  let [epoch, samples, stopped] = [0, 0, false];

  let sum: unknown = null;
  let [waiting, loss] = [0, 0];
  /** One batch: its gradients are added up, and where there are enough of them, a step is made. */
  const take = (batch: B): boolean => {
    samples += sizeOf(batch);
    const run = () =>
      scope(() => {
        const made = step(optimiser.params, batch);
        if (!isTensor(made?.value))
          fail(
            "value",
            "fit",
            `the step gave ${describe(made)}.`,
            "It gives { value, grads }, as valueAndGrad does.",
          );
        const { value, grads } = made;
        loss += Number(value.item()) / each;
        // One batch a step: its gradients need no copy.
        if (each === 1) move(grads);
        return each === 1 ? null : accumulate(waiting === 0 ? null : sum, grads, 1 / each);
      });
    sum = read.check ? checkNumbers(run) : run();
    if (++waiting < each) return true;
    if (each > 1) {
      move(sum);
      for (const { tensor: t } of leavesOf("fit", sum)) t.dispose();
    }
    losses.push(loss);
    const at = { step: losses.length, epoch, loss, lr: optimiser.lr };
    [waiting, loss, sum] = [0, 0, null];
    line.step({ ...at, samples });
    return onStep?.(at) !== false && !signal?.aborted && losses.length < most;
  };
  const move = (grads: unknown) => {
    if (clip !== undefined) clipByNorm(grads, clip);
    if (schedule !== undefined) optimiser.lr = schedule(losses.length);
    optimiser.step(grads);
  };

  try {
    for (; epoch < epochs && !stopped; epoch++) {
      const isAsync = Symbol.asyncIterator in (data as object);
      for await (const batch of isAsync ? (data as AsyncIterable<B>) : (data as Iterable<B>)) {
        const goesOn = take(batch);
        for (const { tensor: t } of leavesOf("fit", batch)) if (!t.isDisposed && isOwn(data)) t.dispose();
        if (!goesOn) {
          stopped = losses.length < most;
          break;
        }
      }
      if (losses.length >= most) break;
    }
  } finally {
    if (sum !== null) for (const { tensor: t } of leavesOf("fit", sum)) t.dispose();
    line.end();
  }
  if (read.plot && losses.length > 1) {
    const t = tensor(losses);
    line.print(plot.text(t, { kind: "line", height: 10, title: "loss" }));
    t.dispose();
  }
  return { losses, steps: losses.length, epochs: epoch, stopped };
}

/** Batches of a loader are made for this; those of a list are somebody's. */
const isOwn = (data: unknown): boolean => typeof data === "object" && data !== null && "epoch" in data;

function sizeOf(batch: unknown): number {
  const [first] = leavesOf("fit", batch);
  return first === undefined || first.tensor.rank === 0 ? 1 : first.tensor.shape[0];
}
