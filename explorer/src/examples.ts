/** The worked examples of the documents, and a few more. */

export interface Example {
  readonly id: string;
  readonly group: string;
  readonly title: string;
  /** One sentence: what to look at. */
  readonly text: string;
  readonly code: string;
  /** The tensor shown first; by default the last one. */
  readonly tensor?: string;
  /** The kernel shown first; by default the last one. */
  readonly kernel?: number;
  /** The row of its table shown first; Play begins at the beginning. */
  readonly row?: number;
  /** The controls that make views are open. */
  readonly shapes?: true;
}

export const examples: readonly Example[] = [
  {
    id: "slice",
    group: "map",
    title: "A slice: every second column",
    text: "The view skips cells by its strides [4, 2] and copies nothing; the result is dense.",
    tensor: "a",
    row: 2,
    code: `import { arange } from "strided";

const base = arange(8).reshape(2, 4);
const a = base.slice(":", "::2"); // a view
const out = a.map((x) => x + 100);
`,
  },
  {
    id: "aligned",
    group: "map",
    title: "Aligned: one position serves both",
    text: "Input and output have the same strides, so the compiler walks both as one flat loop.",
    tensor: "a",
    row: 2,
    code: `import { arange } from "strided";

const a = arange(6).reshape(2, 3);
const out = a.map((x) => x + 100);
`,
  },
  {
    id: "broadcast",
    group: "map",
    title: "Broadcast: one row read twice",
    text: "The first axis has stride 0: both rows of the view are the same three cells.",
    tensor: "a",
    row: 3,
    code: `import { tensor } from "strided";

const row = tensor([[10, 20, 30]]); // shape [1, 3]
const a = row.broadcastTo(2, 3); // stride 0 on axis 0
const out = a.map((x) => x + 100);
`,
  },
  {
    id: "zip",
    group: "zip",
    title: "Zip: (1, 3) with (2, 3)",
    text: "Shapes align at the right; a's single row is paired with every row of b.",
    tensor: "b",
    row: 3,
    code: `import { tensor, zip } from "strided";

const a = tensor([[10, 20, 30]]);
const b = tensor([
  [1, 2, 3],
  [4, 5, 6],
]);
const out = zip([a, b], (a, b) => a + b);
`,
  },
  {
    id: "zip-strided",
    group: "zip",
    title: "Zip: a slice with a dense tensor",
    text: "Each operand keeps its own strides: at ordinal 1, a is at 2, b and out are at 1.",
    tensor: "a",
    row: 1,
    code: `import { arange, zip } from "strided";

const base = arange(8).reshape(2, 4);
const a = base.slice(":", "::2"); // strides [4, 2]
const b = arange(4).reshape(2, 2); // strides [2, 1]
const out = zip([a, b], (a, b) => a * 10 + b);
`,
  },
  {
    id: "reduce",
    group: "reduce",
    title: "Reduce: fold an axis",
    text: "One write for each row; inside a row only the address moves, by the axis's stride.",
    tensor: "a",
    code: `import { tensor } from "strided";

const a = tensor([
  [1, 2, 3],
  [4, 5, 6],
]);
const out = a.reduce((acc, x) => acc + x, {
  axis: 1,
  init: 0,
  keepdims: true,
});
`,
  },
  {
    id: "reduce-slice",
    group: "reduce",
    title: "Reduce: fold a slice",
    text: "The same walk, stepping over the cells that the slice leaves out.",
    tensor: "a",
    code: `import { arange } from "strided";

const base = arange(8).reshape(2, 4);
const a = base.slice(":", "::2");
const out = a.reduce((acc, x) => acc + x, {
  axis: 1,
  init: 0,
  keepdims: true,
});
`,
  },
  {
    id: "matmul",
    group: "matmul",
    title: "Matmul: rows against columns",
    text: "For each element of out, a walks along k by its last stride, b by its second-last.",
    tensor: "b",
    row: 2,
    code: `import { matmul, tensor } from "strided";

const a = tensor([1, 2, 3, 4, 5, 6], {
  shape: [1, 2, 3],
});
const b = tensor([7, 8, 9, 10, 11, 12], {
  shape: [1, 3, 2],
});
const out = matmul(a, b);
`,
  },
  {
    id: "matmul-left",
    group: "matmul",
    title: "Matmul: a's one batch for every batch of b",
    text: "A batch of size 1 has batch stride 0: at ordinal 6, a starts at 3 although n is 1.",
    tensor: "b",
    row: 6,
    code: `import { matmul, tensor } from "strided";

const a = tensor([1, 2, 3, 4, 5, 6], {
  shape: [1, 2, 3],
});
const b = tensor(
  [10, 11, 12, 13, 14, 15, 7, 8, 9, 10, 11, 12],
  { shape: [2, 3, 2] },
);
const out = matmul(a, b);
`,
  },
  {
    id: "matmul-right",
    group: "matmul",
    title: "Matmul: b's one batch for every batch of a",
    text: "The other way round: b is read again for each matrix of a.",
    tensor: "a",
    row: 5,
    code: `import { matmul, tensor } from "strided";

const a = tensor(
  [1, 2, 3, 4, 5, 6, 2, 1, 0, 3, -1, 2],
  { shape: [2, 2, 3] },
);
const b = tensor([10, 11, 12, 13, 14, 15], {
  shape: [1, 3, 2],
});
const out = matmul(a, b);
`,
  },
  {
    id: "ggml",
    group: "copy",
    title: "ggml's permuted copy",
    text: "Sizes (ne) and byte strides (nb), fastest axis first. Go to rows 127, 128, 2047, 2048: the source jumps.",
    tensor: "source",
    kernel: 0,
    row: 128,
    code: `import { arange, fromGgml } from "strided";

// permute(0, 2, 1, 3) of a contiguous [128, 13, 16, 1]
const source = fromGgml({
  type: "F32",
  ne: [128, 16, 13, 1],
  nb: [4, 6656, 512, 106496],
  data: arange(26624).data,
});
const target = fromGgml({
  type: "F32",
  ne: [2048, 13, 1, 1],
  nb: [4, 8192, 106496, 106496],
  data: new Float32Array(26624),
});
target.assignFlat(source); // in row-major order on both sides
target.reshape(-1).get(128);
target.reshape(-1).get(2048);
`,
  },
  {
    id: "views",
    group: "views",
    title: "Views: one memory, many shapes",
    text: "No kernel runs here: every line edits a shape, strides and an offset. Try the controls under the memory.",
    tensor: "t",
    shapes: true,
    code: `import { arange, empty } from "strided";

const t = arange(24).reshape(2, 3, 4);
t.strides;
t.get(1, 1, 1); // 1·12 + 1·4 + 1·1
const tall = arange(6).reshape(2, 3).view(3, 2);
const turned = t.permute(2, 0, 1);
const backwards = t.slice(1, "::-1", "1:3");
empty([32, 3, 100, 100], { dtype: "u8" }).strides;
`,
  },
  {
    id: "own",
    group: "more",
    title: "Your own kernel, on a transpose",
    text: "A plain function becomes SIMD WebAssembly for the layout at hand: look at the tabs below.",
    tensor: "turned",
    row: 5,
    code: `import { arange, kernel } from "strided";

const gelu = kernel((x) => {
  const inner = 0.79788456 * (x + 0.044715 * x ** 3);
  return 0.5 * x * (1 + Math.tanh(inner));
});

const turned = arange(-8, 8).div(4).reshape(4, 4).T;
const out = gelu(turned);
`,
  },
  {
    id: "njit",
    group: "loops",
    title: "A whole function, line by line",
    text: "The documents' matmul with its three loops: step through it and watch its variables and its arrays.",
    tensor: "out",
    code: `import { arange, njit, zeros } from "strided";

const matmul = njit((out, a, b, { prange }) => {
  const [n, k] = a.shape;
  for (const i of prange(n)) {
    for (let j = 0; j < b.shape[1]; j++) {
      let acc = 0;
      for (let p = 0; p < k; p++) {
        acc += a.get(i, p) * b.get(p, j);
      }
      out.set([i, j], acc);
    }
  }
});

const a = arange(6).reshape(2, 3);
const b = arange(12).reshape(3, 4).slice(":", "::2"); // a view
const out = zeros([2, 2]);
matmul(out, a, b);
`,
  },
  {
    id: "sieve",
    group: "loops",
    title: "The sieve: while, break and data",
    text: "Which numbers are left is known only when it runs; every index is checked all the same.",
    tensor: "isPrime",
    code: `import { njit, ones } from "strided";

const sieve = njit((isPrime) => {
  isPrime.set([0], 0);
  isPrime.set([1], 0);
  let found = 0;
  for (let i = 2; i < isPrime.size; i++) {
    if (isPrime.get(i) === 0) continue;
    found++;
    let j = i * i;
    while (j < isPrime.size) {
      isPrime.set([j], 0);
      j += i;
    }
  }
  return found;
});

const isPrime = ones(30, { dtype: "u8" });
sieve(isPrime);
`,
  },
  {
    id: "fallback",
    group: "more",
    title: "A function that cannot be compiled",
    text: "It reads an outer variable, so map calls it for each element: the answer is right, and the page says why.",
    tensor: "out",
    row: 4,
    code: `import { arange } from "strided";

const limit = 3;
const out = arange(6).map((x) => Math.min(x, limit));
`,
  },
  {
    id: "mistake",
    group: "more",
    title: "A mistake, explained",
    text: "kernel(fn) is strict: it says what it cannot compile, points at it, and names the remedy.",
    code: `import { arange, kernel } from "strided";

const soften = (x) => x / (1 + Math.abs(x));
const f = kernel((x) => Math.max(soften(x), 0));
f(arange(4));
`,
  },
];
