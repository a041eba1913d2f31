/** What the commands have in common: words that choose, and messages instead of stack traces. */
import { readFileSync } from "node:fs";

/** The items that one of the words names; a word that names none is an error. */
export function pick<T>(
  items: readonly T[],
  wanted: string | undefined,
  names: (item: T) => readonly string[],
): T[] {
  if (wanted === undefined) return [...items];
  const words = wanted.split(",").map((word) => word.trim());
  for (const word of words) {
    if (!items.some((item) => names(item).includes(word))) {
      const known = [...new Set(items.flatMap((item) => names(item)))].join(", ");
      throw new Error(`"${word}" is not known here. Known are: ${known}`);
    }
  }
  return items.filter((item) => names(item).some((name) => words.includes(name)));
}

/** Runs a command; --help shows the comment its file begins with, and a wrong argument is one line. */
export async function orUsage(main: () => Promise<void>): Promise<void> {
  if (process.argv.includes("--help")) {
    const head = /^\/\*\*\n([\s\S]*?)\*\//.exec(readFileSync(process.argv[1], "utf8"))?.[1] ?? "";
    console.log(head.replace(/^ \* ?/gm, "").trim());
    return;
  }
  try {
    await main();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n--help says what there is.`);
    process.exitCode = 1;
  }
}
