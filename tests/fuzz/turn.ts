/**
 * One turn of a family, in a process of its own: what it is to do comes as a line on stdin, what came of it goes as lines
 * to stdout. `npm run fuzz` starts it, and the tests do for cases that depend on what ran before them.
 */
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { configure } from "../../src/index.ts";
import { fromLine, toLine } from "./line.ts";
import { familyNamed } from "./table.ts";

/** Explores from a seed until the time is up, or runs the cases of a list. */
export interface TurnRequest {
  readonly family: string;
  readonly explore?: { readonly seed: number; readonly milliseconds: number };
  readonly list?: readonly unknown[];
  /** A file that always holds the case that is running: for those that never come back. */
  readonly trace?: string;
}

/** The last line; lines before it are `{ cases }` alone, one a second. */
export interface TurnReport {
  readonly cases: number;
  readonly compared: number;
  /** Cases of each kind, where the family has kinds. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly finding: { readonly case: unknown; readonly path: string; readonly error: string } | null;
}

const say = (x: object) => writeSync(1, `${toLine(x)}\n`);

async function take(request: TurnRequest): Promise<TurnReport> {
  const f = familyNamed(request.family);
  let [cases, compared, told] = [0, 0, performance.now()];
  const kinds: Record<string, number> = {};
  const check = async (c: unknown) => {
    const kind = f.kind?.(c);
    if (kind !== undefined) kinds[kind] = (kinds[kind] ?? 0) + 1;
    if (request.trace !== undefined) writeFileSync(request.trace, toLine(c));
    cases++;
    if (await f.check(c)) compared++;
    if (performance.now() - told > 1000) {
      told = performance.now();
      say({ cases });
    }
  };
  const text = (error: unknown) =>
    error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  for (const c of request.list ?? []) {
    try {
      await check(c);
    } catch (error) {
      return { cases, compared, kinds, finding: { case: c, path: "", error: text(error) } };
    }
  }
  if (request.explore === undefined) return { cases, compared, kinds, finding: null };
  const { seed, milliseconds } = request.explore;
  const found = await fc.check(fc.asyncProperty(f.cases, check), {
    seed,
    numRuns: 10_000_000,
    interruptAfterTimeLimit: milliseconds,
    markInterruptAsFailure: false,
  });
  const failed = found.failed && found.counterexample !== null;
  return {
    cases,
    compared,
    kinds,
    finding: failed
      ? {
          case: found.counterexample![0],
          path: found.counterexamplePath ?? "",
          error: text(found.errorInstance),
        }
      : null,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  configure({ threads: 2 });
  const report = await take(fromLine(readFileSync(0, "utf8")) as TurnRequest);
  say(report);
  process.exit(report.finding === null ? 0 : 1);
}
