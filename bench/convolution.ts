/**
 * Convolutions beside this library's own matrix product, in one run: the share of its rate that is reached. The
 * convolution is checked at some of its elements before anything is timed.
 *
 *     node --import tsx bench/convolution.ts
 */
import { engine } from "../src/engine.ts";
import { type Tensor, tensor } from "../src/index.ts";
import { type ConvOptions, conv2d } from "../src/library/convolution.ts";
import { avgPool2d, maxPool2d } from "../src/library/pooling.ts";
import { duration, isShown, table, timeAll, timesAsFast } from "./harness.ts";

interface Layer {
  readonly name: string;
  readonly input: readonly number[];
  readonly weight: readonly number[];
  readonly options: ConvOptions;
  /** Share of the matrix product's rate that is asked for; null: for the record. */
  readonly target: number | null;
}

const layers: readonly Layer[] = [
  {
    name: "3x3, 64 → 64, 56x56, batch 8",
    input: [8, 64, 56, 56],
    weight: [64, 64, 3, 3],
    options: { padding: 1 },
    target: 0.6,
  },
  {
    name: "3x3 stride 2, 64 → 128, 56x56",
    input: [8, 64, 56, 56],
    weight: [128, 64, 3, 3],
    options: { padding: 1, stride: 2 },
    target: null,
  },
  {
    name: "7x7 stride 2, 3 → 64, 224x224",
    input: [2, 3, 224, 224],
    weight: [64, 3, 7, 7],
    options: { padding: 3, stride: 2 },
    target: null,
  },
  {
    name: "1x1, 256 → 64, 56x56",
    input: [4, 256, 56, 56],
    weight: [64, 256, 1, 1],
    options: {},
    target: null,
  },
  {
    name: "3x3, 512 → 512, 7x7",
    input: [8, 512, 7, 7],
    weight: [512, 512, 3, 3],
    options: { padding: 1 },
    target: null,
  },
  {
    name: "3x3 depthwise, 128, 56x56",
    input: [8, 128, 56, 56],
    weight: [128, 1, 3, 3],
    options: { padding: 1, groups: 128 },
    target: null,
  },
];

function random(shape: readonly number[]): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Float32Array.from({ length: size }, () => Math.random() - 0.5),
    { shape: [...shape] },
  );
}

/** out[n, o, y, x] by the definition, of a padded and perhaps grouped convolution. */
function elementAt(
  x: Tensor,
  w: Tensor,
  { padding = 0, stride = 1 }: ConvOptions,
  at: readonly number[],
): number {
  const [, per, kh, kw] = w.shape;
  const [n, o, oy, ox] = at;
  const groups = x.shape[1] / per;
  const first = Math.floor(o / (w.shape[0] / groups)) * per;
  let sum = 0;
  for (let c = 0; c < per; c++) {
    for (let i = 0; i < kh; i++) {
      for (let j = 0; j < kw; j++) {
        const y = oy * (stride as number) + i - (padding as number);
        const z = ox * (stride as number) + j - (padding as number);
        if (y < 0 || z < 0 || y >= x.shape[2] || z >= x.shape[3]) continue;
        sum += Number(x.get(n, first + c, y, z)) * Number(w.get(o, c, i, j));
      }
    }
  }
  return sum;
}

/** Throws if it is wrong somewhere; gives the floating-point operations of one call. */
function check(layer: Layer, x: Tensor, w: Tensor): number {
  const out = conv2d(x, w, layer.options);
  for (let turn = 0; turn < 50; turn++) {
    const at = out.shape.map((n) => Math.floor(Math.random() * n));
    const [got, want] = [Number(out.get(...at)), elementAt(x, w, layer.options, at)];
    if (!(Math.abs(got - want) < 1e-3)) throw new Error(`${layer.name}: [${at}] is ${got}, expected ${want}`);
  }
  const flops = (2 * out.size * w.size) / w.shape[0];
  out.dispose();
  return flops;
}

/** Every layer and a matrix product, taking turns. */
export function benchConvolution(): void {
  const [a, b] = [random([1024, 1024]), random([1024, 1024])];
  const rows = [["conv2d, f32", "time", "GFLOP/s", "matmul 1024", "of its rate", "target"]];
  for (const layer of layers.filter(isShown)) {
    const [x, w] = [random(layer.input), random(layer.weight)];
    const flops = check(layer, x, w);
    const [ours, product] = timeAll(
      [
        { name: layer.name, run: () => conv2d(x, w, layer.options).dispose() },
        { name: "matmul", run: () => a.matmul(b).dispose() },
      ],
      { rounds: 7, turn: 2 },
    );
    const [rate, best] = [flops / ours.median / 1e6, (2 * 1024 ** 3) / product.median / 1e6];
    const share = (flops / (2 * 1024 ** 3)) * timesAsFast(ours, product);
    rows.push([
      layer.name,
      duration(ours.median),
      rate.toFixed(1),
      best.toFixed(1),
      share.toFixed(2),
      layer.target === null ? "" : `≥ ${layer.target} ${share >= layer.target ? "✓" : "✗"}`,
    ]);
    x.dispose();
    w.dispose();
  }
  console.log(table(rows));
  if (isShown({ target: null })) benchPooling();
}

/** Pooling beside a copy of its input: both read it once. */
function benchPooling(): void {
  const x = random([8, 64, 112, 112]);
  const rows = [["pooling, f32 [8, 64, 112, 112]", "time", "copy of the input"]];
  for (const [name, run] of [
    ["maxPool2d 2", () => maxPool2d(x, 2).dispose()],
    ["maxPool2d 3, stride 2, padding 1", () => maxPool2d(x, 3, { stride: 2, padding: 1 }).dispose()],
    ["avgPool2d 2", () => avgPool2d(x, 2).dispose()],
  ] as const) {
    const [ours, copy] = timeAll(
      [
        { name, run },
        { name: "copy", run: () => x.clone().dispose() },
      ],
      { rounds: 7, turn: 2 },
    );
    rows.push([name, duration(ours.median), duration(copy.median)]);
  }
  console.log(table(rows));
}

if (process.argv[1]?.endsWith("convolution.ts")) {
  engine().pool.waitUntilReady();
  benchConvolution();
  engine().pool.stop();
}
