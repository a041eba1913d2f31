/** The full circle: the example learns and saves, the command line converts, the example loads and writes. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tsx = (file: string, ...args: string[]): string =>
  execFileSync(process.execPath, ["--import", "tsx", join(root, file), ...args], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });

export interface Turn {
  readonly dtype: string;
  /** Of 32 pieces of the text. */
  readonly loss: number;
  /** Of the file. */
  readonly bytes: number;
  readonly written: string;
}

/** What comes of the trained model itself, then of each type's file. */
export function circle(steps: number, dtypes: readonly string[]): Turn[] {
  const folder = mkdtempSync(join(tmpdir(), "strided-circle-"));
  const at = (name: string) => join(folder, name);
  const turn = (dtype: string, file: string, text: string): Turn => {
    const found = /loss of 32 pieces: ([\d.]+)\n\n([\s\S]*)$/.exec(text);
    if (found === null) throw new Error(`no loss in:\n${text}`);
    return { dtype, loss: Number(found[1]), bytes: statSync(file).size, written: found[2].trimEnd() };
  };
  try {
    const saved = at("gpt.safetensors");
    const first = tsx("examples/gpt.ts", "--steps", String(steps), "--save", saved);
    const others = dtypes.map((dtype) => {
      const file = at(`gpt-${dtype}.gguf`);
      tsx("src/cli/main.ts", "convert", saved, file, "--dtype", dtype);
      return turn(dtype, file, tsx("examples/gpt.ts", "--load", file));
    });
    return [turn("f32", saved, first), ...others];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
