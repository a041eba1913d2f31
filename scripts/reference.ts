/**
 * The reference: what every entry exports, with the comments that stand above it in src/. `npm run reference` writes
 * docs/reference/; tests/reference.test.ts says what lacks words, and runs the examples.
 *
 * It reads the declarations that tsc writes, not src/ itself: there every statement is a signature, overloads are in a row and
 * types that were inferred are spelt out, so a scanner of brackets, strings and comments is all the parser it takes.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
export const folder = "docs/reference";

/** What can be imported, and the file of src/ that it is. */
const entryFiles: Readonly<Record<string, string>> = {
  strided: "index",
  "strided/chunked": "chunked",
  "strided/grad": "grad",
  "strided/interop": "interop",
  "strided/io": "io",
  "strided/methods": "methods",
  "strided/nn": "nn",
  "strided/plot": "plot",
  "strided/quantised": "quantised",
  "strided/turbo": "turbo",
};

export interface Doc {
  /** What stands before the first tag. */
  readonly text: string;
  readonly params: ReadonlyMap<string, string>;
  readonly returns: string;
  readonly throws: readonly string[];
  readonly examples: readonly string[];
}

/** A statement of a declaration file, or a member of a class or an interface. */
interface Declared {
  readonly kind: "function" | "value" | "class" | "interface" | "type" | "property" | "other";
  readonly name: string;
  readonly exported: boolean;
  readonly doc: Doc | null;
  /** All of its overloads. */
  readonly signatures: readonly string[];
  readonly members: readonly Declared[];
  /** Names of the parameters; null where it has none to read, because it is no function or its type is elsewhere. */
  readonly params: readonly string[] | null;
}

/** One name that users see. */
export interface Item extends Declared {
  /** As it is written after `import`: "add", "fft.rfft". */
  readonly path: string;
  readonly entry: string;
  /** The file of src/ it comes from, without its ending. */
  readonly file: string;
  /** Other paths to the same thing. */
  readonly also: string[];
}

/* Reading ---------------------------------------------------------------------------------------------- */

/** Where a comment or a string that begins at `at` ends; `at` itself if none does. */
function skipped(text: string, at: number): number {
  const two = text.slice(at, at + 2);
  if (two === "/*") return text.indexOf("*/", at) + 2;
  if (two === "//") return text.indexOf("\n", at) + 1;
  const quote = text[at];
  if (quote !== '"' && quote !== "'" && quote !== "`") return at;
  let end = at + 1;
  while (text[end] !== quote) end += text[end] === "\\" ? 2 : 1;
  return end + 1;
}

const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}", "<": ">" };

/** The end of what the bracket at `at` opens: the position behind its partner. */
function closed(text: string, at: number): number {
  const partner = closing[text[at]];
  for (let i = at + 1; i < text.length; ) {
    const after = skipped(text, i);
    if (after > i) i = after;
    else if (text[i] === partner && !(partner === ">" && text[i - 1] === "=")) return i + 1;
    else i = text[i] in closing && (text[i] !== "<" || partner === ">") ? closed(text, i) : i + 1;
  }
  throw new Error(`no ${partner} for ${text.slice(at, at + 60)}`);
}

interface Piece {
  readonly comment: string | null;
  readonly text: string;
}

const hasBody = /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|namespace|module) /;

/** Statements, or members, with the comment that stands right above each. */
function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let comment: string | null = null;
  let start = -1;
  for (let i = 0; i < text.length; ) {
    const after = skipped(text, i);
    if (start < 0) {
      if (after > i && text[i] === "/") {
        const passed = text.slice(i, after);
        if (passed.startsWith("/**")) comment = passed;
        i = after;
        continue;
      }
      if (/\s/.test(text[i])) {
        i++;
        continue;
      }
      start = i;
    }
    if (after > i) {
      i = after;
      continue;
    }
    const opens = text[i] === "(" || text[i] === "[" || text[i] === "{";
    const next = opens ? closed(text, i) : i + 1;
    const ends = text[i] === ";" || (text[i] === "{" && hasBody.test(text.slice(start, i)));
    if (ends) {
      found.push({ comment, text: text.slice(start, next) });
      comment = null;
      start = -1;
    }
    i = next;
  }
  return found;
}

