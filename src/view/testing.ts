/**
 * For the tests beside this file: random views, and a model of a view that shares no code with the library.
 *
 * The model of a view is the nested list of its elements' byte addresses.
 */
import fc from "fast-check";
import { slice } from "./slice.ts";
import {
  broadcastTo,
  contiguousView,
  diagonal,
  expandDims,
  flip,
  permute,
  slidingWindow,
  transpose,
  type View,
} from "./view.ts";

export type Nested = number | readonly Nested[];

export function nest(view: View, d = 0, address = view.offset): Nested {
  if (d === view.shape.length) return address;
  const rows: Nested[] = [];
  for (let i = 0; i < view.shape[d]; i++) rows.push(nest(view, d + 1, address + i * view.strides[d]));
  return rows;
}

/** Addresses in C order. */
export function addresses(view: View): number[] {
  const flat: number[] = [];
  const walk = (node: Nested): void => {
    if (typeof node === "number") flat.push(node);
    else for (const child of node) walk(child);
  };
  walk(nest(view));
  return flat;
}

export function at(node: Nested, index: readonly number[]): Nested {
  let here = node;
  for (const i of index) here = (here as readonly Nested[])[i];
  return here;
}

/** Every index of a shape, in C order. */
export function indices(shape: readonly number[]): number[][] {
  let all: number[][] = [[]];
  for (const n of shape) all = all.flatMap((head) => Array.from({ length: n }, (_, i) => [...head, i]));
  return all;
}

/** The bytes a view touches. */
export function bytesOf(view: View): Set<number> {
  const bytes = new Set<number>();
  for (const address of addresses(view)) for (let b = 0; b < view.itemBytes; b++) bytes.add(address + b);
  return bytes;
}

export function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return (error as Error).message;
  }
  return "no error";
}

/** A view, and the bytes of the dense memory it was cut from. */
export interface Sample {
  readonly view: View;
  readonly bytes: number;
}

const MAX_ELEMENTS = 200;

/** Views already permuted, flipped, stepped, windowed, expanded, empty or stride-0, in any combination. */
export const samples: fc.Arbitrary<Sample> = fc
  .record({
    shape: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 }),
    itemBytes: fc.constantFrom(1, 2, 4, 8),
    steps: fc.array(fc.tuple(fc.nat(7), fc.nat(99), fc.nat(99)), { maxLength: 5 }),
  })
  .map(({ shape, itemBytes, steps }) => {
    let view = contiguousView(shape, itemBytes);
    const bytes = itemBytes * shape.reduce((a, b) => a * b, 1);
    for (const [kind, a, b] of steps) {
      const next = mutate(view, kind, a, b);
      if (next.shape.length <= 5 && next.shape.reduce((p, n) => p * n, 1) <= MAX_ELEMENTS) view = next;
    }
    return { view, bytes };
  });

function mutate(view: View, kind: number, a: number, b: number): View {
  const rank = view.shape.length;
  if (kind === 0) return expandDims(view, a % (rank + 1));
  if (kind === 1) return transpose(view);
  if (rank === 0) return view;
  const d = a % rank;
  const items = view.shape.map((): string => ":");
  switch (kind) {
    case 2:
      return flip(view, d);
    case 3: {
      const axes = view.shape.map((_, k) => k);
      axes.push(...axes.splice(d, 1));
      return permute(view, axes);
    }
    case 4:
      items[d] = `${b % 3}::${(b % 5) - 2 || 3}`;
      return slice(view, items);
    case 5:
      return broadcastTo(
        view,
        view.shape.map((n, k) => (n === 1 && k >= d ? b % 4 : n)),
      );
    case 6:
      return rank > 1 ? diagonal(view, (b % 3) - 1, d, (d + 1) % rank) : view;
    default:
      return view.shape[d] > 1 ? slidingWindow(view, 2, d) : view;
  }
}

/** Several views of one shape: any axis order, gaps, signs, and stride 0. */
export const operands: fc.Arbitrary<readonly View[]> = fc
  .record({
    shape: fc.array(fc.constantFrom(1, 2, 3, 4), { maxLength: 4 }),
    empty: fc.nat(20),
    layouts: fc.array(
      fc.record({
        order: fc.nat(23),
        gap: fc.constantFrom(1, 1, 1, 2),
        signs: fc.constantFrom(0, 0, 15, 1, 6),
        zeros: fc.constantFrom(0, 0, 0, 1, 2, 5, 15),
        itemBytes: fc.constantFrom(1, 4, 8),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  })
  .map(({ shape, empty, layouts }) => {
    const sizes = shape.map((n, d) => (d === empty ? 0 : n));
    return layouts.map((layout) => {
      const strides = new Array<number>(sizes.length).fill(0);
      let step = layout.itemBytes;
      let offset = 0;
      for (const d of nthOrder(sizes.length, layout.order)) {
        const stride = ((layout.zeros >> d) & 1) === 1 ? 0 : step;
        const backwards = ((layout.signs >> d) & 1) === 1;
        strides[d] = backwards ? 0 - stride : stride;
        if (backwards) offset += stride * Math.max(sizes[d] - 1, 0);
        step *= Math.max(sizes[d], 1) * layout.gap;
      }
      return { shape: sizes, strides, offset, itemBytes: layout.itemBytes };
    });
  });

/** One of the orders of 0 … rank-1. */
function nthOrder(rank: number, n: number): number[] {
  const rest = Array.from({ length: rank }, (_, d) => rank - 1 - d);
  const order: number[] = [];
  for (let k = rank, code = n; k > 0; code = Math.floor(code / k), k--)
    order.push(...rest.splice(code % k, 1));
  return order;
}
