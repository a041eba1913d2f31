/** Many steps of training, one after the other without a turn of the event loop: what is alive after each. */
import { treeLeaves, valueAndGrad } from "../../src/grad.ts";
import { memory, scope } from "../../src/index.ts";
import * as nn from "../../src/nn.ts";
import { gpt, mlp } from "../nn/models.ts";

export interface Steps {
  /** Tensors, storages' bytes: after the first steps, the most of all steps, and at the end. */
  readonly before: readonly [number, number];
  readonly most: readonly [number, number];
  readonly after: readonly [number, number];
  readonly peakGrew: number;
  readonly losses: readonly [number, number];
}

function walk(count: number, once: () => number): Steps {
  const alive = (): [number, number] => [memory().tensors, memory().bytes];
  const first = once();
  once();
  const [before, peak] = [alive(), memory().peakBytes];
  const most: [number, number] = [...before];
  let last = first;
  for (let i = 0; i < count; i++) {
    last = once();
    const [tensors, bytes] = alive();
    most[0] = Math.max(most[0], tensors);
    most[1] = Math.max(most[1], bytes);
  }
  return { before, most, after: alive(), peakGrew: memory().peakBytes - peak, losses: [first, last] };
}

/** A network of three layers with Adam. */
export function mlpSteps(count: number): Steps {
  return scope(() => {
    const { params, x, y, loss } = mlp([12, 16, 16, 4], 16, "f32");
    const [run, optimiser] = [valueAndGrad(loss), nn.adam(params, { lr: 0.001 })];
    return walk(count, () =>
      scope(() => {
        const { value, grads } = run(params, x, y);
        nn.clipByNorm(grads, 1);
        optimiser.step(grads);
        return Number(value.item());
      }),
    );
  });
}

/** A small transformer with AdamW, whose tensors are disposed by hand. */
export function gptSteps(count: number): Steps {
  return scope(() => {
    const size = { layers: 2, width: 8, heads: 2, context: 6, words: 7, batch: 2 };
    const { params, x, y, loss } = gpt(size, "f32");
    const [run, optimiser] = [valueAndGrad(loss), nn.adamw(params, { lr: 0.001 })];
    return walk(count, () => {
      const { value, grads } = run(params, x, y);
      optimiser.step(grads);
      const now = Number(value.item());
      for (const { tensor } of treeLeaves(grads)) tensor.dispose();
      value.dispose();
      return now;
    });
  });
}