/** The text of a comment without its stars, and its tags. */
export function docOf(comment: string): Doc {
  const lines = comment
    .replace(/^\/\*\*/, "")
    .replace(/\*\/$/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd());
  const sections: { tag: string; lines: string[] }[] = [{ tag: "", lines: [] }];
  for (const line of lines) {
    const tag = /^\s*@(\w+)\s?(.*)$/.exec(line);
    if (tag === null) sections.at(-1)!.lines.push(line);
    else sections.push({ tag: tag[1], lines: [tag[2]] });
  }
  const of = (tag: string) =>
    sections.filter((s) => s.tag === tag).map((s) => s.lines.join("\n").replace(/^\n+|\s+$/g, ""));
  const params = of("param").map((text): [string, string] => {
    const [, name, words] = /^([\w$]+)\s*-?\s*(.*)$/s.exec(text) ?? ["", "", ""];
    return [name, words];
  });
  return {
    text: of("")[0].trim(),
    params: new Map(params),
    returns: of("returns").join(" "),
    throws: of("throws"),
    examples: of("example"),
  };
}

/** The names in a list of parameters that opens at `at`. */
function namesIn(text: string, at: number): string[] {
  const inner = text.slice(at + 1, closed(text, at) - 1);
  const names: string[] = [];
  let from = 0;
  for (let i = 0; i <= inner.length; ) {
    if (i === inner.length || inner[i] === ",") {
      const name = /^\s*(?:\.\.\.)?([\w$]+)/.exec(inner.slice(from, i))?.[1];
      if (name !== undefined && name !== "this") names.push(name);
      from = ++i;
      continue;
    }
    const after = skipped(inner, i);
    i = after > i ? after : inner[i] in closing ? closed(inner, i) : i + 1;
  }
  return names;
}

/** The parameters of what is a function's type from `at` on: "<T>(a: T) => T", "(a: number): void"; null: it is none. */
function paramsFrom(text: string, at: number): string[] | null {
  let i = at;
  while (/\s/.test(text[i] ?? "")) i++;
  if (text[i] === "<") i = closed(text, i);
  return text[i] === "(" ? namesIn(text, i) : null;
}

const headOf =
  /^(export )?(?:declare )?(?:abstract )?(function|const|let|class|interface|type|namespace|module) ([\w$]+|"[^"]*")/;

/** Everything that a declaration file declares, overloads as one. */
function declaredIn(text: string): Declared[] {
  const all = pieces(text).map((piece) => ({ ...piece, head: headOf.exec(piece.text) }));
  const made = new Map<string, Declared>();
  const aliases = new Map<string, string>();
  for (const { text: piece, head } of all) {
    if (head?.[2] === "type")
      aliases.set(head[3], piece.slice(piece.indexOf("=", head[0].length) + 1).trim());
  }
  for (const { comment, text: piece, head } of all) {
    if (head === null) continue;
    const [matched, exported, word, name] = head;
    const doc = comment === null ? null : docOf(comment);
    const known = made.get(name);
    if (word === "function" && known?.kind === "function") {
      made.set(name, {
        ...known,
        doc: known.doc ?? doc,
        signatures: [...known.signatures, piece],
        params: longer(known.params, paramsFrom(piece, matched.length)),
      });
      continue;
    }
    const body = word === "class" || word === "interface" ? piece.slice(openOf(piece)) : "";
    const members = body === "" ? [] : membersOf(body.slice(1, -1));
    const params =
      word === "function" ? paramsFrom(piece, matched.length) : word === "const" ? ofConst() : null;
    made.set(name, {
      kind: kindOf(),
      name,
      exported: exported !== undefined,
      doc,
      signatures: [piece],
      members,
      params,
    });

    function ofConst(): string[] | null {
      const type = piece.slice(piece.indexOf(":", matched.length) + 1, -1).trim();
      return paramsFrom(type, 0) ?? paramsFrom(aliases.get(type) ?? "", 0);
    }
    function kindOf(): Declared["kind"] {
      if (word === "function") return "function";
      if (word === "class" || word === "interface" || word === "type") return word;
      if (word !== "const") return "other";
      // A method of a type that is elsewhere: Methods["uniform"].
      return params !== null || /: \w+\["\w+"\];$/.test(piece) ? "function" : "value";
    }
  }
  return [...made.values()];
}

