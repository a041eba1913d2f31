/**
 * A small transformer that learns to write, character by character: 4 layers of attention over the last 64 characters. The
 * text is written for this example, in as few words as say something, so that a minute is enough.
 *
 *     npx tsx examples/gpt.ts --steps 600
 *
 * `--save` keeps what was learnt; `--load` writes with it instead of learning, also from a GGUF file in blocks:
 *
 *     npx tsx examples/gpt.ts --save gpt.safetensors
 *     npx strided convert gpt.safetensors gpt.gguf --dtype q8_0
 *     npx tsx examples/gpt.ts --load gpt.gguf
 */
import { valueAndGrad } from "../src/grad.ts";
import { arange, kernel, random, scope, softmax, stack, type Tensor, tensor } from "../src/index.ts";
import { safetensors } from "../src/io.ts";
import * as nn from "../src/nn.ts";
import { isQuantised, loadGguf } from "../src/quantised.ts";

const option = (name: string): string | undefined =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined;
const steps = Number(option("--steps")) || 60;
const rng = random.generator(2);
const [LAYERS, WIDTH, HEADS, CONTEXT, BATCH] = [4, 64, 4, 64, 16];

const things = ["tensor", "view", "kernel", "loop", "stride", "storage", "shape", "axis", "buffer", "lane"];
const verbs = ["reads", "shares", "holds", "walks", "fills", "folds", "names", "keeps"];
const kinds = ["small", "dense", "quiet", "long", "flat", "narrow", "second", "warm"];
const pick = <T>(from: readonly T[], k: number): T => from[k % from.length];
/** Sentences that a rule makes of a few words: enough of them to learn from. */
const text = Array.from({ length: 400 }, (_, k) => {
  const [a, b, c] = [k * 7 + (k >> 3), k * 5 + (k >> 2), k * 3 + (k >> 4)];
  return k % 3 === 0
    ? `the ${pick(kinds, a)} ${pick(things, b)} ${pick(verbs, c)} the ${pick(things, a + 3)}.`
    : `a ${pick(things, c)} ${pick(verbs, a)} ${pick(things, b + 1)}s, and the ${pick(things, c)} is ${pick(kinds, b)}.`;
}).join("\n");

const letters = [...new Set(text)].sort();
const codes = tensor(Int32Array.from(text, (c) => letters.indexOf(c)));

const layer = () => ({
  before: nn.layerNorm.init(WIDTH),
  attention: nn.multiHeadAttention.init(WIDTH, { rng }),
  after: nn.layerNorm.init(WIDTH),
  wide: nn.linear.init(WIDTH, 4 * WIDTH, { rng }),
  narrow: nn.linear.init(4 * WIDTH, WIDTH, { rng }),
});
const params = {
  letters: nn.embedding.init(letters.length, WIDTH, { rng, weight: nn.init.normal(0.02) }),
  places: nn.embedding.init(CONTEXT, WIDTH, { rng, weight: nn.init.normal(0.02) }),
  layers: Array.from({ length: LAYERS }, layer),
  last: nn.layerNorm.init(WIDTH),
  out: nn.linear.init(WIDTH, letters.length, { rng }),
};
type Params = typeof params;

const gelu = kernel((x) => 0.5 * x * (1 + Math.tanh(0.7978845608 * (x + 0.044715 * x * x * x))));

/** Characters [N, T] → what comes next after each: [N, T, letters]. */
function model(p: Params, x: Tensor): Tensor {
  const places = nn.embedding(p.places, arange(x.shape[1], { dtype: "i32" }));
  let h = nn.embedding(p.letters, x).add(places);
  for (const { before, attention, after, wide, narrow } of p.layers) {
    h = h.add(nn.multiHeadAttention(attention, nn.layerNorm(before, h), { heads: HEADS, causal: true }));
    h = h.add(nn.linear(narrow, gelu(nn.linear(wide, nn.layerNorm(after, h)))));
  }
  return nn.linear(p.out, nn.layerNorm(p.last, h));
}

const loss = (p: Params, { x, y }: { x: Tensor; y: Tensor }): Tensor => nn.crossEntropy(model(p, x), y);

/** Pieces of the text, and the same pieces one character on. */
const pieces: nn.SampleSource<{ x: Tensor; y: Tensor }> = {
  size: codes.size - CONTEXT - 1,
  load: (indices) => ({
    x: stack(indices.map((i) => codes.slice([i, i + CONTEXT]))),
    y: stack(indices.map((i) => codes.slice([i + 1, i + CONTEXT + 1]))),
  }),
};

/** Writes on, one character at a time, each drawn by what the model expects. */
function write(begin: string, count: number): string {
  const draw = random.generator(9);
  let written = begin;
  for (let k = 0; k < count; k++) {
    const next = scope(() => {
      const recent = Int32Array.from(written.slice(-CONTEXT), (c) => letters.indexOf(c));
      const scores = model(params, tensor(recent).expandDims(0)).slice(0, -1);
      return draw.choice(letters.length, [], { p: softmax(scores.div(0.5)).to("f64") }).item();
    });
    written += letters[Number(next)];
  }
  return written;
}

/** What 32 pieces of the text, evenly spread, come to. */
function evaluate(): number {
  const indices = Array.from({ length: 32 }, (_, k) => Math.floor((k * pieces.size) / 32));
  return scope(() => Number(loss(params, pieces.load(indices) as { x: Tensor; y: Tensor }).item()));
}

const given = option("--load");
if (given !== undefined) {
  const loaded = Object.entries(await loadGguf(given));
  const floats = loaded.map(([name, t]) => [name, isQuantised(t) ? t.dequantise() : t] as const);
  await nn.loadTree(await safetensors.encode(Object.fromEntries(floats)), params);
} else {
  const { losses } = await nn.fit({
    optimiser: nn.adamw(params, { lr: 0.003, weightDecay: 0.01 }),
    data: nn.loader(pieces, { batch: BATCH, shuffle: 1 }),
    step: valueAndGrad(loss),
    schedule: nn.warmup(Math.min(20, steps), nn.cosine(0.003, steps, 0.0003)),
    clip: 1,
    steps,
    plot: true,
  });
  console.log(`loss ${losses[0].toFixed(2)} → ${losses.at(-1)!.toFixed(2)}\n`);
}
const target = option("--save");
if (target !== undefined) await nn.saveTree(target, params);
console.log(`loss of 32 pieces: ${evaluate().toFixed(4)}\n`);
console.log(write("the ", 160));
