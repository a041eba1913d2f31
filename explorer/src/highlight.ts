/** Code as HTML with a class for each kind of token: a few patterns, tried in order at each place. */

type Language = "js" | "ir" | "wat";

const words =
  "const let var function return if else for while do of in new import from export as true false null undefined typeof " +
  "switch case default break continue throw try catch finally class extends this async await yield";
const string = /"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?/;
const number = /(?<![\w$%])-?(?:0x[\da-f]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)n?\b/;

const patterns: Readonly<Record<Language, readonly (readonly [string, RegExp])[]>> = {
  js: [
    ["comment", /\/\/.*|\/\*[\s\S]*?(?:\*\/|$)/],
    ["string", string],
    ["number", /(?<![\w$])(?:0x[\da-f]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)n?\b/],
    ["keyword", new RegExp(`\\b(?:${words.replaceAll(" ", "|")})\\b`)],
    ["call", /[A-Za-z_$][\w$]*(?=\()/],
    ["mark", /=>|[{}()[\].,;:?=<>+\-*/%&|!~^]/],
  ],
  ir: [
    ["value", /%\d+/],
    ["number", number],
    ["keyword", /\b(?:return|input|const)\b/],
    ["type", /\b(?:bool|[uif]\d+|bf16)\b/],
  ],
  wat: [
    ["comment", /;;.*/],
    ["string", string],
    ["value", /\$\w+/],
    ["keyword", /\((?:module|func|memory|import|export|param|result|local|type)\b/],
    ["number", number],
  ],
};

const compiled = new Map<Language, RegExp>();

function matcher(language: Language): RegExp {
  let found = compiled.get(language);
  if (found === undefined) {
    found = new RegExp(patterns[language].map(([name, p]) => `(?<${name}>${p.source})`).join("|"), "gi");
    compiled.set(language, found);
  }
  return found;
}

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
export const escapeHtml = (text: string) => text.replace(/[&<>]/g, (c) => escapes[c]);

/** HTML; no span crosses a line. */
export function highlight(code: string, language: Language): string {
  let html = "";
  let done = 0;
  for (const match of code.matchAll(matcher(language))) {
    const [name] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? ["mark"];
    html += escapeHtml(code.slice(done, match.index));
    html += match[0]
      .split("\n")
      .map((line) => `<span class="t-${name}">${escapeHtml(line)}</span>`)
      .join("\n");
    done = match.index + match[0].length;
  }
  return html + escapeHtml(code.slice(done));
}

/** A block of code to read. */
export function codeBlock(code: string, language: Language): HTMLPreElement {
  const pre = document.createElement("pre");
  pre.className = "block";
  pre.tabIndex = 0;
  pre.innerHTML = highlight(code, language);
  return pre;
}
