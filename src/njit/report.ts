/** What there is to say of the loops of a Code: which run in parallel, by lanes, without checks, and why others do not. */
import type { WholeLoop } from "../run/whole.ts";
import type { CallReport } from "./bind.ts";
import { type Code, forksOf, insides, isLoopBlock, type LanesStep, type LoopStep, type Step } from "./ir.ts";
import { lineOf } from "./refuse.ts";
import type { Place } from "./tree.ts";

/** One loop of the source; the code may have it several times. */
interface Found {
  readonly place: Place;
  readonly forms: LoopStep[];
  lanes: number | null;
  fork: number | null;
  prange: boolean;
  why: string | null;
  /** Where it was written out. */
  turns: number | null;
}

export function loopsOf(code: Code, { forks, inOrder }: CallReport): WholeLoop[] {
  const numbers = forksOf(code);
  const found = new Map<string, Found>();
  const at = (place: Place): Found => {
    const key = `${place.span.start} ${place.span.end} ${place.source}`;
    let loop = found.get(key);
    if (loop === undefined) {
      loop = { place, forms: [], lanes: null, fork: null, prange: false, why: null, turns: null };
      found.set(key, loop);
    }
    return loop;
  };
  const walk = (steps: readonly Step[]): void => {
    steps.forEach((step, i) => {
      const inner = isLoopBlock(step) ? step.body[0] : null;
      if (inner !== null) {
        const loop = at(inner.place);
        loop.forms.push(inner);
        loop.prange ||= inner.parallel;
        loop.why ??= inner.why ?? null;
        const before = lanesOf(steps[i - 1]);
        if (before !== null) loop.lanes = Math.max(loop.lanes ?? 0, before.width);
      }
      if (step.op === "fork") {
        const loop = at(step.place);
        loop.fork = numbers.indexOf(step);
        loop.prange = true;
      }
      insides(step).forEach(walk);
    });
  };
  walk(code.body);
  for (const { place, turns } of code.unrolled) at(place).turns = turns;
  const all = [...found.values()].sort((a, b) => a.place.span.start - b.place.span.start);
  return all.map(({ place, forms, lanes, fork, prange, why, turns }): WholeLoop => {
    const run = fork === null ? null : forks[fork];
    const isZero = run !== null && run.turns > 0 && run.ordered;
    const overlaps = fork !== null && inOrder[fork];
    const isWritten = turns !== null && forms.length === 0;
    const checks = isWritten ? [0] : forms.map((form) => checksOf(form.body));
    const [least, most] = [Math.min(...checks), Math.max(...checks)];
    return {
      line: lineOf(place),
      text: headOf(place),
      depth: all.filter((other) => isInside(place, other.place)).length,
      prange,
      parallel:
        run === null || overlaps || isZero
          ? null
          : { turns: run.turns, tasks: run.shared, threads: run.threads },
      why: overlaps
        ? "what it writes to overlaps what it reads, or itself"
        : isZero
          ? "its turns share elements: a factor of an index is 0"
          : why,
      lanes,
      whyScalar: lanes === null && !isWritten ? whyScalar(forms[0], least) : null,
      unrolled: isWritten ? turns : null,
      checks: least,
      checksOtherwise: most,
    };
  });
}

const isInside = (a: Place, b: Place): boolean =>
  a !== b && a.source === b.source && b.span.start < a.span.start && a.span.end <= b.span.end;

/** The lanes that come before a loop, under a test or not. */
function lanesOf(step: Step | undefined): LanesStep | null {
  if (step?.op === "lanes") return step;
  return step?.op === "if" ? lanesOf(step.yes[0]) : null;
}

const isLoop = (step: Step): boolean => step.op === "loop" || step.op === "fork" || step.op === "lanes";
const hasLoop = (step: Step): boolean => isLoop(step) || insides(step).some((list) => list.some(hasLoop));

/** Indices that a turn checks, those of loops inside not counted. */
function checksOf(steps: readonly Step[]): number {
  let count = 0;
  for (const step of steps) {
    if (isLoop(step)) continue;
    if (step.op === "load" || step.op === "store") count += step.proved.filter((p) => !p).length;
    for (const list of insides(step)) count += checksOf(list);
  }
  return count;
}

function whyScalar(form: LoopStep | undefined, checks: number): string {
  if (form === undefined || form.parallel) return "its turns run one after another";
  if (form.body.some(hasLoop)) return "it has loops inside";
  if (checks > 0) return "each turn checks an index";
  return "its turns need each other, leave it early, or use no neighbours in memory";
}

/** The line that a loop begins with, without what follows its head. */
function headOf({ source, span }: Place): string {
  const text = source.slice(span.start, span.end);
  let depth = 0;
  for (let i = text.indexOf("("); i >= 0 && i < text.length; i++) {
    if (text[i] === "(") depth++;
    else if (text[i] === ")" && --depth === 0) return text.slice(0, i + 1).replace(/\s+/g, " ");
  }
  return text.split("\n", 1)[0];
}
