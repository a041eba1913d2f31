/**
 * Training as a task: what every contestant makes of the same inputs. They are pictures, classes (whole numbers of any size) and
 * then a weight [outputs, inputs, …] and a bias for each layer. A call is one step of gradient descent along the mean cross
 * entropy; the result is the losses of the first three steps.
 */
import type { Operand, Prepared, Task, Values } from "./types.ts";

export const RATE = 0.05;
export const STEPS = 3;
export const CLASSES = 10;

const input = (shape: readonly number[], scale = 1): Operand => ({ shape, dtype: "f32", scale });
/** As wide as the number of inputs wants. */
const layer = (...shape: number[]): Operand[] => {
  const fan = shape.slice(1).reduce((p, d) => p * d, 1);
  return [input(shape, 0.87 / Math.sqrt(fan)), input([shape[0]], 0.05)];
};
const classes = (batch: number): Operand => ({ shape: [batch], dtype: "i32", scale: 1000 });

/** Layers of these sizes, with relu between them. */
export const mlpInputs = (sizes: readonly number[], batch: number): Operand[] => [
  input([batch, sizes[0]]),
  classes(batch),
  ...sizes.slice(1).flatMap((n, k) => layer(n, sizes[k])),
];

/** Two convolutions of 3 × 3 with zeros around, each followed by relu and a pool of 2, and a layer of all that is left. */
export const convnetInputs = (
  [from, first, second]: readonly number[],
  side: number,
  batch: number,
): Operand[] => [
  input([batch, from, side, side]),
  classes(batch),
  ...layer(first, from, 3, 3),
  ...layer(second, first, 3, 3),
  ...layer(CLASSES, second * (side / 4) ** 2),
];

export const classesOf = (values: Values): Int32Array =>
  Int32Array.from(values, (x) => Math.abs(x) % CLASSES);

/** `begin` puts the parameters back to where they began, and gives a step, which gives its loss. */
export function trained(begin: () => () => number, dispose: () => void = () => {}): Prepared {
  let step = begin();
  return {
    run: () => void step(),
    read: () => {
      step = begin();
      return Float32Array.from({ length: STEPS }, () => step());
    },
    dispose,
  };
}

/* In plain loops ------------------------------------------------------------------------------------------------------ */

/** What a layer makes of its input, and, given the gradient of that, of its input; its parameters go a step down. */
interface Layer {
  forward(x: Float32Array): Float32Array;
  backward(x: Float32Array, g: Float32Array, isFirst: boolean): Float32Array;
}

function dense(w: Float32Array, b: Float32Array, batch: number): Layer {
  const outputs = b.length;
  const inputs = w.length / outputs;
  return {
    forward(x) {
      const y = new Float32Array(batch * outputs);
      for (let n = 0; n < batch; n++) {
        for (let o = 0; o < outputs; o++) {
          let sum = b[o];
          for (let i = 0, p = n * inputs, q = o * inputs; i < inputs; i++, p++, q++) sum += x[p] * w[q];
          y[n * outputs + o] = sum;
        }
      }
      return y;
    },
    backward(x, g, isFirst) {
      const gx = new Float32Array(isFirst ? 0 : x.length);
      const gw = new Float32Array(w.length);
      for (let n = 0; n < batch; n++) {
        for (let o = 0; o < outputs; o++) {
          const s = g[n * outputs + o];
          for (let i = 0, p = n * inputs, q = o * inputs; i < inputs; i++, p++, q++) gw[q] += s * x[p];
          if (!isFirst)
            for (let i = 0, p = n * inputs, q = o * inputs; i < inputs; i++, p++, q++) gx[p] += s * w[q];
        }
      }
      for (let q = 0; q < w.length; q++) w[q] -= RATE * gw[q];
      for (let n = 0; n < batch; n++) for (let o = 0; o < outputs; o++) b[o] -= RATE * g[n * outputs + o];
      return gx;
    },
  };
}

