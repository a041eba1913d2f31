/** The documents keep their word: their code runs, their comments are true, their links and commands exist. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { accuracyPage } from "../docs/make-accuracy.ts";
import { memoryLayoutPage } from "../docs/make-memory-layout.ts";
import { groups } from "../site/pages.ts";
import { blocksOf, entries, runBlock } from "./markdown.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (file: string) => readFileSync(join(root, file), "utf8");
const pagesUnder = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .sort();
const pages = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "CODE_OF_CONDUCT.md",
  "site/home.md",
  ...pagesUnder("docs"),
];
const blocks = pages.flatMap(blocksOf);

describe("code in the documents", () => {
  // Those of the reference are run by tests/reference.test.ts, which knows where they come from.
  const own = blocks.filter(({ file }) => !file.startsWith("docs/reference/"));
  test.each(own.map((block) => [`${block.file}:${block.line}`, block] as const))(
    "%s runs and gives what its comments say",
    async (_, block) => {
      const outcomes = await runBlock(block);
      const seen = outcomes.map((o) => `line ${o.line}: ${o.actual}`);
      expect(seen).toEqual(outcomes.map((o) => `line ${o.line}: ${o.expected}`));
    },
  );

  test("every block type-checks", () => {
    const folder = mkdtempSync(join(tmpdir(), "strided-docs-"));
    try {
      for (const { file, line, code } of blocks) {
        writeFileSync(join(folder, `${file.replace(/\W/g, "-")}-line-${line}.ts`), code);
      }
      const compilerOptions = {
        target: "es2022",
        module: "esnext",
        moduleResolution: "bundler",
        lib: ["es2023", "esnext.disposable", "dom"],
        types: ["node"],
        typeRoots: [join(root, "node_modules/@types")],
        paths: {
          ...Object.fromEntries(
            Object.entries(entries).map(([name, { file }]) => [name, [join(root, "src", file)]]),
          ),
          acorn: [join(root, "node_modules/acorn")],
        },
        allowImportingTsExtensions: true,
        moduleDetection: "force",
        strict: true,
        noEmit: true,
        skipLibCheck: true,
      };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
      const tsc = join(root, "node_modules/typescript/bin/tsc");
      const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" });
      expect(stdout).toBe("");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("links and commands in the documents", () => {
  /** As repository hosts make anchors of headings. */
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
  const prose = (file: string) => read(file).replace(/^```.*?^```/gms, "");
  const anchorsOf = (file: string) => [...prose(file).matchAll(/^#+ (.*)$/gm)].map((m) => anchorOf(m[1]));

  test.each(pages)("links of %s lead somewhere", (page) => {
    const broken: string[] = [];
    for (const [, link] of prose(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue;
      const [path, anchor] = link.split("#");
      const target = path === "" ? page : normalize(join(dirname(page), path));
      try {
        if (anchor !== undefined && !anchorsOf(target).includes(anchor)) broken.push(link);
        else if (anchor === undefined && !target.endsWith("/")) read(target);
      } catch {
        broken.push(link);
      }
    }
    expect(broken).toEqual([]);
  });

  test("every page has its place on the site, once", () => {
    const listed = groups.flatMap((g) => g.pages);
    const expected = pages.filter((p) => p !== "site/home.md" && !p.startsWith("docs/decisions/"));
    expect([...listed].sort()).toEqual(expected.sort());
  });

  test("every guide is linked from README", () => {
    const linked = [...read("README.md").matchAll(/\]\(([^)#\s]+)/g)].map((m) => m[1]);
    const guides = pages.filter((p) => p.startsWith("docs/") && !/^docs\/(reference|decisions)\//.test(p));
    expect(guides.filter((p) => !linked.includes(p))).toEqual([]);
  });

  test("every npm script that is named exists", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = pages.flatMap((page) => [...read(page).matchAll(/npm run ([\w:]+)/g)].map((m) => m[1]));
    expect([...new Set(named)].filter((name) => !(name in scripts))).toEqual([]);
  });

  test("ARCHITECTURE names everything in src", () => {
    const text = read("ARCHITECTURE.md");
    const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
    const files = sources.filter((name) => name.endsWith(".ts"));
    const entries = new Set(files.map((name) => name.replace(/[\\/].*/, "/")));
    expect([...entries].filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });
});

test("docs/memory-layout.md is what the library draws; `npm run docs` writes it anew", () => {
  expect(read("docs/memory-layout.md")).toBe(memoryLayoutPage());
});

test("the errors in docs/guides/accuracy.md are what is measured; `npm run docs` writes them anew", () => {
  expect(read("docs/guides/accuracy.md")).toBe(accuracyPage());
});

test("the quickstart prints its tour", () => {
  const output = execFileSync(process.execPath, ["--import", "tsx", "examples/quickstart.ts"], {
    cwd: root,
    encoding: "utf8",
  });
  expect(output).toMatchInlineSnapshot(`
    "
    ── 1. A view is not a copy ────────────────────────────────────────────────────

    view: shape [2, 2], strides [4, 2], offset 0

    memory: 8 elements
       0   1   2   3   4   5   6   7
      [0]  1  [2]  3  [4]  5  [6]  7

    view, each cell as value@position:
       0@0  2@2
       4@4  6@6

    ── 2. map: a plain function over any layout ───────────────────────────────────

      aligned (2, 3)                           [[100, 101, 102], [103, 104, 105]]
      broadcast (1, 3) → (2, 3)                [[110, 120, 130], [110, 120, 130]]
      the view of chapter 1, strides [4, 2]    [[100, 102], [104, 106]]

    ── 3. zip: several tensors, broadcast together ────────────────────────────────

      row + grid                               [[11, 22, 33], [14, 25, 36]]
      max(row · grid, 50)                      [[50, 50, 90], [50, 100, 180]]

    ── 4. reduce: fold an axis with any function ──────────────────────────────────

      rows of [[1, 2, 3], [4, 5, 6]]           [[6], [15]]
      rows of the view of chapter 1            [[2], [10]]

    ── 5. matmul: batches broadcast, any strides ──────────────────────────────────

      (1, 2, 3) × (2, 3, 2)                    [[[76, 82], [184, 199]], [[58, 64], [139, 154]]]
      (2, 2, 3) × (1, 3, 2)                    [[[76, 82], [184, 199]], [[32, 35], [46, 50]]]
      (3, 2) × (2, 3), a transpose             [[17, 22, 27], [22, 29, 36], [27, 36, 45]]

    ── 6. kernel: a plain function becomes a function of tensors ──────────────────

                                               .......,@;........
                                          ............,::o;@:,......
                                      ..............,:-;o@@-::,........
                                   ...........,,,,,,:-@@@@@@O;,,,........
                               ...........,,=%@;:;@@@o@@@@@@%*@=@::,,:@,...
                           ............,,,,:;@@@@@@@@@@@@@@@@@@@@@@@@@-:,...
                     .....,,,,,,..,,,,,,::@@@@@@@@@@@@@@@@@@@@@@@@@@@o;:,,...
             ...........,,:*-;;:-@;;::::;+@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@,....
         ..............,,,:;+@@@@@@@@@@=+@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@-,.....
        ........,,,,,,:o;++@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@:,......
       @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@+;:,,......
        ........,,,,,,:o;++@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@:,......
         ..............,,,:;+@@@@@@@@@@=+@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@-,.....
             ...........,,:*-;;:-@;;::::;+@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@,....
                     .....,,,,,,..,,,,,,::@@@@@@@@@@@@@@@@@@@@@@@@@@@o;:,,...
                           ............,,,,:;@@@@@@@@@@@@@@@@@@@@@@@@@-:,...
                               ...........,,=%@;:;@@@o@@@@@@%*@=@::,,:@,...
                                   ...........,,,,,,:-@@@@@@O;,,,........
                                      ..............,:-;o@@-::,........
                                          ............,::o;@:,......
                                               .......,@;........

    ── 7. Mistakes are explained ──────────────────────────────────────────────────

      matmul: inner sizes differ: a is [2, 3], b is [2, 3].
        a's last size (3) must equal b's second-last (2).

      kernel: the function reads the outer variable "chapter".
        x=>Math.max(x,chapter)
                      ^^^^^^^
        Pass it: kernel(fn, { chapter }).


    ── 8. Memory is yours to see ──────────────────────────────────────────────────

      0² + 1² + … + 99² = 328350, and the heap holds 1 tensor more

    "
  `);
});
