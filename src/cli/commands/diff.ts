/** `strided diff`: how two files differ. */
import { list } from "../../errors.ts";
import { short } from "../../plot/scale.ts";
import type { Archive, Entry } from "../archive-types.ts";
import type { Parsed } from "../args.ts";
import { type Block, blocksOfEntry, checkWalk } from "../blocks.ts";
import { type Command, except, help, json, links, only } from "../command.ts";
import { chosen, fitting, readAs, shownName, tensors, typeOf, using, withArchive } from "../entries.ts";
import { type Host, jsonText, Progress, Usage } from "../host.ts";
import { type Difference, differenceOf, joinDifferences } from "../statistics.ts";
import { columns } from "../table.ts";

interface Finding {
  readonly name: string;
  readonly what: "same" | "close" | "different" | "missing";
  readonly says: string;
  readonly difference?: Difference;
}

export const diff: Command = {
  usage: "A B [--rtol R] [--atol A] [--only GLOB] [--json]",
  says: "how two files differ: largest error, ulps, and where",
  more:
    "Exit code 1 where they do. NaN is equal to NaN. With a tolerance, |a - b| <= atol + rtol * |b| is close enough, and so\n" +
    "is another dtype; without one both have to be the same.",
  flags: {
    rtol: { kind: "number", value: "R", says: "relative tolerance" },
    atol: { kind: "number", value: "A", says: "absolute tolerance" },
    only,
    except,
    json,
    links,
    help,
  },
  examples: [
    "strided diff before.npz after.npz",
    "strided diff model.safetensors model-f16.safetensors --rtol 1e-3",
  ],
  words: [2, 2],
  run: (args, host) => {
    if (args.words[0] === "-" && args.words[1] === "-")
      throw new Usage("standard input can be one of the two files.");
    const [rtol, atol] = [args.number("rtol", 0), args.number("atol", 0)];
    const isLoose = rtol !== undefined || atol !== undefined;
    const tolerance = { rtol: rtol ?? 0, atol: atol ?? 0 };
    return withArchive(host, args, args.words[0], (a) =>
      withArchive(host, args, args.words[1], async (b) => {
        const findings = await compare(host, a, b, args, tolerance, isLoose);
        const isDifferent = findings.some(({ what }) => what === "different" || what === "missing");
        if (args.flag("json")) {
          host.out(jsonText({ equal: !isDifferent, tensors: findings }));
          return isDifferent ? 1 : 0;
        }
        const told = findings.filter(({ what }) => what !== "same");
        const rows = told.map(({ name, says }) => [shownName(name), says]);
        host.out([...columns(null, rows, []), summaryText(findings)].join("\n"));
        return isDifferent ? 1 : 0;
      }),
    );
  },
};

function summaryText(findings: readonly Finding[]): string {
  const count = (...kinds: Finding["what"][]) => findings.filter(({ what }) => kinds.includes(what)).length;
  const [same, close, other] = [count("same"), count("close"), count("different", "missing")];
  if (close + other === 0) return `${tensors(same)}, all the same`;
  const parts = [
    `${tensors(same)} the same`,
    close > 0 ? `${close} close` : "",
    other > 0 ? `${other} not` : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

async function compare(
  host: Host,
  a: Archive,
  b: Archive,
  args: Parsed,
  tolerance: { rtol: number; atol: number },
  isLoose: boolean,
): Promise<Finding[]> {
  let [first, second] = [fitting(a.entries, args), fitting(b.entries, args)];
  // What fits no name of either file has been misspelt.
  if (first.length + second.length === 0) chosen([...a.entries, ...b.entries], args);
  // Where one file has a single tensor and one is chosen of the other, they are meant, whatever they are called.
  if (first.length === 1 && b.entries.length === 1) second = b.entries;
  else if (second.length === 1 && a.entries.length === 1) first = a.entries;
  const isPair =
    first.length === 1 && second.length === 1 && (a.entries.length === 1 || b.entries.length === 1);
  const others = new Map(second.map((e) => [e.name, e]));
  const findings: Finding[] = [];
  const progress = new Progress(host, first.length);
  try {
    for (const x of first) {
      progress.step(x.name);
      const y = isPair ? second[0] : others.get(x.name);
      if (y !== undefined) others.delete(y.name);
      findings.push(
        y === undefined
          ? missing(x, "only in the first file")
          : await compareOne(a, b, x, y, tolerance, isLoose),
      );
    }
  } finally {
    progress.end();
  }
  return [...findings, ...[...others.values()].map((y) => missing(y, "only in the second file"))];
}

const missing = ({ name }: Entry, says: string): Finding => ({ name, what: "missing", says });

async function compareOne(
  a: Archive,
  b: Archive,
  x: Entry,
  y: Entry,
  tolerance: { rtol: number; atol: number },
  isLoose: boolean,
): Promise<Finding> {
  const { name } = x;
  if (list(x.shape) !== list(y.shape)) {
    return { name, what: "different", says: `shape ${list(x.shape)} and ${list(y.shape)}` };
  }
  if (readAs(x) === null || readAs(y) === null) {
    return { name, what: "different", says: `cannot be read: ${typeOf(x)} and ${typeOf(y)} have no dtype` };
  }
  const types = typeOf(x) === typeOf(y) ? "" : `${typeOf(x)} and ${typeOf(y)}`;
  const difference = await differenceIn(a, b, x, y, tolerance);
  const isSame = difference.different === 0 && (types === "" || isLoose);
  if (isSame) return { name, what: "same", says: "", difference };
  const isClose = isLoose && difference.beyond === 0;
  const size = x.shape.reduce((product, n) => product * n, 1);
  const says = [types, differenceText(difference, size, isClose)].filter((part) => part !== "").join("; ");
  return { name, what: isClose ? "close" : "different", says, difference };
}

/** How two tensors of one shape differ, block by block where both can be read so. */
async function differenceIn(
  a: Archive,
  b: Archive,
  x: Entry,
  y: Entry,
  tolerance: { rtol: number; atol: number },
): Promise<Difference> {
  const parts = async (slice?: Block["slice"]): Promise<Difference> => {
    const left = await a.read(x.name, slice);
    try {
      return using(await b.read(y.name, slice), (right) => differenceOf(left, right, tolerance));
    } finally {
      left.dispose();
    }
  };
  const blocks = y.packed === undefined ? blocksOfEntry(x) : null;
  if (blocks === null) return parts();
  checkWalk(y);
  let all: Difference | null = null;
  for (const { slice, at } of blocks) {
    const one = await parts(slice);
    all = all === null ? one : joinDifferences(all, one, at);
  }
  return all as Difference;
}

function differenceText(d: Difference, size: number, isClose: boolean): string {
  if (d.different === 0) return "the same values";
  const error = Number.isNaN(d.maxError) ? "NaN beside a number" : `max error ${short(d.maxError)}`;
  const parts = [
    `${d.different} of ${size} differ`,
    error,
    ...(d.maxUlp === null || Number.isNaN(d.maxUlp) ? [] : [`${short(d.maxUlp)} ulp`]),
    ...(d.at === null ? [] : [`at ${list(d.at)}: ${d.values?.join(" and ")}`]),
  ];
  return `${parts.join(", ")}${isClose ? " (close enough)" : ""}`;
}