/** 3 × 3, with zeros around: [N, C, side, side] → [N, O, side, side]. */
function convolution(w: Float32Array, b: Float32Array, batch: number, side: number): Layer {
  const outputs = b.length;
  const channels = w.length / (9 * outputs);
  const area = side * side;
  /** For each weight and each row of a picture: where the row of the input and of the output begin, and how long they are. */
  const rows = (visit: (weight: number, from: number, to: number, length: number) => void) => {
    for (let n = 0; n < batch; n++)
      for (let o = 0; o < outputs; o++)
        for (let c = 0; c < channels; c++)
          for (let t = 0; t < 9; t++) {
            const [down, along] = [Math.floor(t / 3) - 1, (t % 3) - 1];
            const first = Math.max(0, -along);
            for (let i = Math.max(0, -down); i < Math.min(side, side - down); i++) {
              const from = (n * channels + c) * area + (i + down) * side + first + along;
              const to = (n * outputs + o) * area + i * side + first;
              visit((o * channels + c) * 9 + t, from, to, side - Math.abs(along));
            }
          }
  };
  return {
    forward(x) {
      const y = new Float32Array(batch * outputs * area);
      for (let q = 0; q < y.length; q++) y[q] = b[Math.floor(q / area) % outputs];
      rows((weight, from, to, length) => {
        const s = w[weight];
        for (let i = 0; i < length; i++) y[to + i] += s * x[from + i];
      });
      return y;
    },
    backward(x, g, isFirst) {
      const gx = new Float32Array(isFirst ? 0 : x.length);
      const gw = new Float32Array(w.length);
      rows((weight, from, to, length) => {
        let sum = 0;
        for (let i = 0; i < length; i++) sum += g[to + i] * x[from + i];
        gw[weight] += sum;
        const s = w[weight];
        if (!isFirst) for (let i = 0; i < length; i++) gx[from + i] += s * g[to + i];
      });
      for (let q = 0; q < w.length; q++) w[q] -= RATE * gw[q];
      for (let q = 0; q < g.length; q++) b[Math.floor(q / area) % outputs] -= RATE * g[q];
      return gx;
    },
  };
}

const relu: Layer = {
  forward: (x) => x.map((v) => (v > 0 ? v : 0)),
  backward: (x, g) => g.map((v, i) => (x[i] > 0 ? v : 0)),
};

/** The largest of each 2 × 2: pictures of side × side, however many. */
function pool(side: number): Layer {
  const half = side / 2;
  const largestOf = (x: Float32Array, q: number) => {
    const [plane, i, j] = [Math.floor(q / (half * half)), Math.floor(q / half) % half, q % half];
    const at = (plane * side + 2 * i) * side + 2 * j;
    return [at, at + 1, at + side, at + side + 1].reduce((a, p) => (x[p] > x[a] ? p : a));
  };
  return {
    forward: (x) => Float32Array.from({ length: x.length / 4 }, (_, q) => x[largestOf(x, q)]),
    backward(x, g) {
      const gx = new Float32Array(x.length);
      for (let q = 0; q < g.length; q++) gx[largestOf(x, q)] += g[q];
      return gx;
    },
  };
}

/** The mean of -log of the probability of the right class, and its gradient by the scores. */
function crossEntropy(scores: Float32Array, right: Int32Array): { loss: number; g: Float32Array } {
  const g = new Float32Array(scores.length);
  let loss = 0;
  for (let n = 0; n < right.length; n++) {
    const row = scores.subarray(n * CLASSES, (n + 1) * CLASSES);
    const most = Math.max(...row);
    const powers = Array.from(row, (s) => Math.exp(s - most));
    const sum = powers.reduce((a, p) => a + p);
    loss += (Math.log(sum) + most - row[right[n]]) / right.length;
    for (let c = 0; c < CLASSES; c++)
      g[n * CLASSES + c] = (powers[c] / sum - (c === right[n] ? 1 : 0)) / right.length;
  }
  return { loss, g };
}

/** The layers of a task, with parameters of their own. */
function layersOf({ op, inputs: [{ shape }] }: Task, params: readonly Float32Array[]): Layer[] {
  const [batch, , side] = shape;
  if (op === "trainMlp") {
    return params.flatMap((w, k) => {
      if (k % 2 === 1) return [];
      const made = dense(w, params[k + 1], batch);
      return k === 0 ? [made] : [relu, made];
    });
  }
  const [w1, b1, w2, b2, w3, b3] = params;
  return [
    convolution(w1, b1, batch, side),
    relu,
    pool(side),
    convolution(w2, b2, batch, side / 2),
    relu,
    pool(side / 2),
    dense(w3, b3, batch),
  ];
}

/** Training in plain loops. */
export function trainedInLoops(task: Task, inputs: readonly Values[]): Prepared {
  const [x, y, ...params] = inputs;
  const right = classesOf(y);
  return trained(() => {
    const layers = layersOf(
      task,
      params.map((p) => Float32Array.from(p)),
    );
    return () => {
      const states = [x as Float32Array];
      for (const l of layers) states.push(l.forward(states[states.length - 1]));
      let { loss, g } = crossEntropy(states[states.length - 1], right);
      for (let k = layers.length - 1; k >= 0; k--) g = layers[k].backward(states[k], g, k === 0);
      return loss;
    };
  });
}

const noGradients = "has no gradients";
/** Of libraries without gradients. */
export const untrained = { trainMlp: noGradients, trainConvnet: noGradients } as const;
