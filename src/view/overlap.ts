/**
 * May two views (of one storage), or two elements of one view, share a byte?
 *
 * Exact whenever the answer is cheap; otherwise "yes", which costs a copy but never a wrong result.
 * Two elements meet where Σ c·x = target (give or take the bytes of an item) has a solution in integers
 * 0 ≤ x ≤ bound: a bounded Diophantine equation, searched from the largest step down with bounds and gcd.
 */
import { sizeOf } from "./layout.ts";
import { extent, type View } from "./view.ts";

/** Nodes the search may visit before it gives up and says "yes". */
const WORK_LIMIT = 2000;

/** Do the byte ranges meet? Never false for views that share a byte; true also for interleaved ones. */
export function mayShareMemory(a: View, b: View): boolean {
  if (sizeOf(a.shape) === 0 || sizeOf(b.shape) === 0) return false;
  const p = extent(a);
  const q = extent(b);
  return p.start < q.end && q.start < p.end;
}

/**
 * Does some element of `a` share a byte with some element of `b`? True when the search is too long to
 * tell.
 */
export function overlaps(a: View, b: View): boolean {
  if (!mayShareMemory(a, b)) return false;
  if (a.offset === b.offset) return true; // their first elements meet
  // addrA(i) + x = addrB(j) + y with bytes 0 ≤ x < itemA, 0 ≤ y < itemB; y is counted down from itemB - 1.
  const terms: Term[] = [];
  for (let d = 0; d < a.shape.length; d++) terms.push({ step: a.strides[d], low: 0, high: a.shape[d] - 1 });
  for (let d = 0; d < b.shape.length; d++) terms.push({ step: -b.strides[d], low: 0, high: b.shape[d] - 1 });
  return maySolve(terms, b.offset - a.offset + b.itemBytes - 1, a.itemBytes + b.itemBytes - 2);
}

/** May two different indices reach the same byte? True when the search is too long to tell. */
export function selfOverlaps(view: View): boolean {
  if (sizeOf(view.shape) < 2) return false;
  const axes: { readonly step: number; readonly size: number }[] = [];
  for (let d = 0; d < view.shape.length; d++) {
    if (view.shape[d] > 1) axes.push({ step: Math.abs(view.strides[d]), size: view.shape[d] });
  }
  axes.sort((a, b) => a.step - b.step);
  let inside = view.itemBytes;
  let nested = true;
  for (const { step, size } of axes) {
    if (step < view.itemBytes) return true;
    if (step < inside) nested = false;
    inside += step * (size - 1);
  }
  // Each step clears all that lies inside it: no two elements meet.
  if (nested) return false;
  // Two indices that meet differ by some d ≠ 0. Up to sign, its first non-zero entry is positive: try each
  // axis.
  const slack = view.itemBytes - 1;
  for (let first = 0; first < axes.length; first++) {
    const terms: Term[] = [{ step: axes[first].step, low: 1, high: axes[first].size - 1 }];
    for (const { step, size } of axes.slice(first + 1)) terms.push({ step, low: 1 - size, high: size - 1 });
    if (maySolve(terms, slack, 2 * slack)) return true;
  }
  return false;
}

/**
 * Does every index reach the same bytes in both? Then an elementwise result may replace its input in
 * place.
 */
export function sameElements(a: View, b: View): boolean {
  if (a === b) return true;
  if (a.offset !== b.offset || a.itemBytes !== b.itemBytes || a.shape.length !== b.shape.length) return false;
  for (let d = 0; d < a.shape.length; d++) {
    if (a.shape[d] !== b.shape[d]) return false;
    if (a.strides[d] !== b.strides[d] && a.shape[d] !== 1) return false;
  }
  return true;
}

// ---- Σ step·x + t = target, low ≤ x ≤ high, 0 ≤ t ≤ slack -------------------------------------------

interface Term {
  readonly step: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Positive steps, largest first, with 0 ≤ x ≤ bounds[k]; and of terms k and later, their highest sum and
 * gcd.
 */
interface Search {
  readonly steps: readonly number[];
  readonly bounds: readonly number[];
  readonly sums: readonly number[];
  readonly gcds: readonly number[];
  readonly slack: number;
  work: number;
}

/** Has it a solution? True, too, when the work limit ends the search. */
function maySolve(terms: readonly Term[], target: number, slack: number): boolean {
  let rest = target;
  const bounds = new Map<number, number>();
  for (const { step, low, high } of terms) {
    // Count each x from the end where step·x is lowest: then all steps are positive and start at 0.
    rest -= step * (step >= 0 ? low : high);
    if (step !== 0) bounds.set(Math.abs(step), (bounds.get(Math.abs(step)) ?? 0) + high - low);
  }
  const steps = [...bounds.keys()].sort((a, b) => b - a);
  const sums = [0];
  const gcds = [0];
  for (const step of [...steps].reverse()) {
    sums.unshift(sums[0] + step * bounds.get(step)!);
    gcds.unshift(gcd(step, gcds[0]));
  }
  return search(
    { steps, bounds: steps.map((step) => bounds.get(step)!), sums, gcds, slack, work: 0 },
    0,
    rest,
  );
}

function search(s: Search, k: number, rest: number): boolean {
  if (++s.work > WORK_LIMIT) return true;
  if (rest < 0 || rest > s.sums[k] + s.slack) return false;
  if (k === s.steps.length) return true;
  if (rest % s.gcds[k] > s.slack) return false;
  const step = s.steps[k];
  const high = Math.min(s.bounds[k], Math.floor(rest / step));
  // Without a smaller step to fill the gap, only the nearest multiple can do.
  if (k === s.steps.length - 1) return rest - step * high <= s.slack;
  const low = Math.max(Math.ceil((rest - s.sums[k + 1] - s.slack) / step), 0);
  for (let x = high; x >= low; x--) {
    if (search(s, k + 1, rest - step * x)) return true;
  }
  return false;
}

function gcd(a: number, b: number): number {
  let [p, q] = [a, b];
  while (q !== 0) [p, q] = [q, p % q];
  return p;
}
