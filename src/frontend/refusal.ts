/**
 * Why a function cannot be compiled, and the text that shows where:
 *
 *     map: cannot compile this call; only Math.* functions are known.
 *       x => Math.max(x, clamp(x))
 *                        ^^^^^^^^
 *       Pass it: kernel(fn, { clamp }), or write it inside the function.
 */
import type { Span } from "../ir/node.ts";

export interface Refusal {
  /** One sentence: the fact. */
  readonly reason: string;
  /** What the caller can do instead, where there is something. */
  readonly remedy: string | null;
  /** The reason, the source with a caret and the remedy, without the operation's name. */
  readonly message: string;
  /** Into the function's printed source. */
  readonly span: Span;
  readonly source: string;
  /** The captured values do not fit the function's parameters: then it cannot be called either. */
  readonly binding?: true;
}

export function refusal(reason: string, source: string, span: Span, remedy: string | null = null): Refusal {
  return { reason, remedy, message: withCaret(reason, source, span, remedy), span, source };
}

export function isRefusal(result: object): result is Refusal {
  return "reason" in result;
}

/** The whole message, for the operation that was asked: `kernel: …`. */
export function refusalMessage(operation: string, refused: Refusal, more: RefusalMore = {}): string {
  const { source = refused.source, fact = "", remedy = "" } = more;
  const own = refused.remedy?.replace(/kernel\(fn, (\{[^}]*\})\)/, passing(operation));
  const all = [own, remedy].filter((text) => text).join("\n  ");
  return withCaret(`${operation}: ${refused.reason}${fact}`, source, refused.span, all);
}

/** What a caller adds to a refusal: another source to show, a fact, a remedy. */
export interface RefusalMore {
  readonly source?: string;
  readonly fact?: string;
  readonly remedy?: string;
}

/** How captured values are passed to an operation. */
const passing = (operation: string): string =>
  ["map", "zip", "reduce", "scan", "mapReduce"].includes(operation)
    ? `${operation}(…, { with: $1 })`
    : "kernel(fn, $1)";

/** A fact, the offending line of the source with a caret under the span, and the remedy below. */
export function withCaret(
  fact: string,
  source: string,
  span: Span | undefined,
  remedy?: string | null,
): string {
  const lines = [fact];
  if (span !== undefined && source !== "") lines.push(...caretLines(source, span));
  if (remedy) lines.push(remedy);
  return lines.join("\n  ");
}

const lineWidth = 96;

/** The line a span begins on, trimmed to a window around it, and a line of carets. */
function caretLines(source: string, span: Span): [string, string] {
  const start = Math.max(0, Math.min(span.start, source.length - 1));
  const lineStart = source.lastIndexOf("\n", start - 1) + 1;
  const newline = source.indexOf("\n", start);
  const line = source.slice(lineStart, newline < 0 ? source.length : newline).trimEnd();
  const indent = line.length - line.trimStart().length;
  const from = start - lineStart;
  const to = Math.max(from + 1, Math.min(span.end - lineStart, line.length));
  const fits = line.length - indent <= lineWidth;
  const left = fits ? indent : Math.max(indent, Math.min(from - 24, line.length - lineWidth));
  const right = fits ? line.length : Math.min(line.length, left + lineWidth);
  const head = left > indent ? "…" : "";
  const shown = line.slice(left, right).replace(/\s/g, " ");
  const carets = Math.max(1, Math.min(to, right) - from);
  return [
    head + shown + (right < line.length ? "…" : ""),
    " ".repeat(head.length + Math.max(0, from - left)) + "^".repeat(carets),
  ];
}
