/**
 * Names out of files: how messages show them, and which of them may lead to another file. A name never leaves the folder
 * of the file that holds it.
 */
import { fail } from "../errors.ts";

const MOST_SHOWN = 160;

/** A name as messages show it: in quotes, escaped, cut where it is long. */
export function quoted(name: string): string {
  const text = name.length > MOST_SHOWN ? `${name.slice(0, MOST_SHOWN)}…` : name;
  // JSON leaves some characters as they are that move a terminal's cursor or turn its text around.
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Throws what is wrong with a file: which one, which entry, the fact, and what can be done. */
export function failFile(
  operation: string,
  file: string,
  entry: string | null,
  fact: string,
  remedy?: string,
): never {
  const where = entry === null ? file : `${file}, entry ${quoted(entry)}`;
  return fail("file", operation, `${where}: ${fact}`, remedy);
}

/** Is there a character that is none to be seen? */
export function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 32 || c === 127) return true;
  }
  return false;
}

/** What is wrong with a relative path that must stay in its folder; null: nothing. */
export function whyOutside(name: string): string | null {
  if (name === "") return "is empty";
  if (name.length > 4096) return "is too long";
  if (hasControl(name)) return "holds a control character";
  if (name.includes("\\")) return "holds a backslash";
  if (name.startsWith("/") || /^[A-Za-z]:/.test(name)) return "is absolute";
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(name)) return "is a URL";
  for (const part of name.split("/")) {
    if (part === "..") return 'leads out of its folder with ".."';
    if (part === "" || part === ".") return "has an empty part";
  }
  return null;
}
