/**
 * What is done to the declarations after tsc has written them.
 *
 * For older TypeScript: typed arrays have a parameter since 5.7, and before that it is an error to give one. What their own
 * `slice` returns is the same type, in words that every version knows.
 *
 * For `require`: dist/<entry>.d.cts. They only name what <entry>.d.ts declares, so types are the same whichever way a project
 * loads the package, and a tensor made by one is a tensor to the other.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** @typedef {{ value: boolean, type: boolean, params: string, inner: Map<string, Meaning> | null }} Meaning */

const declared =
  /^export (?:declare )?(?:abstract )?(function|const|class|interface|type|namespace|enum) ([\w$]+)(<|\b)/gm;
const reexported = /^export (type )?(?:\{([^}]*)\}|\*(?: as ([\w$]+))?)(?: from "([^"]+)")?;/gm;

/** What a declaration file exports: names, and whether each is a value, a type or both. */
function exportsOf(file) {
  const text = readFileSync(file, "utf8");
  const names = new Map();
  const add = (name, meaning) => {
    const known = names.get(name);
    names.set(name, {
      value: meaning.value || known?.value === true,
      type: meaning.type || known?.type === true,
      params: meaning.params || known?.params || "",
      inner: meaning.inner ?? known?.inner ?? null,
    });
  };
  for (const match of text.matchAll(declared)) {
    const [all, kind, name, opens] = match;
    if (kind === "namespace" || kind === "enum")
      throw new Error(`${file}: ${kind} ${name} is not known here`);
    const params = opens === "<" ? paramsAt(text, match.index + all.length) : "";
    const isType = kind === "interface" || kind === "type";
    const isBoth = kind === "class";
    add(name, {
      value: !isType,
      type: isType || isBoth,
      params: isType || isBoth ? params : "",
      inner: null,
    });
  }
  for (const [, onlyTypes, list, namespace, from] of text.matchAll(reexported)) {
    const source = from === undefined ? null : exportsOf(sourceOf(file, from));
    if (list === undefined) {
      if (namespace !== undefined) add(namespace, { value: true, type: false, params: "", inner: source });
      else for (const [name, meaning] of source) if (!names.has(name)) add(name, meaning);
      continue;
    }
    for (const item of list.split(",").map((s) => s.trim())) {
      if (item === "") continue;
      const [, isType, name, , alias] = /^(type )?([\w$]+)( as ([\w$]+))?$/.exec(item);
      if (source === null && name === alias) continue;
      const meaning = source?.get(name) ?? localOf(text, name);
      if (meaning === undefined) throw new Error(`${file}: what is ${name}?`);
      const typeOnly = onlyTypes !== undefined || isType !== undefined;
      add(alias ?? name, typeOnly ? { ...meaning, value: false } : meaning);
    }
  }
  return names;
}

/** A name that is declared first and exported in a list. */
function localOf(text, name) {
  const kind = new RegExp(`^(?:declare )?(function|const|class|interface|type) ${name}\\b`, "m").exec(
    text,
  )?.[1];
  if (kind === undefined) return undefined;
  const isType = kind === "interface" || kind === "type";
  return { value: !isType, type: isType, params: "", inner: null };
}

/** The text between < and its >, from just after the <. */
function paramsAt(text, start) {
  let depth = 1;
  for (let i = start; ; i++) {
    if (text[i] === "<") depth++;
    else if (text[i] === ">" && text[i - 1] !== "=" && --depth === 0) return text.slice(start, i);
  }
}

const sourceOf = (file, from) => join(dirname(file), from.replace(/\.[jt]s$/, ".d.ts"));

/** `D extends DType = DType, K` as it is said here, and as it is passed on. */
function generics(params, scope, types) {
  if (params === "") return ["", ""];
  // An alias has no variance of its own.
  const plain = params.replace(/(^|,\s*)(?:(?:in|out) )+/g, "$1");
  const qualified = plain.replace(/\b[A-Z]\w*\b/g, (name) => (types.has(name) ? `${scope}.${name}` : name));
  const names = splitTop(params).map(
    (p) =>
      p
        .trim()
        .replace(/^(const|in|out) /, "")
        .match(/^[\w$]+/)[0],
  );
  return [`<${qualified}>`, `<${names.join(", ")}>`];
}

function splitTop(text) {
  const parts = [""];
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if ("<({[".includes(c)) depth++;
    if (")}]".includes(c) || (c === ">" && text[i - 1] !== "=")) depth--;
    if (c === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += c;
  }
  return parts;
}

/** @param {string} dist */
export function forOlderTypeScript(dist) {
  for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".d.ts")) continue;
    const text = readFileSync(join(dist, name), "utf8");
    const plain = text
      .replace(/\b(\w+Array)<ArrayBufferLike>/g, "$1")
      .replace(/\b(\w+Array)<ArrayBuffer>/g, 'ReturnType<$1["slice"]>');
    if (/\b(\w+Array|DataView)<\w*Buffer\w*>/.test(plain))
      throw new Error(`${name}: not for older TypeScript`);
    if (plain !== text) writeFileSync(join(dist, name), plain);
  }
}

/** @param {string} dist @param {string} entry */
export function declarationsOf(dist, entry) {
  const names = exportsOf(join(dist, `${entry}.d.ts`));
  const mode = 'with { "resolution-mode": "import" }';
  const typeOnly = [...names].filter(([, m]) => m.type && !m.value).map(([name]) => name);
  const lines = [`import type * as strided from "./${entry}.js" ${mode};`];
  for (const [name, { value, type, params, inner }] of names) {
    if (value) lines.push(`export declare const ${name}: typeof strided.${name};`);
    if (value && type) {
      const [own, passed] = generics(params, "strided", names);
      lines.push(`export type ${name}${own} = strided.${name}${passed};`);
    }
    const types = [...(inner ?? [])].filter(([, m]) => m.type);
    if (types.length === 0) continue;
    lines.push(`export declare namespace ${name} {`);
    for (const [t, meaning] of types) {
      const known = new Map([...names].filter(([n]) => !inner.has(n)));
      const [own, passed] = generics(meaning.params, "strided", known);
      lines.push(`  type ${t}${own} = strided.${name}.${t}${passed};`);
    }
    lines.push("}");
  }
  if (typeOnly.length > 0) lines.push(`export type { ${typeOnly.join(", ")} } from "./${entry}.js" ${mode};`);
  return `${lines.join("\n")}\n`;
}
