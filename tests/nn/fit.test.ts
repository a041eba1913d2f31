/** Training beside the rest of a program: others have their turn, batches are freed, no batch is left out in silence. */
import { describe, expect, it } from "vitest";
import { valueAndGrad } from "../../src/grad.ts";
import { memory, ones, scope, type Tensor, tensor, zeros } from "../../src/index.ts";
import * as nn from "../../src/nn.ts";
import { type Loader, loader, mse, type Optimiser, sgd } from "../../src/nn.ts";

/** Garbage may be collected while fit runs: what is not freed is held, so that it can be counted. */
const everything: unknown[] = [];
const held = <T>(made: T): T => {
  everything.push(made);
  return made;
};
const start = () => {
  const params = held({ w: tensor([0]) });
  return { params, optimiser: sgd(params, { lr: 0.5 }) };
};
const step = valueAndGrad((p: { w: Tensor }, x: Tensor) => mse(p.w, x));
const quiet = { step, progress: false } as const;
const list = (...values: number[]) => held(values.map((v) => tensor([v])));
function* endless() {
  for (;;) yield ones([1]);
}

describe("others have their turn", () => {
  it("a timer may end it", async () => {
    const stop = new AbortController();
    const data = {
      *[Symbol.iterator]() {
        const x = held(ones([1]));
        for (;;) yield x;
      },
    };
    setTimeout(() => stop.abort(), 20);
    const { stopped, steps } = await nn.fit({
      ...quiet,
      optimiser: start().optimiser,
      data,
      signal: stop.signal,
    });
    expect([stopped, steps > 0]).toEqual([true, true]);
  });

  it("a signal that was raised before makes no step", async () => {
    const { params, optimiser } = start();
    for (const data of [list(1, 2), loader(held(ones([4])), { batch: 1 })]) {
      const before = memory().tensors;
      const made = await nn.fit({ ...quiet, optimiser, data, signal: AbortSignal.abort() });
      expect(made).toMatchObject({ steps: 0, stopped: true, losses: [] });
      await Promise.resolve();
      expect(memory().tensors).toBe(before);
    }
    expect(params.w.toArray()).toEqual([0]);
  });

  it.each([{}, new AbortController(), true])("%o is no signal", async (signal) => {
    const { optimiser } = start();
    await expect(
      nn.fit({ ...quiet, optimiser, data: list(1), signal: signal as AbortSignal }),
    ).rejects.toThrow(/^fit: signal is /);
  });

  it("a signal ends it while a batch is waited for, and what comes late is freed", async () => {
    const come: (() => void)[] = [];
    const source = {
      size: 4,
      load: async (at: readonly number[]) => {
        if (at[0] > 0)
          await new Promise<void>((resolve) => {
            come.push(resolve);
          });
        return zeros([at.length]);
      },
    };
    const { optimiser } = start();
    const before = memory().tensors;
    for (const accumulate of [1, 2]) {
      const stop = new AbortController();
      const going = nn.fit({
        ...quiet,
        optimiser,
        data: loader(source, { batch: 1, prefetch: 2 }),
        accumulate,
        signal: stop.signal,
      });
      setTimeout(() => stop.abort(), 10);
      expect(await going).toMatchObject({ steps: accumulate === 1 ? 1 : 0, stopped: true });
    }
    for (const resolve of come) resolve();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(memory().tensors).toBe(before);
  });

  it("an error of the data is the error of fit, and a generator hears of the end", async () => {
    const { optimiser } = start();
    let ended = 0;
    async function* batches(fails: boolean) {
      try {
        yield held(ones([1]));
        if (fails) throw new Error("no more");
        yield held(ones([1]));
      } finally {
        ended++;
      }
    }
    const { signal } = new AbortController();
    await expect(nn.fit({ ...quiet, optimiser, data: batches(true), signal })).rejects.toThrow("no more");
    expect(await nn.fit({ ...quiet, optimiser, data: batches(false), signal, steps: 1 })).toMatchObject({
      steps: 1,
    });
    expect(ended).toBe(2);
  });
});

