/** Small functions to derive. */

export interface GradientExample {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly code: string;
}

export const gradientExamples: readonly GradientExample[] = [
  {
    id: "layer",
    title: "A layer and its loss",
    text: "A product, a bias that is broadcast, tanh and a mean: the bias's gradient is summed over the rows it was read for.",
    code: `import { tensor } from "strided";

const args = [
  tensor([[1, 2], [3, 4], [5, 6]]),
  tensor([[0.5, -1], [0.25, 0.75]]),
  tensor([0.1, -0.2]),
];
const f = (x, w, b) => x.matmul(w).add(b).tanh().square().mean();
`,
  },
  {
    id: "kernel",
    title: "A function of your own",
    text: "The derivative of a plain function is symbolic and compiled; a branch that is not taken gives no NaN.",
    code: `import { kernel, tensor } from "strided";

const args = [tensor([-1, 0.25, 1, 4])];
const root = kernel((x) => (x > 0 ? Math.sqrt(x) : 0));
const f = (x) => root(x).sum();
`,
  },
  {
    id: "views",
    title: "Views: windows that overlap",
    text: "A view passes its gradient through the same view; where windows overlap, gradients add up.",
    code: `import { arange } from "strided";

const args = [arange(8).div(8)];
const f = (x) => x.slidingWindow(3).square().sum({ axis: 1 }).max();
`,
  },
  {
    id: "softmax",
    title: "Softmax and cross-entropy",
    text: "Written out: what was computed once is used by several, and their gradients meet again.",
    code: `import { tensor } from "strided";

const args = [tensor([[2, -1, 0.5], [0, 1, 3]])];
const f = (x) => {
  const shifted = x.sub(x.max({ axis: 1, keepdims: true }));
  const total = shifted.exp().sum({ axis: 1, keepdims: true });
  return total.log().sub(shifted).slice(":", 0).mean();
};
`,
  },
  {
    id: "fused",
    title: "A fused function",
    text: "fuse makes one kernel of it, and so does its gradient: one for each operand.",
    code: `import { fuse, tensor } from "strided";

const args = [tensor([1, 2, 3]), tensor([4, -5, 6]), tensor([0.5, 0.5, 0.5])];
const f = fuse((a, b, c) => a.mul(b).add(c).relu().sum());
`,
  },
];
