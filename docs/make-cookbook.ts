/**
 * Writes docs/cookbook.md and its pictures from examples/cookbook: each recipe is a program whose comment says what it is for
 * and whose `picture` is an SVG, or pixels. `npm run docs` writes them, tests/cookbook.test.ts holds them.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Tensor } from "../src/index.ts";
import { png } from "../src/io.ts";

const at = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export const recipes = readdirSync(at("../examples/cookbook"))
  .filter((name) => name.endsWith(".ts"))
  .sort()
  .map((name) => name.slice(0, -3));

export interface Picture {
  /** In docs/images/cookbook. */
  readonly file: string;
  readonly bytes: Uint8Array;
}

/** Runs a recipe; what it draws. */
export async function pictureOf(recipe: string): Promise<Picture> {
  const { picture } = (await import(`../examples/cookbook/${recipe}.ts`)) as { picture: unknown };
  const name = recipe.replace(/^\d+-/, "");
  if (picture instanceof Tensor) return { file: `${name}.png`, bytes: await png.encode(picture) };
  return { file: `${name}.svg`, bytes: new TextEncoder().encode(String(picture)) };
}

const groups: readonly (readonly [title: string, first: string])[] = [
  ["Pictures", "01"],
  ["Sound", "08"],
  ["Statistics", "12"],
  ["Linear algebra", "18"],
  ["Simulation", "22"],
  ["Learning", "27"],
  ["Files", "30"],
];

/** The page: a recipe as a program that stands for itself, and what it draws. */
export function cookbookPage(files: ReadonlyMap<string, string>): string {
  const parts = recipes.map((recipe) => {
    const text = readFileSync(at(`../examples/cookbook/${recipe}.ts`), "utf8");
    const [, title, words] = /^\/\*\*\n \* (.*)\n \*\n((?: \* .*\n)+) \*\/\n/.exec(text)!;
    const code = text
      .replace(/^\/\*\*.*?\*\/\n/s, "")
      .replaceAll("../../src/index.ts", "strided")
      .replace(/"\.\.\/\.\.\/src\/(\w+)\.ts"/g, '"strided/$1"')
      .replace("export const picture", "const picture")
      .trim();
    const sentence = words.replace(/^ \* /gm, "").trim().replaceAll("\n", " ");
    const group = groups.find(([, first]) => recipe.startsWith(first));
    const heading = group === undefined ? "" : `## ${group[0]}\n\n`;
    return `${heading}### ${title}\n\n${sentence}\n\n![${title}](images/cookbook/${files.get(recipe)})\n\n\`\`\`ts\n${code}\npicture;\n\`\`\`\n`;
  });
  return `# Cookbook

<!-- Written by \`npm run docs\` from examples/cookbook: change those. -->

${recipes.length} short programs, each whole: what it is for, what it draws, and code to copy. Pictures are made by the library. On the site
every one of them can be edited and run.

${parts.join("\n")}`;
}

async function main(): Promise<void> {
  const folder = at("images/cookbook");
  mkdirSync(folder, { recursive: true });
  const files = new Map<string, string>();
  for (const recipe of recipes) {
    const started = performance.now();
    const { file, bytes } = await pictureOf(recipe).catch((error: Error) => {
      throw new Error(`${recipe}: ${error.message}`);
    });
    files.set(recipe, file);
    writeFileSync(`${folder}/${file}`, bytes);
    console.log(`${recipe} ${bytes.length} bytes ${Math.round(performance.now() - started)} ms`);
  }
  writeFileSync(at("cookbook.md"), cookbookPage(files));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main();
