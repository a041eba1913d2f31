/**
 * Digits: a multi-layer network and a convolutional one learn to read digits of 14 × 14 pixels. The digits are drawn here,
 * from a font of 5 × 7 points, moved, slanted and covered with noise: nothing is downloaded.
 *
 *     npx tsx examples/digits.ts --steps 300
 */
import { valueAndGrad } from "../src/grad.ts";
import { maxPool2d, random, relu, scope, type Tensor, tensor } from "../src/index.ts";
import * as nn from "../src/nn.ts";

const steps = Number(process.argv[process.argv.indexOf("--steps") + 1]) || 150;
const rng = random.generator(5);
const SIZE = 14;

const font = `
01110 00100 01110 11111 00010 11111 00110 11111 01110 01110
10001 01100 10001 00010 00110 10000 01000 00001 10001 10001
10011 00100 00001 00100 01010 11110 10000 00010 10001 10001
10101 00100 00010 00010 10010 00001 11110 00100 01110 01111
11001 00100 00100 00001 11111 00001 10001 01000 10001 00001
10001 00100 01000 10001 00010 10001 10001 01000 10001 00010
01110 01110 11111 01110 00010 01110 01110 01000 01110 01100`
  .trim()
  .split("\n")
  .map((row) => row.split(" "));

/** Is there ink at a place of a digit's own square, [0, 1) both ways? */
const ink = (digit: number, u: number, v: number): number => {
  const [i, j] = [Math.floor(v * 7), Math.floor(u * 5)];
  return i < 0 || i > 6 || j < 0 || j > 4 ? 0 : Number(font[i][digit][j]);
};

/** n digits, each moved, slanted and scaled a little, under noise: x [n, 1, 14, 14], y [n]. */
function digits(n: number): { x: Tensor; y: Tensor } {
  const y = rng.integers(0, 10, [n]);
  const classes = Array.from(y.toTypedArray(), Number);
  const chance = rng.uniform([n, 4], { low: -1, high: 1 }).toArray() as number[][];
  const pixels = new Float32Array(n * SIZE * SIZE);
  classes.forEach((digit, k) => {
    const [dx, dy, slant, scale] = chance[k];
    const size = 1.35 + 0.15 * scale;
    for (let i = 0; i < SIZE; i++) {
      for (let j = 0; j < SIZE; j++) {
        const v = ((i + 0.5) / SIZE - 0.5) * size + 0.5 + 0.1 * dy;
        const u = ((j + 0.5) / SIZE - 0.5) * size + 0.5 + 0.1 * dx + 0.25 * slant * (v - 0.5);
        pixels[(k * SIZE + i) * SIZE + j] = ink(digit, u, v);
      }
    }
  });
  return scope(() => {
    const x = tensor(pixels, { shape: [n, 1, SIZE, SIZE] }).add(
      rng.normal([n, 1, SIZE, SIZE], { std: 0.35 }),
    );
    return { x, y };
  });
}

const mlpParams = { first: nn.linear.init(SIZE * SIZE, 64, { rng }), last: nn.linear.init(64, 10, { rng }) };
const mlp = (p: typeof mlpParams, x: Tensor): Tensor =>
  nn.linear(p.last, relu(nn.linear(p.first, x.reshape([-1, SIZE * SIZE]))));

const convParams = {
  first: nn.conv2d.init(1, 8, 3, { rng }),
  second: nn.conv2d.init(8, 16, 3, { rng }),
  last: nn.linear.init(16 * 3 * 3, 10, { rng }),
};
const convnet = (p: typeof convParams, x: Tensor): Tensor => {
  const one = maxPool2d(relu(nn.conv2d(p.first, x, { padding: 1 })), 2);
  const two = maxPool2d(relu(nn.conv2d(p.second, one, { padding: 1 })), 2);
  return nn.linear(p.last, two.reshape([-1, 16 * 3 * 3]));
};

async function train<P>(name: string, params: P, run: (p: P, x: Tensor) => Tensor): Promise<void> {
  const loss = (p: P, { x, y }: { x: Tensor; y: Tensor }) => nn.crossEntropy(run(p, x), y);
  const { losses } = await nn.fit({
    optimiser: nn.adamw(params, { lr: 0.005 }),
    data: nn.loader(training, { batch: 64, shuffle: 1 }),
    step: valueAndGrad(loss),
    epochs: Math.ceil((steps * 64) / training.x.shape[0]),
    steps,
  });
  const [known, unknown] = [training, test].map(({ x, y }) => scope(() => nn.accuracy(run(params, x), y)));
  console.log(
    `${name}: loss ${losses[0].toFixed(3)} → ${losses.at(-1)!.toFixed(3)}; right: ${(100 * known).toFixed(1)} % of what it has seen, ${(100 * unknown).toFixed(1)} % of the rest`,
  );
}

const training = digits(2000);
const test = digits(500);
const shown = test.x.slice(0, 0).toArray() as number[][];
console.log(`a ${test.y.get(0)}:`);
for (const row of shown) console.log(row.map((v) => (v > 0.5 ? "██" : "··")).join(""));
await train("two layers", mlpParams, mlp);
await train("convolutions", convParams, convnet);
