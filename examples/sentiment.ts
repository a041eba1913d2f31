/**
 * Sentiment: do these words praise or blame? Words become vectors (embeddings), convolutions look at three neighbours at a
 * time, and the strongest signal along the sentence decides. The sentences are made of words by rules, with negations that turn
 * their meaning: whoever only counts words does not get far.
 *
 *     npx tsx examples/sentiment.ts --steps 400
 */
import { valueAndGrad } from "../src/grad.ts";
import { random, relu, scope, type Tensor, tensor } from "../src/index.ts";
import * as nn from "../src/nn.ts";

const steps = Number(process.argv[process.argv.indexOf("--steps") + 1]) || 200;
const rng = random.generator(4);
const [LENGTH, SIZE, FEATURES] = [10, 16, 24];

const good = ["bright", "clever", "moving", "funny", "warm", "honest", "lovely", "sharp"];
const bad = ["dull", "clumsy", "empty", "noisy", "cold", "false", "tired", "flat"];
const things = ["film", "story", "plot", "music", "cast", "ending", "book", "scene"];
const others = ["the", "was", "is", "and", "a", "it", "felt", "really", "quite", "not", "never", "but", "."];
const words = [...good, ...bad, ...things, ...others];
const known = new Map(words.map((word, k) => [word, k + 1]));

/** Whole numbers that a seed makes, below a limit. */
const chance = random.generator(8);
const pick = <T>(from: readonly T[]): T => from[Number(chance.integers(0, from.length, []).item())];

/** A sentence, and whether it praises. */
function sentence(): { words: string[]; praise: number } {
  const praise = Number(chance.integers(0, 2, []).item());
  const isTurned = Number(chance.integers(0, 2, []).item()) === 1;
  const kind = pick(praise !== Number(isTurned) ? good : bad);
  const turn = isTurned ? [pick(["not", "never"])] : [];
  const front = ["the", pick(things), pick(["was", "is", "felt"])];
  const filler = pick([[], ["really"], ["quite"]]);
  const rest = pick([["."], ["and", "a", pick(things), "."], ["it", "was", "a", pick(things)]]);
  return { words: [...front, ...turn, ...filler, kind, ...rest], praise };
}

/** Words as numbers, 0 where a sentence has ended: [LENGTH]. */
const coded = (list: readonly string[]): number[] =>
  Array.from({ length: LENGTH }, (_, k) => known.get(list[k]) ?? 0);

function sentences(count: number): { x: Tensor; y: Tensor } {
  const made = scope(() => Array.from({ length: count }, sentence));
  return {
    x: tensor(Int32Array.from(made.flatMap((s) => coded(s.words))), { shape: [count, LENGTH] }),
    y: tensor(Float32Array.from(made, (s) => s.praise)),
  };
}

const params = {
  words: nn.embedding.init(words.length + 1, SIZE, { rng, weight: nn.init.normal(0.3) }),
  features: nn.conv1d.init(SIZE, FEATURES, 3, { rng }),
  out: nn.linear.init(FEATURES, 1, { rng }),
};
type Params = typeof params;

/** How much each sentence praises, as a logit: [N, LENGTH] → [N]. */
function model(p: Params, x: Tensor): Tensor {
  const vectors = nn.embedding(p.words, x).swapAxes(1, 2); // [N, SIZE, LENGTH]
  const signals = relu(nn.conv1d(p.features, vectors, { padding: 1 })).max({ axis: 2 }); // [N, FEATURES]
  return nn.linear(p.out, signals).reshape([-1]);
}
const loss = (p: Params, { x, y }: { x: Tensor; y: Tensor }): Tensor => nn.binaryCrossEntropy(model(p, x), y);

const [training, test] = [sentences(600), sentences(200)];
const { losses } = await nn.fit({
  optimiser: nn.adam(params, { lr: 0.01 }),
  data: nn.loader(training, { batch: 50, shuffle: 1 }),
  step: valueAndGrad(loss),
  epochs: Math.ceil(steps / 12),
  steps,
  plot: true,
});

const right = ({ x, y }: typeof training): number =>
  scope(() => nn.accuracy(model(params, x).greater(0).to("i32"), y.to("i32")));
for (const text of [
  "the film was bright .",
  "the film was not bright .",
  "the cast was never really dull .",
]) {
  const p = scope(() =>
    model(params, tensor([coded(text.split(" "))], { dtype: "i32" }))
      .sigmoid()
      .item(),
  );
  console.log(`${(100 * Number(p)).toFixed(0).padStart(3)} % praise: ${text}`);
}
console.log(
  `loss ${losses[0].toFixed(3)} → ${losses.at(-1)!.toFixed(3)}; right: ${(100 * right(training)).toFixed(1)} % of what it has seen, ${(100 * right(test)).toFixed(1)} % of the rest`,
);