describe("batches", () => {
  const left = async (data: Loader<Tensor> | Iterable<Tensor>, options: object = {}) => {
    const { optimiser } = start();
    await nn.fit({ ...quiet, optimiser, data: list(1) });
    const before = memory().tensors;
    const { steps } = await nn.fit({ ...quiet, optimiser, data, ...options });
    await new Promise((resolve) => setTimeout(resolve));
    return [steps, memory().tensors - before];
  };

  it("of a generator are freed with their step", async () => {
    expect(await left(endless(), { steps: 50 })).toEqual([50, 0]);
    const twice = function* () {
      for (let k = 0; k < 5; k++) {
        const x = ones([1]);
        yield x;
        yield x;
      }
    };
    expect(await left(twice())).toEqual([10, 0]);
    const failing = function* () {
      yield ones([1]);
      throw new Error("no more");
    };
    const { optimiser } = start();
    const before = memory().tensors;
    await expect(nn.fit({ ...quiet, optimiser, data: failing() })).rejects.toThrow("no more");
    expect(memory().tensors).toBe(before);
  });

  it("that somebody holds are not", async () => {
    const [a, b] = list(1, 2);
    const given = function* () {
      for (let k = 0; k < 3; k++) yield* [a, b];
    };
    expect(await left(given())).toEqual([6, 0]);
    const made = function* () {
      const all = list(1, 2, 3);
      for (let k = 0; k < 3; k++) yield* all;
    };
    expect(await left(made())).toEqual([9, 3]);
    const kept: Tensor[] = [];
    const data = {
      *[Symbol.iterator]() {
        for (let k = 0; k < 3; k++) {
          kept[k] ??= held(ones([1]));
          yield kept[k];
        }
      },
    };
    expect(await left(data, { epochs: 3 })).toEqual([9, 3]);
    expect(a.toArray()).toEqual([1]);
  });

  it("may be freed by the step, and its error is the one that is heard", async () => {
    const letting = (p: { w: Tensor }, x: Tensor) => {
      const made = step(p, x);
      x.dispose();
      return made;
    };
    const { optimiser } = start();
    const data = () => loader(held(ones([3])), { batch: 1 });
    const options = { optimiser, data: data(), step: letting, progress: false } as const;
    expect((await nn.fit(options)).steps).toBe(3);
    const failing = (_: { w: Tensor }, x: Tensor): never => {
      x.dispose();
      throw new Error("broken");
    };
    await expect(nn.fit({ ...options, data: data(), step: failing })).rejects.toThrow("broken");
  });

  it("that were made ahead are freed where nobody asks for them", async () => {
    const source = () => loader(held(zeros([20])), { batch: 1, prefetch: 3, shuffle: 1 });
    expect(await left(source(), { steps: 3 })).toEqual([3, 0]);
    const broken = {
      optimiser: start().optimiser,
      data: source(),
      progress: false,
      step: () => {
        throw new Error("broken");
      },
    };
    const before = memory().tensors;
    await expect(nn.fit(broken)).rejects.toThrow("broken");
    await new Promise((resolve) => setTimeout(resolve));
    expect(memory().tensors).toBe(before);
  });
});

describe("no batch is left out in silence", () => {
  it("those that are too few for a step make one at the end of an epoch, by their mean", async () => {
    const run = async (data: Tensor[], options: object) => {
      const { params, optimiser } = start();
      const { losses, steps } = await nn.fit({ ...quiet, optimiser, data, ...options });
      return { losses, steps, w: params.w.item() };
    };
    // lr 1/2: each step goes to the mean of its batches.
    expect(await run(list(2, 4), { accumulate: 100 })).toEqual({ losses: [10], steps: 1, w: 3 });
    expect(await run(list(1, 2, 3, 8), { accumulate: 3 })).toMatchObject({ steps: 2, w: 8 });
    expect(await run(list(2, 4), { accumulate: 100, epochs: 3 })).toMatchObject({ steps: 3, w: 3 });
    expect(await run(list(1, 2, 3), { accumulate: 2, steps: 1 })).toMatchObject({ steps: 1, w: 1.5 });
  });

  it("an epoch without any is an error", async () => {
    const { optimiser } = start();
    const three = (function* () {
      yield* list(1, 2, 3);
    })();
    await expect(
      nn.fit({ ...quiet, optimiser, data: three, epochs: 3 }),
    ).rejects.toThrowErrorMatchingInlineSnapshot(`
      [TensorError: fit: the data have no batch in epoch 2.
        A generator is walked over once: give a loader, a list, or { *[Symbol.iterator]() { … } }, which is walked anew.]
    `);
    await expect(nn.fit({ ...quiet, optimiser, data: [] })).rejects.toThrowErrorMatchingInlineSnapshot(`
      [TensorError: fit: the data have no batch.
        Is the list empty, or the loader's last batch left out?]
    `);
    await expect(nn.fit({ ...quiet, optimiser, data: 3 as never })).rejects.toThrow(
      "fit: the data are the number 3.",
    );
  });

  it("a loss of several numbers is told so", async () => {
    const { params, optimiser } = start();
    const vector = (p: typeof params) => ({ value: scope(() => p.w.broadcastTo(3).mul(1)), grads: p });
    await expect(
      nn.fit({
        data: list(1),
        optimiser: optimiser as Optimiser<typeof params>,
        step: vector,
        progress: false,
      }),
    ).rejects.toThrow("fit: the step gave a loss of f32 [3].");
  });
});
