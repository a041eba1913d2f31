/**
 * npm run fuzz: looks for cases that break a law, family after family, with seeds that were never tried, until the time is
 * up. What it finds it prints as a line for tests/corpus, and ends with exit code 1.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { type CorpusLine, fromLine, toLine } from "../tests/fuzz/line.ts";
import { families, familyNamed } from "../tests/fuzz/table.ts";
import type { TurnReport, TurnRequest } from "../tests/fuzz/turn.ts";

const usage = `npm run fuzz -- [options]
  --minutes N       how long to look (default 5)
  --only A,B        these families alone; there are ${families.map((f) => f.name).join(", ")}
  --seed S          begins with this seed (default: one that depends on the time); turn i has seed S + i,
                    so --only F --seed S tries again what a finding of F names
  --help            this text`;

/** What was asked for; with a mistake in it, the usage and exit code 2. */
function asked() {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: "string", default: "5" },
        only: { type: "string" },
        seed: { type: "string", default: String(Date.now() % 2 ** 30) },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return null;
    const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
    const only = (values.only?.split(",") ?? families.map((f) => f.name)).map(familyNamed);
    if (minutes > 0 && Number.isInteger(seed)) return { minutes, firstSeed: seed, chosen: only };
    throw new Error("--minutes is a number over 0, --seed a whole number");
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
const choice = asked();
if (choice === null) {
  console.log(usage);
  process.exit(0);
}
const { minutes, firstSeed, chosen } = choice;

/** A turn is this long; a case that takes as much again and a minute never comes back. */
const turnMs = Math.min(15_000, Math.max(1000, (minutes * 60_000) / (2 * chosen.length)));
const GRACE_MS = 60_000;
/** So many findings of one family are enough for one night. */
const MOST_FINDINGS = 5;
/** A failure that depends on what ran before it is kept with so many cases at most. */
const MOST_BEFORE = 12;

const program = fileURLToPath(new URL("../tests/fuzz/turn.ts", import.meta.url));
type Outcome = TurnReport | { readonly cases: number; readonly crash: string };

/** One process: its report, or how it ended without one. */
function take(
  request: TurnRequest,
  milliseconds: number,
  tell: (cases: number) => void = () => {},
): Promise<Outcome> {
  return new Promise((done) => {
    const child = spawn(process.execPath, ["--import", "tsx", program], { stdio: ["pipe", "pipe", "pipe"] });
    const hung = setTimeout(() => child.kill("SIGKILL"), milliseconds + GRACE_MS);
    let [said, complaints, cases] = ["", "", 0];
    let report: TurnReport | null = null;
    child.stdout.on("data", (text: Buffer) => {
      said += text;
      for (let end = said.indexOf("\n"); end >= 0; end = said.indexOf("\n")) {
        const line = fromLine(said.slice(0, end)) as TurnReport;
        said = said.slice(end + 1);
        if (line.finding !== undefined) report = line;
        cases = line.cases;
        tell(cases);
      }
    });
    child.stderr.on("data", (text: Buffer) => {
      complaints += text;
    });
    child.on("close", (code, signal) => {
      clearTimeout(hung);
      const how =
        signal === "SIGKILL" ? "it never came back" : `the process ended with ${signal ?? `code ${code}`}`;
      done(report ?? { cases, crash: `${how} ${complaints.trim().split("\n").slice(-3).join(" ")}`.trim() });
    });
    child.stdin.end(toLine(request));
  });
}

const fails = async (family: string, list: readonly unknown[]): Promise<boolean> => {
  const outcome = await take({ family, list }, turnMs);
  return "crash" in outcome || outcome.finding !== null;
};

/** The few cases that must run before this one for it to fail; null: it fails in no new process. */
async function cause(family: string, seed: number, ran: number, last: unknown): Promise<unknown[] | null> {
  if (await fails(family, [last])) return [];
  const history = fc.sample(familyNamed(family).cases, { seed, numRuns: ran });
  if (!(await fails(family, [...history, last]))) return null;
  // The latest start from which it still fails names one that is needed; then on among those before it.
  const needed: unknown[] = [];
  for (let end = history.length; needed.length < MOST_BEFORE; ) {
    let [low, high] = [0, end];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (await fails(family, [...history.slice(middle, end), ...needed, last])) low = middle;
      else high = middle;
    }
    needed.unshift(history[low]);
    if (await fails(family, [...needed, last])) return needed;
    end = low;
  }
  return null;
}

