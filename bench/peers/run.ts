/**
 * The run: for each workload every contestant prepares it, its result is verified against the reference, and then all
 * take turns. Only the contestant whose turn it is runs; the others are stopped.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "../harness.ts";
import { type Contestant, cores, ownLabel, programOf, pythonWith } from "./contestants.ts";
import { busyCores } from "./machine.ts";
import { type Builds, Peer } from "./process.ts";
import type { Reply } from "./protocol.ts";
import type { Choice, Workload } from "./types.ts";

/** Milliseconds that a first call may take: Numba compiles, and tfjs on Node 20 spends its in unoptimised code. */
const firstCall = 20_000;

/** Milliseconds (bytes for peak memory) a call: the median, the middle half's width, and the least; of a chosen form. */
export interface Figure extends Partial<Choice> {
  readonly median: number;
  readonly spread: number;
  readonly least: number;
  readonly rounds: number;
  /** The largest error against the reference. */
  readonly error: number;
}
/** Why there is no figure: missing (the contestant has not got it), slow (it would take too long), wrong, or failed. */
export interface NoFigure {
  readonly none: "missing" | "slow" | "wrong" | "failed";
  readonly why: string;
}
export type Outcome = Figure | NoFigure;
export const hasFigure = (outcome: Outcome | undefined): outcome is Figure =>
  outcome !== undefined && "median" in outcome;

export interface WorkloadResult extends Workload {
  /** Cores that were busy with something else just before. */
  readonly busy: number | null;
  readonly results: Readonly<Record<string, Outcome>>;
}
export interface ContestantResult extends Omit<Contestant, "build"> {
  readonly runtimeLabel: string;
  readonly version: string;
  readonly setup: string;
  /** Why it takes no part at all. */
  readonly missing?: string;
}
export interface RunResult {
  readonly contestants: readonly ContestantResult[];
  readonly workloads: readonly WorkloadResult[];
  readonly reference: string;
}

export interface RunOptions {
  /** Rounds of turns, at most. */
  readonly rounds: number;
  /** Milliseconds a turn lasts at least, after as many as `lead` that do not count. */
  readonly turn: number;
  readonly lead: number;
  /** Milliseconds of turns that a contestant gets in one workload, unless three rounds take longer. */
  readonly budget: number;
  /** Fresh processes for each contestant where starting is measured. */
  readonly starts: number;
  /** A call that would take longer than this is not waited for. */
  readonly slowest: number;
  /** Wait for the machine to become quiet. */
  readonly patient: boolean;
}

/** Verified: the largest error against the reference, and the form that goes on, where there were several. */
interface Ready {
  readonly error: number;
  readonly choice?: Choice;
}

/** A contestant's turns at one workload. */
interface Turns extends Ready {
  readonly peer: Peer;
  readonly calls: number;
  readonly lead: number;
  readonly rounds: number;
  readonly times: number[];
}

export type Progress = (done: number, all: number, workload: Workload, what: string) => void;
/** Called with what there is after every workload: a run that is broken off has not been for nothing. */
export type Save = (soFar: RunResult) => void;

export async function runAll(
  contestants: readonly Contestant[],
  workloads: readonly Workload[],
  builds: Builds,
  options: RunOptions,
  progress: Progress,
  save: Save = () => {},
): Promise<RunResult> {
  const run = new Run(contestants, builds, options, progress);
  // Stopped children would outlive a run that is broken off.
  const leave = () => process.exit(130);
  const end = () => run.end();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, leave);
  process.on("exit", end);
  try {
    return await run.all(workloads, save);
  } finally {
    run.end();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.off(signal, leave);
    process.off("exit", end);
  }
}

class Run {
  readonly #peers: readonly Peer[];
  readonly #builds: Builds;
  readonly #options: RunOptions;
  readonly #progress: Progress;
  readonly #folder = mkdtempSync(join(tmpdir(), "strided-peers-"));
  readonly #reference: Peer;
  /** Peers that take no part, and why. */
  readonly #absent = new Map<Peer, string>();

