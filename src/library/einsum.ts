/**
 * einsum: sums of products over named axes, in NumPy's notation. Operands become terms (a view and the names of its axes);
 * a pair of terms at a time is contracted by a matrix product on views, or multiplied element by element. What only
 * rearranges one operand is a view of it.
 */
import { any, matmul, mul, sum } from "../api.ts";
import { type DType, promoteAll } from "../dtype.ts";
import { counted, describe, fail, list, quote } from "../errors.ts";
import { copyTo } from "../ops/copy.ts";
import { tellCopy } from "../ops/tell.ts";
import { type Joined, liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import { reshape } from "../view/reshape.ts";
import type { View } from "../view/view.ts";
import { scoped } from "./scoped.ts";

/** An axis' name: a letter, or "…3" for the third axis from the right of an ellipsis. */
type Label = string;

/** A tensor and the names of its axes, all different. */
export interface Term {
  readonly t: Tensor;
  readonly labels: readonly Label[];
}

/**
 * einsum("bij,bjk->bik", a, b): axes with one name run together; names that are not in the output are summed over. Without
 * "->" the output has the names that occur once, in alphabetical order. "..." stands for axes without names, which
 * broadcast. A name twice in one operand is its diagonal.
 *
 * @param subscripts names of each operand's axes, "->" and those of the output
 * @param operands one tensor for each
 * @returns a new tensor of the dtype they meet in; a view where nothing is computed
 * @throws TensorError where sizes of one name differ
 * @example
 * const a = tensor([[1, 2], [3, 4]]);
 * einsum("ij,jk->ik", a, a); // → f32 [[7, 10], [15, 22]]
 * einsum("ii", a); // → f32 5
 */
export function einsum<T extends readonly Tensor[]>(subscripts: string, ...operands: T): Tensor<Joined<T>> {
  if (typeof subscripts !== "string") {
    fail(
      "value",
      "einsum",
      `the subscripts are ${describe(subscripts)}.`,
      'Give a string first: einsum("ij,jk->ik", a, b).',
    );
  }
  const tensors = operands.map((t) => liveTensor("einsum", t));
  const { inputs, output } = parse(subscripts, tensors);
  const sizes = sizesOf(inputs, tensors);
  checkOutput(subscripts, output, sizes);
  return scoped("einsum", () => {
    const dtype = promoteAll(tensors.map((t) => t.dtype));
    // Two operands are converted where they meet; more could meet in too small a dtype.
    const alike = tensors.length > 2 ? tensors.map((t) => t.to(dtype)) : tensors;
    const terms = inputs.map((labels, i) => distinct(alike[i], labels, sizes));
    return arrange(contractAll(terms, output, sizes, dtype), output);
  }) as never;
}

/* The notation ------------------------------------------------------------------------------------------------ */

interface Parsed {
  readonly inputs: readonly (readonly Label[])[];
  readonly output: readonly Label[];
}

function parse(subscripts: string, tensors: readonly Tensor[]): Parsed {
  const text = subscripts.replace(/\s+/g, "");
  const sides = text.split("->");
  if (sides.length > 2) {
    fail(
      "value",
      "einsum",
      `${quote(subscripts)} has ${sides.length - 1} arrows.`,
      'Write "inputs->output".',
    );
  }
  const given = sides[0].split(",");
  if (given.length !== tensors.length) {
    fail(
      "value",
      "einsum",
      `${quote(subscripts)} names ${counted(given.length, "operand")}, got ${counted(tensors.length, "tensor")}.`,
      'Separate operands by commas: einsum("ij,jk->ik", a, b).',
    );
  }
  const inputs = given.map((term, i) => labelsOf(subscripts, term, tensors[i].shape, i));
  const dots = Math.max(0, ...inputs.map((labels) => labels.filter(isDots).length));
  if (sides.length === 2) {
    return { inputs, output: labelsOf(subscripts, sides[1], null, null, dots) };
  }
  const letters = inputs.flat().filter((x) => !isDots(x));
  const once = letters.filter((x) => letters.indexOf(x) === letters.lastIndexOf(x)).sort();
  return { inputs, output: [...dotLabels(dots), ...once] };
}

const isDots = (label: Label) => label.startsWith("…");
const dotLabels = (n: number): Label[] => Array.from({ length: n }, (_, i) => `…${n - i}`);
const inWords = (label: Label) =>
  isDots(label) ? `axis ${label.slice(1)} from the right of "..."` : `"${label}"`;

/** The names of one term's axes; an ellipsis takes those that the letters leave. */
function labelsOf(
  subscripts: string,
  term: string,
  shape: readonly number[] | null,
  operand: number | null,
  dots = 0,
): Label[] {
  const parts = term.split("...");
  const letters = parts.join("");
  const where = operand === null ? "the output" : `operand ${operand}`;
  const wrong = [...letters].find((x) => !/[a-zA-Z]/.test(x));
  if (wrong !== undefined || parts.length > 2) {
    fail(
      "value",
      "einsum",
      wrong === undefined
        ? `${where} in ${quote(subscripts)} has more than one "...".`
        : `"${wrong}" in ${quote(subscripts)} names no axis.`,
      'Names are letters; "..." may stand once in a term, "," between operands, "->" before the output.',
    );
  }
  if (shape !== null) {
    const rest = shape.length - letters.length;
    if (rest < 0 || (rest > 0 && parts.length === 1)) {
      fail(
        "shape",
        "einsum",
        `${quote(term)} names ${counted(letters.length, "axis").replace("axiss", "axes")}, ${where} is ${list(shape)}.`,
        rest > 0
          ? 'Name every axis, or write "..." for those without a name.'
          : "Give one letter for each axis.",
      );
    }
    dots = rest;
  }
  return parts.length === 1 ? [...letters] : [...parts[0], ...dotLabels(dots), ...parts[1]];
}

/** The size of every name: sizes agree, or are 1 and repeat. */
function sizesOf(inputs: readonly (readonly Label[])[], tensors: readonly Tensor[]): Map<Label, number> {
  const sizes = new Map<Label, number>();
  inputs.forEach((labels, i) => {
    labels.forEach((label, d) => {
      const size = tensors[i].shape[d];
      const before = labels.indexOf(label);
      const own = before < d ? tensors[i].shape[before] : undefined;
      const known = own ?? sizes.get(label);
      if (own === undefined && (known === undefined || known === 1)) sizes.set(label, size);
      else if (size !== known && (size !== 1 || own !== undefined)) {
        fail(
          "shape",
          "einsum",
          `${inWords(label)} is ${known} and, in operand ${i} (${list(tensors[i].shape)}), ${size}.`,
          "Axes with one name have one size; only size 1 repeats.",
        );
      }
    });
  });
  return sizes;
}

function checkOutput(subscripts: string, output: readonly Label[], sizes: ReadonlyMap<Label, number>): void {
  output.forEach((label, i) => {
    const twice = output.indexOf(label) !== i;
    if (sizes.has(label) && !twice) return;
    fail(
      "value",
      "einsum",
      `the output of ${quote(subscripts)} has ${inWords(label)}${twice ? " twice" : ", which no operand has"}.`,
      "Each name of the output occurs in it once, and in an operand.",
    );
  });
}

/* Terms ------------------------------------------------------------------------------------------------------- */

/** The operand with every name once: diagonals for repeated names, and without axes of size 1 that repeat. */
function distinct(t: Tensor, given: readonly Label[], sizes: ReadonlyMap<Label, number>): Term {
  let labels = [...given];
  let view = t;
  for (let d = labels.length - 1; d >= 0; d--) {
    const label = labels[d];
    if (view.shape[d] === 1 && sizes.get(label) !== 1) {
      view = view.squeeze(d);
      labels.splice(d, 1);
    }
  }
  for (let d = 0; d < labels.length; d++) {
    const label = labels[d];
    let next = labels.indexOf(label, d + 1);
    while (next >= 0) {
      // The diagonal comes last.
      view = view.diagonal({ axis1: d, axis2: next }).moveAxis(-1, d);
      labels = labels.filter((_, i) => i !== next);
      next = labels.indexOf(label, d + 1);
    }
  }
  return { t: view, labels };
}

/** The axes in the order of `output`; a view. */
function arrange({ t, labels }: Term, output: readonly Label[]): Tensor {
  const axes = output.map((label) => labels.indexOf(label));
  return t.permute(axes);
}

/** Contracts terms until one is left that has the output's names, in any order. */
export function contractAll(
  given: readonly Term[],
  output: readonly Label[],
  sizes: ReadonlyMap<Label, number>,
  dtype: DType,
): Term {
  let terms = given.map((term, i) => sumLone(term, [...output, ...othersOf(given, [i])], dtype));
  while (terms.length > 1) {
    const [i, j] = terms.length === 2 ? [0, 1] : cheapestPair(terms, output, sizes);
    const keep = new Set([...output, ...othersOf(terms, [i, j])]);
    const product = contractPair(terms[i], terms[j], keep, terms.length === 2 ? output : [], dtype);
    terms = [...terms.filter((_, k) => k !== i && k !== j), product];
  }
  return terms[0];
}

const othersOf = (terms: readonly Term[], except: readonly number[]): Label[] =>
  terms.flatMap(({ labels }, i) => (except.includes(i) ? [] : labels));

/** Sums over names that nobody else has. */
function sumLone({ t, labels }: Term, wanted: readonly Label[], dtype: DType): Term {
  const axis = labels.flatMap((label, d) => (wanted.includes(label) ? [] : [d]));
  if (axis.length === 0) return { t, labels };
  const kept = labels.filter((label) => wanted.includes(label));
  return { t: dtype === "bool" ? any(t, { axis }) : sum(t, { axis, dtype }), labels: kept };
}

/** The pair whose product takes the fewest multiplications; of equals, the one with the smallest result. */
function cheapestPair(
  terms: readonly Term[],
  output: readonly Label[],
  sizes: ReadonlyMap<Label, number>,
): [number, number] {
  let best: [number, number] = [0, 1];
  let least = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const sizeOfAll = (labels: Iterable<Label>) => [...labels].reduce((n, label) => n * sizes.get(label)!, 1);
  for (let i = 0; i < terms.length; i++) {
    for (let j = i + 1; j < terms.length; j++) {
      const all = new Set([...terms[i].labels, ...terms[j].labels]);
      const keep = new Set([...output, ...othersOf(terms, [i, j])]);
      const cost = [sizeOfAll(all), sizeOfAll([...all].filter((label) => keep.has(label)))];
      if (cost[0] > least[0] || (cost[0] === least[0] && cost[1] >= least[1])) continue;
      least = cost;
      best = [i, j];
    }
  }
  return best;
}

/* Two terms --------------------------------------------------------------------------------------------------- */

/** The product of two terms, summed over the names that both have and nobody keeps. */
export function contractPair(
  a: Term,
  b: Term,
  keep: ReadonlySet<Label>,
  order: readonly Label[],
  dtype: DType,
): Term {
  const left = sumLone(a, [...keep, ...b.labels], dtype);
  const right = sumLone(b, [...keep, ...a.labels], dtype);
  const shared = left.labels.filter((label) => right.labels.includes(label));
  const summed = shared.filter((label) => !keep.has(label));
  if (summed.length === 0) return multiply(left, right, order);
  // The side that comes first in the output gives the rows: the result then needs no rearranging.
  const first = order.find((label) => !shared.includes(label));
  const [rows, columns] = first !== undefined && right.labels.includes(first) ? [right, left] : [left, right];
  return product(rows, columns, shared, summed, order);
}

/** Element by element, names in the output's order as far as that is known. */
function multiply(a: Term, b: Term, order: readonly Label[]): Term {
  const all = [...new Set([...a.labels, ...b.labels])];
  const labels = [...order.filter((x) => all.includes(x)), ...all.filter((x) => !order.includes(x))];
  const aligned = ({ t, labels: own }: Term) => {
    const present = labels.filter((label) => own.includes(label));
    const absent = labels.flatMap((label, d) => (own.includes(label) ? [] : [d]));
    const view = t.permute(present.map((label) => own.indexOf(label)));
    return absent.length === 0 ? view : view.expandDims(absent);
  };
  return { t: mul(aligned(a), aligned(b)), labels };
}

/** (…batch, rows, sum) · (…batch, sum, columns) by a matrix product. */
function product(
  a: Term,
  b: Term,
  shared: readonly Label[],
  summed: readonly Label[],
  order: readonly Label[],
): Term {
  const inOrder = (labels: readonly Label[]) => [
    ...order.filter((label) => labels.includes(label)),
    ...labels.filter((label) => !order.includes(label)),
  ];
  const batch = inOrder(shared.filter((label) => !summed.includes(label)));
  const rows = inOrder(a.labels.filter((label) => !shared.includes(label)));
  const columns = inOrder(b.labels.filter((label) => !shared.includes(label)));
  const inner = bestOrder(a, b, summed);
  const sizes = new Map([...a.labels.map((x, d) => [x, a.t.shape[d]] as const)]);
  b.labels.forEach((x, d) => void sizes.set(x, b.t.shape[d]));
  const shapeOf = (labels: readonly Label[]) => labels.map((label) => sizes.get(label)!);
  const left = grouped(a, batch, rows, inner);
  const right = grouped(b, batch, inner, columns);
  const result = matmul(left, right);
  return {
    t: result.view(...shapeOf(batch), ...shapeOf(rows), ...shapeOf(columns)),
    labels: [...batch, ...rows, ...columns],
  };
}

/** The order of the summed names in which both sides (or at least the larger) are seen as one axis without a copy. */
function bestOrder(a: Term, b: Term, summed: readonly Label[]): readonly Label[] {
  if (summed.length === 1) return summed;
  const byStride = ({ t, labels }: Term) =>
    [...summed].sort(
      (x, y) =>
        Math.abs(stridedOf(t).frame.strides[labels.indexOf(y)]) -
        Math.abs(stridedOf(t).frame.strides[labels.indexOf(x)]),
    );
  const copied = (order: readonly Label[]) =>
    [a, b].reduce((bytes, term) => bytes + (joined(term, order) === null ? term.t.size : 0), 0);
  const [first, second] = [byStride(a), byStride(b)];
  return copied(second) < copied(first) ? second : first;
}

/** These axes as one, or null where no stride does that. */
function joined({ t, labels }: Term, group: readonly Label[]): View | null {
  const axes = group.map((label) => labels.indexOf(label));
  const shape = axes.map((d) => t.shape[d]);
  const strides = axes.map((d) => stridedOf(t).frame.strides[d]);
  return reshape({ ...stridedOf(t).frame, shape, strides }, [sizeOf(shape)]);
}

/** The term as (…batch, first, second), each group one axis: a view where strides allow it, else a copy. */
function grouped(
  term: Term,
  batch: readonly Label[],
  first: readonly Label[],
  second: readonly Label[],
): Tensor {
  const { t, labels } = term;
  const view = t.permute([...batch, ...first, ...second].map((label) => labels.indexOf(label)));
  const shape = [
    ...view.shape.slice(0, batch.length),
    sizeOf(view.shape.slice(batch.length, batch.length + first.length)),
    sizeOf(view.shape.slice(batch.length + first.length)),
  ];
  if (reshape(stridedOf(view).frame, shape) !== null) return view.view(shape);
  tellCopy(
    "einsum",
    view.size * stridedOf(view).frame.itemBytes,
    `no strides lay ${list(view.shape)} with strides ${list(view.strides)} out as ${list(shape)}`,
  );
  return wrap(copyTo("einsum", stridedOf(view), view.dtype)).view(shape);
}
