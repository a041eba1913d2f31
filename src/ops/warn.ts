/**
 * Functions that are called instead of compiled, said aloud: whoever listens (explain) hears of each, and everybody else
 * is warned once of each function, on the console, unless warnings are off or this is production.
 */
import { engine, warns } from "../engine.ts";
import { type Refusal, refusalMessage } from "../frontend/refusal.ts";
import type { Callable } from "./function.ts";

/** As Node has it, and as bundlers put a text in its place. */
declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** The texts of functions that were warned of. Few are kept: what makes functions without end must not fill memory. */
const warned = new Set<string>();
const MOST_WARNED = 1000;

/** The function is about to be called for every element. */
export function warnCalled(operation: string, { refusal }: Callable): void {
  if (refusal === null || !warns() || engine().listener !== null || warned.has(refusal.source)) return;
  if (warned.size >= MOST_WARNED || isProduction()) return;
  warned.add(refusal.source);
  console.warn(`strided: ${warningOf(operation, refusal)}`);
}

function warningOf(operation: string, refusal: Refusal): string {
  const names = /kernel\(fn, (\{[^}]*\})\)/.exec(refusal.remedy ?? "")?.[1];
  const example = names === undefined ? "" : `As in t.map((x, { k }) => x * k, { with: { k } }).\n  `;
  return refusalMessage(operation, refusal, {
    fact: " So it is called for every element, which is many times slower than compiled code.",
    remedy: `${example}This is said once for a function; configure({ warnings: false }) turns it off.`,
  });
}

/** As everything that runs in Node or comes out of a bundler is told: bundlers write the answer in place of the question. */
function isProduction(): boolean {
  // Deno would ask its user whether the environment may be read.
  if ("Deno" in globalThis) return false;
  try {
    return process.env.NODE_ENV === "production";
  } catch {
    // No process: a page that no bundler has made.
    return false;
  }
}