  constructor(contestants: readonly Contestant[], builds: Builds, options: RunOptions, progress: Progress) {
    this.#peers = contestants.map((c) => new Peer(c, builds));
    this.#builds = builds;
    this.#options = options;
    this.#progress = progress;
    this.#reference = new Peer(referenceContestant(), builds);
  }

  async all(workloads: readonly Workload[], save: Save): Promise<RunResult> {
    const { about } = await this.#reference.start();
    this.#reference.pause();
    const python = this.#reference.contestant.runtime === "python";
    const results: WorkloadResult[] = [];
    const soFar = (): RunResult => ({
      contestants: this.#peers.map((peer) => this.#describe(peer)),
      workloads: results,
      reference: python ? `NumPy ${about?.version} in f64` : "the plain loops (no Python with NumPy here)",
    });
    for (const [done, workload] of workloads.entries()) {
      const progress = (what: string) => this.#progress(done, workloads.length, workload, what);
      progress("reference");
      const file = await this.#makeReference(workload);
      const busy = await this.#quiet();
      const measured =
        workload.measure === "call"
          ? await this.#calls(workload, file, results, progress)
          : await this.#fresh(workload, file, progress);
      rmSync(file, { force: true });
      results.push({ ...workload, busy, results: Object.fromEntries(measured) });
      save(soFar());
    }
    return soFar();
  }

  end(): void {
    for (const peer of [...this.#peers, this.#reference]) peer.end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #describe(peer: Peer): ContestantResult {
    const { build: _, ...contestant } = peer.contestant;
    const program = programOf(peer.contestant);
    const missing = this.#absent.get(peer);
    return {
      ...contestant,
      runtimeLabel:
        "label" in program
          ? program.label
          : { own: ownLabel, newer: "a newer Node", python: "Python" }[contestant.runtime],
      version: peer.about?.version ?? "",
      setup: peer.about?.setup ?? "",
      ...(missing === undefined ? {} : { missing }),
    };
  }

  async #makeReference(workload: Workload): Promise<string> {
    const file = join(this.#folder, workload.id);
    const reply = await this.#inTurn(this.#reference, async (peer) => {
      const prepared = await peer.ask({ do: "prepare", task: workload });
      if (prepared.error !== undefined) return prepared;
      const written = await peer.ask({ do: "write", file });
      await peer.ask({ do: "drop" });
      return written;
    });
    if (reply.error !== undefined) throw new Error(`the reference for ${workload.id} failed: ${reply.error}`);
    return file;
  }