const longer = (a: readonly string[] | null, b: readonly string[] | null) =>
  (b?.length ?? -1) > (a?.length ?? -1) ? b : a;

/** Where the body of a class or an interface opens. */
function openOf(piece: string): number {
  for (let i = 0; i < piece.length; ) {
    const after = skipped(piece, i);
    if (after > i) i = after;
    else if (piece[i] === "{") return i;
    else i = piece[i] === "<" || piece[i] === "(" ? closed(piece, i) : i + 1;
  }
  throw new Error(`no body: ${piece.slice(0, 60)}`);
}

function membersOf(body: string): Declared[] {
  const made = new Map<string, Declared>();
  for (const { comment, text } of pieces(body)) {
    if (/^(#|private |protected |\[|constructor\b|set )/.test(text)) continue;
    const head = /^(?:static |readonly |get |new )*([\w$]*|"[^"]*")(\??)/.exec(text)!;
    const name = head[1];
    const doc = comment === null ? null : docOf(comment);
    const params = text.startsWith("get ") ? null : paramsFrom(text, head[0].length);
    const known = made.get(name);
    made.set(name, {
      kind: params === null ? "property" : "function",
      name,
      exported: true,
      doc: known?.doc ?? doc,
      signatures: [...(known?.signatures ?? []), text],
      members: [],
      params: longer(known?.params ?? null, params),
    });
  }
  return [...made.values()];
}

/** The declarations of src/, by file, as tsc writes them. */
export function declarations(): ReadonlyMap<string, string> {
  const out = mkdtempSync(join(tmpdir(), "strided-reference-"));
  try {
    const flags = ["-p", "tsconfig.build.json", "--emitDeclarationOnly", "--outDir", out];
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { status, stdout } = spawnSync(process.execPath, [tsc, ...flags], { cwd: root, encoding: "utf8" });
    if (status !== 0) throw new Error(`tsc: ${stdout}`);
    const files = readdirSync(out, { recursive: true, encoding: "utf8" }).filter((f) => f.endsWith(".d.ts"));
    return new Map(
      files.map((f) => [f.replaceAll("\\", "/").replace(/\.d\.ts$/, ""), readFileSync(join(out, f), "utf8")]),
    );
  } finally {
    rmSync(out, { recursive: true });
  }
}

/** Everything that all entries export, each thing once: under the first path that leads to it. */
export function itemsOf(texts: ReadonlyMap<string, string>): Item[] {
  const files = new Map<string, Declared[]>();
  const declaredOf = (file: string) => {
    const text = texts.get(file);
    if (text === undefined) throw new Error(`no declarations of ${file}`);
    const known = files.get(file) ?? declaredIn(text);
    files.set(file, known);
    return known;
  };
  const items = new Map<string, Item>();
  const add = (entry: string, path: string, file: string, name: string): void => {
    const declared = declaredOf(file).find((d) => d.name === name);
    if (declared === undefined) {
      const from = importOf(texts.get(file)!, name);
      if (from === null) throw new Error(`${file} has no ${name}`);
      add(entry, path, resolve(file, from.file), from.name);
      return;
    }
    const key = `${file} ${name}`;
    const known = items.get(key);
    if (known === undefined) items.set(key, { ...declared, path, entry, file, also: [] });
    else if (known.path !== path) known.also.push(entry === known.entry ? path : `${entry}: ${path}`);
  };
  const walk = (entry: string, prefix: string, file: string): void => {
    for (const d of declaredOf(file)) if (d.exported) add(entry, prefix + d.name, file, d.name);
    for (const { text } of pieces(texts.get(file)!)) {
      const star = /^export \* (?:as (\w+) )?from "(.*)";$/.exec(text);
      if (star !== null) {
        walk(entry, star[1] === undefined ? prefix : `${prefix}${star[1]}.`, resolve(file, star[2]));
        continue;
      }
      const names = /^export (?:type )?\{(.*)\}(?: from "(.*)")?;$/s.exec(text);
      if (names === null) continue;
      for (const one of names[1].split(",").filter((n) => n.trim() !== "")) {
        const [name, as = name] = one
          .trim()
          .replace(/^type /, "")
          .split(" as ");
        add(entry, prefix + as, names[2] === undefined ? file : resolve(file, names[2]), name);
      }
    }
  };
  for (const [entry, file] of Object.entries(entryFiles)) walk(entry, "", file);
  return [...items.values()];
}

const resolve = (file: string, specifier: string) => join(dirname(file), specifier).replace(/\.ts$/, "");

/** Where a name that a file exports, but does not declare, is imported from. */
function importOf(text: string, name: string): { file: string; name: string } | null {
  for (const { text: piece } of pieces(text)) {
    const found = /^(?:import|export) (?:type )?\{(.*)\} from "(.*)";$/s.exec(piece);
    for (const one of found?.[1].split(",") ?? []) {
      const [own, as = own] = one
        .trim()
        .replace(/^type /, "")
        .split(" as ");
      if (as === name) return { file: found![2], name: own };
    }
  }
  return null;
}

/* What is missing -------------------------------------------------------------------------------------- */

/** Classes whose members have examples of their own. */
const withExamples = new Set(["Tensor", "ChunkedArray", "ChunkedPlan"]);

/** What lacks words: "add: @example", "SortOptions.axis: a comment". */
export function missing(items: readonly Item[]): string[] {
  const found: string[] = [];
  for (const item of items) {
    const name = item.entry === "strided" ? item.path : `${item.entry} ${item.path}`;
    const isCallable = item.kind === "function";
    const gaps = lacks(item, isCallable);
    if (gaps.length > 0) found.push(`${name}: ${gaps.join(", ")}`);
    for (const member of item.members) {
      if (member.name === "") continue;
      const lacking = lacks(member, withExamples.has(item.name));
      if (lacking.length > 0) found.push(`${name}.${member.name}: ${lacking.join(", ")}`);
    }
  }
  return found.sort();
}

/** `whole`: parameters, result and an example too. */
function lacks({ doc, params, signatures, kind }: Declared, whole: boolean): string[] {
  if (doc === null || doc.text === "") return ["a comment"];
  if (!whole) return [];
  const gaps = (params ?? []).filter((name) => !doc.params.has(name)).map((name) => `@param ${name}`);
  const isVoid = signatures.every((s) => /\): (?:Promise<void>|void);$|=> void;$/.test(s));
  if (kind === "function" && !isVoid && doc.returns === "") gaps.push("@returns");
  if (doc.examples.length === 0) gaps.push("@example");
  return gaps;
}

/* Examples --------------------------------------------------------------------------------------------- */

export interface Example {
  readonly of: string;
  readonly file: string;
  /** A program of its own. */
  readonly code: string;
}

/** What each entry exports at its top, for the imports of examples. */
type Names = ReadonlyMap<string, readonly string[]>;

export function namesOf(items: readonly Item[]): Names {
  const names = new Map<string, string[]>();
  const note = (entry: string, path: string) => {
    const list = names.get(entry) ?? [];
    const first = path.split(".")[0];
    if (!list.includes(first)) list.push(first);
    names.set(entry, list);
  };
  for (const item of items) {
    if (item.kind === "interface" || item.kind === "type") continue;
    note(item.entry, item.path);
    for (const other of item.also) {
      const [, entry = item.entry, path] = /^(?:(.*): )?(.*)$/.exec(other)!;
      note(entry, path);
    }
  }
  return names;
}

/** The example with what it needs imported, from the entry it is an example of before all others. */
export function withImports(code: string, entry: string, names: Names): string {
  const plain = code.replace(/(["'`])(?:\\.|(?!\1).)*?\1/gs, '""').replace(/\/\/.*$/gm, "");
  const own = new Set([...plain.matchAll(/\b(?:const|let|function|class)\s+([\w$]+)/g)].map((m) => m[1]));
  for (const [, list] of plain.matchAll(/\b(?:const|let)\s*[[{]([^\]}=]*)[\]}]/g)) {
    for (const name of list.split(/[\s,:]+/)) own.add(name);
  }
  for (const [, list] of plain.matchAll(/\(([\w$\s,{}[\]]*)\)\s*=>/g)) {
    for (const name of list.split(/[\s,{}[\]]+/)) own.add(name);
  }
  for (const [, name] of plain.matchAll(/([\w$]+)\s*=>/g)) own.add(name);
  const taken = new Set(own);
  const lines: string[] = [];
  const others = [...names.keys()].filter((name) => name !== entry && name !== "strided");
  for (const from of new Set([entry, "strided", ...others])) {
    const used = (names.get(from) ?? []).filter(
      (name) =>
        !taken.has(name) &&
        new RegExp(`(?<![.\\w$])${name.replace("$", "\\$")}(?=[.(,;)\\]<\\s])`).test(plain),
    );
    for (const name of used) taken.add(name);
    if (used.length > 0) lines.push(`import { ${used.sort().join(", ")} } from "${from}";`);
  }
  return [...lines.sort(), ...(lines.length > 0 ? [""] : []), code].join("\n");
}

export function examplesOf(items: readonly Item[]): Example[] {
  const names = namesOf(items);
  return items.flatMap((item) =>
    [item, ...item.members].flatMap(({ name, doc }, i) =>
      (doc?.examples ?? []).map((code) => ({
        of: i === 0 ? item.path : `${item.path}.${name}`,
        file: item.file,
        code: withImports(code, item.entry, names),
      })),
    ),
  );
}

/* Pages ------------------------------------------------------------------------------------------------ */

interface Subject {
  readonly page: string;
  readonly title: string;
  readonly intro: string;
  /** Files of src/ whose exports belong here. */
  readonly files: RegExp;
  /** And names, where one file has several subjects. */
  readonly names?: string;
}

const subjects: readonly Subject[] = [
  {
    page: "tensor",
    title: "Tensor",
    intro:
      "A handle on a storage, a dtype and a view. Its members: what it is, views of it, its elements, and operations.",
    files: /^(tensor|format|view\/slice|ops\/json)$/,
  },
  {
    page: "creation",
    title: "Creating tensors",
    intro: "From values, from rules, after a model, and from foreign memory.",
    files: /^(library\/creation|ops\/create|defaults)$/,
    names: "tensor zeros ones full empty arange linspace eye fromBuffer fromGgml fromJSON",
  },
  {
    page: "dtypes",
    title: "Dtypes",
    intro: "Which there are, what they can hold, and what they become where they meet.",
    files: /^(dtype|library\/dtypes)$/,
  },
  {
    page: "views",
    title: "Views, joining and padding",
    intro: "Rearranging, mostly without moving an element; joining, repeating and padding, which copy.",
    files: /^library\/(manipulate|join|pad|positions)$/,
  },
  {
    page: "elementwise",
    title: "Elementwise functions",
    intro:
      "One result an element. Operands broadcast together; options say the dtype, or the tensor to write to.",
    files: /^(api|library\/(elementwise|parts|complex|calculus))$/,
  },
  {
    page: "reductions",
    title: "Reductions and scans",
    intro: "Along one axis, several, or all: sums, extremes, means, and every step on the way.",
    files: /^ops\/(reductions|reduce|associative)$/,
    names:
      "sum prod max min any all countNonzero variance std norm logsumexp softmax logSoftmax mean argmax argmin cumsum cumprod",
  },
  {
    page: "statistics",
    title: "Statistics",
    intro: "Order statistics, counts in intervals, covariances, differences; and those that leave NaNs out.",
    files: /^library\/statistics(-nan)?$/,
  },
  {
    page: "linalg",
    title: "Products and linear algebra",
    intro: "Matrix products, contractions, decompositions and solvers. Axes before the last two are batches.",
    files: /^library\/(products|einsum|linalg.*)$/,
    names: "matmul",
  },
  {
    page: "sorting",
    title: "Sorting, searching and sets",
    intro: "Orders along an axis, places in a sorted vector, and tensors as sets.",
    files: /^library\/(sort|search|sets)$/,
  },
  {
    page: "indexing",
    title: "Indexing with tensors",
    intro: "What slices cannot say: elements by index tensors and by masks, read and written.",
    files: /^library\/(indexing|mask|offsets)$/,
  },
  {
    page: "fft",
    title: "Fourier transforms",
    intro: "As numpy.fft has them, of complex numbers as pairs in a last axis of size 2; and windows.",
    files: /^library\/(fft|windows)$/,
  },
  {
    page: "random",
    title: "Random numbers",
    intro: "A generator is a seed, a stream and a place in it; the same everywhere, whatever the threads.",
    files: /^library\/random$/,
  },
  {
    page: "convolution",
    title: "Convolution, pooling and pictures",
    intro: "Sliding windows times weights, windows folded, and pictures as tensors.",
    files: /^library\/(convolution|pooling|image|image-resize)$/,
  },
  {
    page: "kernels",
    title: "Kernels and loops",
    intro:
      "Plain functions, compiled: of an element, of its neighbours, of whole tensors, and with loops of their own.",
    files: /^(kernel|library\/stencil|fuse\/.*|njit\/.*|library\/raw)$/,
    names: "zip mapReduce ZipOptions MapReduceOptions",
  },
  {
    page: "memory",
    title: "Memory, threads and reports",
    intro: "Lifetimes, what the engine may use, what a call did, and tensors on their way elsewhere.",
    files: /^(engine|errors|run\/whole|explain\/.*|memory\/.*|library\/(message|export))$/,
    names: "scope scopeAsync AsyncScope",
  },
  {
    page: "io",
    title: "strided/io",
    intro: "Tensors out of files and into them, one namespace a format; [Files](../files.md) is the guide.",
    files: /^io\//,
  },
  {
    page: "interop",
    title: "strided/interop",
    intro: "Tensors from what other libraries hold, and back; [Interop](../interop.md) is the guide.",
    files: /^interop\//,
  },
  {
    page: "plot",
    title: "strided/plot",
    intro: "Pictures of tensors as text, SVG and pixels; [Plots](../plots.md) is the guide.",
    files: /^plot(\/.*)?$/,
  },
  {
    page: "grad",
    title: "strided/grad",
    intro: "Derivatives of kernels, operations and programs; [Gradients](../gradients.md) is the guide.",
    files: /^grad\//,
  },
  {
    page: "nn",
    title: "strided/nn",
    intro: "Layers, losses, optimisers, training; [Training](../nn.md) is the guide.",
    files: /^nn\//,
  },
  {
    page: "quantised",
    title: "strided/quantised",
    intro: "ggml's block types; [Quantised tensors](../quantised.md) is the guide.",
    files: /^quantised\//,
  },
  {
    page: "chunked",
    title: "strided/chunked",
    intro:
      "Arrays larger than memory, by one process or many; [Larger than memory](../chunked.md) is the guide.",
    files: /^chunked\//,
  },
  {
    page: "entries",
    title: "strided/methods and strided/turbo",
    intro: "Two entries that are imported for what they do.",
    files: /^(methods|turbo)$/,
  },
];

/** The page of an item: by name where a subject names it, else by its file. */
function subjectOf({ file, name }: Item): Subject {
  const named = file === "api" ? subjects.find((s) => s.names?.split(" ").includes(name)) : undefined;
  const found = named ?? subjects.find((s) => s.files.test(file));
  if (found === undefined) throw new Error(`${file} ${name}: no subject of the reference has it`);
  return found;
}

const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** Text of a comment as markdown: what is indented is code of somebody else's, and runs nowhere. */
function prose(text: string): string {
  const escaped = text.replace(/<(?=[\w/])/g, "\\<");
  return escaped.replace(/(?:^ {4}.*\n?(?:\n(?= {4}))?)+/gm, (code) => {
    const body = code.replace(/^ {4}/gm, "").trimEnd().replaceAll("\\<", "<");
    return `\`\`\`typescript\n${body}\n\`\`\`\n`;
  });
}

const oneLine = (text: string) => text.replace(/\s*\n\s*/g, " ");

function signatureOf(text: string): string {
  const plain = text.replace(/\/\*\*?.*?\*\/\s*/gs, "").replace(/^export (declare )?/, "");
  return plain;
}

function bodyOf(d: Declared, entry: string, names: Names): string[] {
  const lines: string[] = [];
  const isType = d.kind === "class" || d.kind === "interface";
  if (!isType) lines.push("```typescript", ...d.signatures.map(signatureOf), "```", "");
  const { doc } = d;
  if (doc === null) return lines;
  lines.push(prose(doc.text), "");
  if (doc.params.size > 0) {
    for (const [name, words] of doc.params) lines.push(`- \`${name}\`: ${oneLine(words)}`);
    lines.push("");
  }
  if (doc.returns !== "") lines.push(`**Returns** ${oneLine(doc.returns)}`, "");
  for (const words of doc.throws) lines.push(`**Throws** ${oneLine(words)}`, "");
  for (const code of doc.examples) lines.push("```ts", withImports(code, entry, names), "```", "");
  return lines;
}

const written = "<!-- Written by `npm run reference` from the comments in src/: change those. -->";

/** Every page by its path. */
export function pagesOf(items: readonly Item[]): Map<string, string> {
  const names = namesOf(items);
  const pages = new Map<string, string>();
  const index = ["# Reference", "", written, "", "What every entry exports, by subject; by name below.", ""];
  const byName: [name: string, link: string][] = [];
  for (const subject of subjects) {
    const here = items.filter((item) => subjectOf(item) === subject);
    if (here.length === 0) continue;
    const values = here.filter((i) => i.kind !== "interface" && i.kind !== "type");
    const types = here.filter((i) => i.kind === "interface" || i.kind === "type");
    const lines = [`# ${subject.title}`, "", written, "", `${subject.intro} [All subjects](README.md).`, ""];
    for (const item of [...values, ...types]) {
      lines.push(`## ${item.path}`, "", ...bodyOf(item, item.entry, names));
      byName.push([item.path, `${subject.page}.md#${anchorOf(item.path)}`]);
      if (item.also.length > 0) lines.push(`Also ${item.also.map((path) => `\`${path}\``).join(", ")}.`, "");
      if (item.kind === "class") {
        for (const member of item.members) {
          const heading = `${item.path}.${member.name}`;
          lines.push(`### ${heading}`, "", ...bodyOf(member, item.entry, names));
          byName.push([heading, `${subject.page}.md#${anchorOf(heading)}`]);
        }
      } else {
        for (const member of item.members) {
          const head = oneLine(signatureOf(member.signatures[0])).replace(/;$/, "");
          const words = member.doc === null ? "" : `: ${oneLine(prose(member.doc.text))}`;
          lines.push(`- \`${head}\`${words.includes("```") ? "" : words}`);
        }
        if (item.members.length > 0) lines.push("");
      }
    }
    pages.set(
      `${folder}/${subject.page}.md`,
      `${lines
        .join("\n")
        .replace(/\n{3,}/g, "\n\n")
        .trimEnd()}\n`,
    );
    index.push(`- [${subject.title}](${subject.page}.md): ${subject.intro.replaceAll("](../", "](../")}`);
  }
  byName.sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  index.push("", "## By name", "");
  const letters = new Map<string, string[]>();
  for (const [name, link] of byName) {
    const letter = name[0].toUpperCase();
    letters.set(letter, [...(letters.get(letter) ?? []), `[${name}](${link})`]);
  }
  for (const [letter, links] of letters) index.push(`**${letter}** ${links.join(" · ")}`, "");
  pages.set(`${folder}/README.md`, `${index.join("\n").trimEnd()}\n`);
  return pages;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const items = itemsOf(declarations());
  rmSync(join(root, folder), { recursive: true, force: true });
  mkdirSync(join(root, folder), { recursive: true });
  for (const [path, text] of pagesOf(items)) writeFileSync(join(root, path), text);
  // The list only gets shorter: what is new is to be written, not to be listed.
  const list = join(root, "tests/reference.missing.txt");
  const gaps = missing(items);
  const listed = readFileSync(list, "utf8")
    .split("\n")
    .filter((line) => gaps.includes(line));
  writeFileSync(list, listed.map((line) => `${line}\n`).join(""));
  console.log(`${items.length} exports, ${examplesOf(items).length} examples, ${gaps.length} lack something`);
  for (const gap of gaps.filter((line) => !listed.includes(line))) console.log(`new: ${gap}`);
}
