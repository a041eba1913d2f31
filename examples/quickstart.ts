/** A tour of strided in one page: npm run quickstart */
import { arange, kernel, linspace, memory, scope, type Tensor, tensor, zip } from "../src/index.ts";

let chapter = 0;
const title = (text: string) => console.log(`\n── ${++chapter}. ${text} ${"─".repeat(72 - text.length)}\n`);
const line = (what: string, t: Tensor) =>
  console.log(`  ${what.padEnd(40)} ${JSON.stringify(t.toArray()).replaceAll(",", ", ")}`);

title("A view is not a copy");
const base = arange(8).reshape(2, 4);
const a = base.slice(":", "::2"); // every second column: the same memory, other strides
console.log(a.layout());

title("map: a plain function over any layout");
const plus100 = (x: number) => x + 100;
line("aligned (2, 3)", arange(6).reshape(2, 3).map(plus100));
line(
  "broadcast (1, 3) → (2, 3)",
  tensor([[10, 20, 30]])
    .broadcastTo(2, 3)
    .map(plus100),
);
line("the view of chapter 1, strides [4, 2]", a.map(plus100));

title("zip: several tensors, broadcast together");
const row = tensor([[10, 20, 30]]); // (1, 3)
const grid = arange(1, 7).reshape(2, 3); // (2, 3)
line(
  "row + grid",
  zip([row, grid], (x, y) => x + y),
);
line(
  "max(row · grid, 50)",
  zip([row, grid], (x, y) => Math.max(x * y, 50)),
);

title("reduce: fold an axis with any function");
const sumOfRows = (t: Tensor) => t.reduce((acc, x) => acc + x, { axis: 1, init: 0, keepdims: true });
line("rows of [[1, 2, 3], [4, 5, 6]]", sumOfRows(grid));
line("rows of the view of chapter 1", sumOfRows(a));

title("matmul: batches broadcast, any strides");
const one = grid.reshape(1, 2, 3);
const two = tensor([10, 11, 12, 13, 14, 15, 7, 8, 9, 10, 11, 12]).reshape(2, 3, 2);
line("(1, 2, 3) × (2, 3, 2)", one.matmul(two));
const pair = tensor([1, 2, 3, 4, 5, 6, 2, 1, 0, 3, -1, 2]).reshape(2, 2, 3);
line("(2, 2, 3) × (1, 3, 2)", pair.matmul(two.slice(":1")));
line("(3, 2) × (2, 3), a transpose", grid.T.matmul(grid));

title("kernel: a plain function becomes a function of tensors");
const escapeTime = kernel((cx: number, cy: number) => {
  let x = 0;
  let y = 0;
  let n = 0;
  for (let i = 0; i < 20; i++) {
    if (x * x + y * y < 4) {
      const next = x * x - y * y + cx;
      y = 2 * x * y + cy;
      x = next;
      n++;
    }
  }
  return n;
});
const times = escapeTime(linspace(-2.1, 0.7, 76), linspace(-1.1, 1.1, 21).reshape(21, 1)); // [76] with [21, 1]
for (const r of times.toArray() as number[][])
  console.log(
    r
      .map((n) => "    ..,,::;;-=+*oO%@@"[n])
      .join("")
      .trimEnd(),
  );

title("Mistakes are explained");
for (const mistake of [() => grid.matmul(grid), () => kernel((x: number) => Math.max(x, chapter))]) {
  try {
    mistake();
  } catch (error) {
    console.log(`${(error as Error).message.replace(/^/gm, "  ")}\n`);
  }
}

title("Memory is yours to see");
const before = memory().tensors;
const sum = scope(() =>
  arange(100)
    .map((x) => x * x)
    .sum(),
); // the two vectors are freed here, the sum is kept
console.log(
  `  0² + 1² + … + 99² = ${sum.item()}, and the heap holds ${memory().tensors - before} tensor more\n`,
);