  /** Lets one child run for the length of `work`. */
  async #inTurn<T>(peer: Peer, work: (peer: Peer) => Promise<T>): Promise<T> {
    peer.resume();
    try {
      return await work(peer);
    } finally {
      peer.pause();
    }
  }

  async #quiet(): Promise<number | null> {
    let busy = await busyCores(120);
    for (let tries = 0; this.#options.patient && busy !== null && busy > 0.15 && tries < 8; tries++) {
      busy = await busyCores(400);
    }
    return busy;
  }

  /** Workloads that are called again and again. */
  async #calls(
    workload: Workload,
    file: string,
    before: readonly WorkloadResult[],
    progress: (what: string) => void,
  ): Promise<Map<string, Outcome>> {
    const outcomes = new Map<string, Outcome>();
    const ready: { peer: Peer; error: number }[] = [];
    let prepared = 0;
    // Python's first: Numba compiles for seconds.
    const order = [...this.#peers].reverse();
    await inParallel(cores, order, async (peer) => {
      const slow = tooSlow(workload, peer.contestant.id, before, this.#options.slowest);
      const outcome = slow ?? (await this.#inTurn(peer, (p) => this.#prepare(p, workload, file)));
      progress(`prepared and verified ${++prepared}/${this.#peers.length}`);
      if ("none" in outcome) outcomes.set(peer.contestant.id, outcome);
      else ready.push({ peer, error: outcome.error });
    });
    const turns: Turns[] = [];
    const { turn, lead, budget, rounds } = this.#options;
    for (const [k, { peer, error }] of ready.entries()) {
      progress(`warming up ${k + 1}/${ready.length}`);
      const chosen = await this.#inTurn(peer, (p) => this.#choose(p, file, error));
      if ("none" in chosen) {
        outcomes.set(peer.contestant.id, chosen);
        continue;
      }
      const reply = await this.#inTurn(peer, (p) => p.ask({ do: "warm", turn, longest: budget }));
      if (reply.error !== undefined) {
        outcomes.set(peer.contestant.id, { none: "failed", why: reply.error });
        continue;
      }
      const length = Math.max(turn, reply.ms!);
      if (length > this.#options.slowest) {
        outcomes.set(peer.contestant.id, figure([length], chosen));
        continue;
      }
      const least = length > 1000 ? 1 : length > 150 ? 2 : 3;
      const wanted = Math.max(least, Math.min(rounds, Math.floor(budget / length)));
      turns.push({
        peer,
        ...chosen,
        calls: reply.calls!,
        lead: length > 1000 ? 0 : lead,
        rounds: wanted,
        times: [],
      });
    }
    // Those with threads follow one another: a machine lends its cores to others while they are not used.
    turns.sort((s, t) => s.peer.contestant.threads - t.peer.contestant.threads);
    for (let round = 0; round < rounds; round++) {
      progress(`round ${round + 1}/${rounds}`);
      // Each round begins with another contestant, so that nobody always follows the same one.
      for (let k = 0; k < turns.length; k++) {
        const t = turns[(k + round) % turns.length];
        if (t.times.length >= t.rounds) continue;
        const reply = await this.#inTurn(t.peer, (p) => p.ask({ do: "turn", calls: t.calls, lead: t.lead }));
        if (reply.ms !== undefined) t.times.push(reply.ms);
      }
    }
    for (const t of turns) outcomes.set(t.peer.contestant.id, figure(t.times, t));
    for (const { peer } of ready) {
      if (peer.contestant.chooses) peer.end();
      else await this.#inTurn(peer, (p) => p.ask({ do: "drop" }));
    }
    return inOrder(this.#peers, outcomes);
  }

  async #prepare(peer: Peer, workload: Workload, file: string): Promise<NoFigure | Ready> {
    if (!this.#absent.has(peer) && !peer.running) {
      const started = await peer.start();
      const why = started.missing ?? started.error;
      if (why !== undefined) {
        peer.end();
        this.#absent.set(peer, why);
      }
    }
    const absent = this.#absent.get(peer);
    if (absent !== undefined) return { none: "missing", why: absent };
    return verified(await peer.ask({ do: "prepare", task: workload }), () =>
      peer.ask({ do: "check", file }, firstCall),
    );
  }

  /** Has the fastest form chosen, and verifies that one too; nobody else runs meanwhile. */
  async #choose(peer: Peer, file: string, error: number): Promise<NoFigure | Ready> {
    if (peer.contestant.chooses === undefined) return { error };
    const { choice, error: why } = await peer.ask({ do: "choose" });
    if (why !== undefined) return { none: "failed", why };
    if (choice === undefined) return { error };
    const outcome = await verified({}, () => peer.ask({ do: "check", file }, firstCall));
    return "none" in outcome ? outcome : { ...outcome, choice };
  }

  /** Workloads that need a fresh process each time. */
  async #fresh(
    workload: Workload,
    file: string,
    progress: (what: string) => void,
  ): Promise<Map<string, Outcome>> {
    const samples = new Map<Peer, { values: number[]; error: number }>();
    const outcomes = new Map<string, Outcome>();
    const starts = workload.measure === "memory" ? 1 : this.#options.starts;
    for (let round = 0; round < starts; round++) {
      for (const [k, peer] of this.#peers.entries()) {
        progress(`process ${round * this.#peers.length + k + 1}/${starts * this.#peers.length}`);
        const { id } = peer.contestant;
        if (outcomes.has(id)) continue;
        const fresh = new Peer(peer.contestant, this.#builds);
        const outcome = await this.#once(fresh, workload, file);
        fresh.end();
        // A contestant may be measured here only.
        peer.about ??= fresh.about;
        if ("none" in outcome) outcomes.set(id, outcome);
        else {
          const sample = samples.get(peer) ?? { values: [], error: outcome.error };
          sample.values.push(outcome.value);
          samples.set(peer, sample);
        }
      }
    }
    for (const [peer, { values, error }] of samples)
      outcomes.set(peer.contestant.id, figure(values, { error }));
    return inOrder(this.#peers, outcomes);
  }

  async #once(
    peer: Peer,
    workload: Workload,
    file: string,
  ): Promise<NoFigure | { value: number; error: number }> {
    const importing = workload.measure === "import";
    const started = await peer.start(importing ? workload : undefined);
    if (started.missing !== undefined || started.error !== undefined) return absent(started);
    let value = started.ms ?? 0;
    if (!importing) {
      const prepared = await peer.ask({ do: "prepare", task: workload });
      if (prepared.missing !== undefined || prepared.error !== undefined) return absent(prepared);
      const reply = await peer.ask({ do: "peak", calls: 5 });
      if (reply.error !== undefined) return { none: "failed", why: reply.error };
      value = reply.bytes!;
    }
    const outcome = await verified({}, () => peer.ask({ do: "check", file }, firstCall));
    return "none" in outcome ? outcome : { value, error: outcome.error };
  }
}

function referenceContestant(): Contestant {
  const python = !("missing" in pythonWith("reference"));
  return {
    id: "reference",
    name: "reference",
    adapter: python ? "reference" : "loops",
    runtime: python ? "python" : "own",
    ours: false,
    threads: cores,
    turbo: false,
  };
}

/** Why there is nothing to measure. */
function absent({ missing, error = "" }: Reply): NoFigure {
  if (missing !== undefined) return { none: "missing", why: missing };
  // Adapters throw the plain reason where only some dtypes of an operation are missing.
  const plain = /^(has no|its .* has no|needs) /.test(error);
  return { none: plain ? "missing" : error.startsWith("no answer") ? "slow" : "failed", why: error };
}

/** What the reply to a preparation and the check after it come to. */
async function verified(prepared: Reply, check: () => Promise<Reply>): Promise<NoFigure | Ready> {
  if (prepared.missing !== undefined || prepared.error !== undefined) return absent(prepared);
  const reply = await check();
  if (reply.error !== undefined) return absent(reply);
  const { worst, wrong } = reply.difference!;
  return wrong === null ? { error: worst } : { none: "wrong", why: wrong };
}

/** Larger matrix products are left out where a smaller one says how long they would take. */
function tooSlow(
  workload: Workload,
  id: string,
  before: readonly WorkloadResult[],
  slowest: number,
): NoFigure | null {
  if (workload.flops === 0) return null;
  const smaller = before.findLast((w) => w.group === "matmul" && w.flops > 0);
  if (workload.group !== "matmul" || smaller === undefined) return null;
  const known = smaller.results[id];
  if (known !== undefined && "none" in known) return known.none === "slow" ? known : null;
  if (known === undefined) return null;
  const expected = (known.median * workload.flops) / smaller.flops;
  if (expected <= slowest) return null;
  return { none: "slow", why: `would take about ${(expected / 1000).toFixed(0)} s a call` };
}

function figure(times: readonly number[], { error, choice }: Ready): Outcome {
  if (times.length === 0) return { none: "failed", why: "no turn was finished" };
  const sorted = [...times].sort((a, b) => a - b);
  const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  return {
    median: median(sorted),
    spread: at(0.75) - at(0.25),
    least: sorted[0],
    rounds: sorted.length,
    error,
    ...choice,
  };
}

const inOrder = (peers: readonly Peer[], outcomes: Map<string, Outcome>) =>
  new Map(peers.map(({ contestant: { id } }) => [id, outcomes.get(id)!]));

/** At most `count` at a time. */
async function inParallel<T>(
  count: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: count }, worker));
}