/** A case that ends its process is seen in the file that the same turn, taken again, leaves behind. */
async function traced(family: string, explore: NonNullable<TurnRequest["explore"]>): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), "strided-fuzz-"));
  try {
    const trace = join(folder, "case");
    const outcome = await take(
      { family, explore: { ...explore, milliseconds: 3 * explore.milliseconds }, trace },
      turnMs * 3,
    );
    return "crash" in outcome ? fromLine(readFileSync(trace, "utf8")) : null;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/* Progress: one line that changes in a terminal, one line a turn in a log ------------------------------------------ */

const start = performance.now();
const end = start + minutes * 60_000;
const tally = new Map(
  chosen.map((f) => [
    f.name,
    { turns: 0, cases: 0, compared: 0, findings: 0, kinds: new Map<string, number>() },
  ]),
);
const clock = () => {
  const left = Math.max(0, Math.round((end - performance.now()) / 1000));
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")} left`;
};
const progress = (name: string, cases: number) =>
  `${name.padEnd(18)} ${String(cases).padStart(9)} cases   ${clock()}`;
const { isTTY } = process.stdout;
const rewrite = (text: string) => process.stdout.write(`\r\u001b[K${text}`);
const print = (text: string) => (isTTY ? rewrite(`${text}\n`) : console.log(text));

print(
  `${minutes} minutes, ${chosen.length} families, from seed ${firstSeed}; what is found goes into tests/corpus`,
);
for (let turn = 0; performance.now() < end; turn++) {
  const open = chosen.filter((f) => tally.get(f.name)!.findings < MOST_FINDINGS);
  if (open.length === 0) break;
  const { name } = open[turn % open.length];
  const so = tally.get(name)!;
  const seed = (firstSeed + turn) | 0;
  const explore = { seed, milliseconds: Math.min(turnMs, Math.max(1000, end - performance.now())) };
  const outcome = await take({ family: name, explore }, explore.milliseconds, (cases) => {
    if (isTTY) rewrite(progress(name, so.cases + cases));
  });
  so.turns++;
  so.cases += outcome.cases;
  if (!isTTY) print(progress(name, so.cases));
  if ("crash" in outcome) {
    so.findings++;
    const last = await traced(name, explore);
    finding({ family: name, why: outcome.crash, case: last }, seed, "");
    continue;
  }
  so.compared += outcome.compared;
  for (const [kind, n] of Object.entries(outcome.kinds)) so.kinds.set(kind, (so.kinds.get(kind) ?? 0) + n);
  if (outcome.finding === null) continue;
  so.findings++;
  const { error, path } = outcome.finding;
  const ran = Number(path.split(":")[0]);
  const before = await cause(name, seed, ran, outcome.finding.case);
  const why = error.split("\n")[0];
  const needs = before === null || before.length === 0 ? {} : { before };
  finding({ family: name, why, ...needs, case: outcome.finding.case }, seed, path);
  if (before === null) print("  alone, in a new process, it passes: only the seed brings it back");
}

function finding(line: CorpusLine, seed: number, path: string): void {
  print(
    `FOUND in ${line.family} (npm run fuzz -- --only ${line.family} --seed=${seed}${path && `, path ${path}`}):`,
  );
  print(toLine(line));
}

if (isTTY) rewrite("");
print(
  `${"family".padEnd(18)} ${"turns".padStart(6)} ${"cases".padStart(10)} ${"compared".padStart(10)} findings`,
);
for (const [name, { turns, cases, compared, findings, kinds }] of tally) {
  const row = [
    String(turns).padStart(6),
    String(cases).padStart(10),
    String(compared).padStart(10),
    String(findings),
  ];
  print(`${name.padEnd(18)} ${row.join(" ")}`);
  if (kinds.size > 0)
    print(
      `  ${[...kinds]
        .sort()
        .map(([kind, n]) => `${kind} ${n}`)
        .join(", ")}`,
    );
}
const findings = [...tally.values()].reduce((sum, f) => sum + f.findings, 0);
print(findings === 0 ? "nothing was found" : `${findings} findings`);
process.exit(findings === 0 ? 0 : 1);
