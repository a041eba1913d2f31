/**
 * What the terminal can: its width, its colours, its letters. Read from the host when a plot is printed, never at import;
 * where there is no terminal (a page, a file) a plot is 80 columns of plain text.
 */
import type { PlotColor } from "./options.ts";
import type { RGB } from "./scale.ts";

type Environment = Readonly<Record<string, string | undefined>>;
interface Stream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}
interface Host {
  readonly env?: Environment;
  readonly stdout?: Stream;
  readonly platform?: string;
}

export interface Terminal {
  readonly columns: number;
  readonly color: Exclude<PlotColor, "auto">;
  readonly ascii: boolean;
}

const WIDTH = 80;

/** What a stream with this environment can. */
export function terminalOf(stream: Stream | undefined, env: Environment, platform = "linux"): Terminal {
  const isTTY = stream?.isTTY === true;
  const columns = stream?.columns ?? Number(env.COLUMNS);
  return {
    columns: Number.isInteger(columns) && columns >= 20 ? Math.min(columns, 1000) : WIDTH,
    color: colorOf(isTTY, env),
    ascii: isTTY && platform !== "win32" && !hasUnicode(env),
  };
}

/** By the customs: NO_COLOR, FORCE_COLOR, then what the terminal says of itself. */
function colorOf(isTTY: boolean, env: Environment): Terminal["color"] {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return "none";
  const forced = env.FORCE_COLOR;
  if (forced === "0" || forced === "false") return "none";
  if (forced === "3") return "truecolor";
  if ((!isTTY && forced === undefined) || env.TERM === "dumb") return "none";
  if (/truecolor|24bit/i.test(env.COLORTERM ?? "")) return "truecolor";
  return "256";
}

const hasUnicode = (env: Environment): boolean =>
  env.TERM !== "dumb" &&
  env.TERM !== "linux" &&
  /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || "UTF-8");

/** The terminal this program writes to. */
export function hostTerminal(): Terminal {
  const host = (globalThis as { process?: Host }).process;
  let env: Environment = {};
  try {
    env = host?.env ?? {};
    // Some hosts ask for permission at the first read.
    env.TERM;
  } catch {
    env = {};
  }
  return terminalOf(host?.stdout, env, host?.platform);
}

/** A text in a colour, on a colour. */
export type Paint = (text: string, ink: RGB | null, paper?: RGB | null) => string;

export const paints: Readonly<Record<Terminal["color"], Paint>> = {
  none: (text) => text,
  256: (text, ink, paper = null) => painted(text, ink && `38;5;${cube(ink)}`, paper && `48;5;${cube(paper)}`),
  truecolor: (text, ink, paper = null) =>
    painted(text, ink && `38;2;${ink.join(";")}`, paper && `48;2;${paper.join(";")}`),
};

const painted = (text: string, ink: string | null, paper: string | null): string => {
  const codes = [ink, paper].filter((code) => code !== null).join(";");
  return codes === "" ? text : `\x1b[${codes}m${text}\x1b[0m`;
};

/** The nearest of the 6 × 6 × 6 colours that terminals with 256 have. */
const cube = (rgb: RGB): number => {
  const [r, g, b] = rgb.map((c) => Math.round((c / 255) * 5));
  return 16 + 36 * r + 6 * g + b;
};
