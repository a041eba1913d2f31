/** Why a function is no njit function, unwound to whoever asked: the reason, its place and a remedy. */
import { type ErrorCode, TensorError } from "../errors.ts";
import { withCaret } from "../frontend/refusal.ts";
import type { Place } from "./tree.ts";

export const OPERATION = "njit";

/** The line of the source that a place begins on, counted from 1. */
export function lineOf({ source, span }: Place): number {
  let line = 1;
  for (let at = source.indexOf("\n"); at >= 0 && at < span.start; at = source.indexOf("\n", at + 1)) line++;
  return line;
}

/** What stands there. */
export const textOf = ({ source, span }: Place): string => source.slice(span.start, span.end);

/** Throws `njit: <reason>`, the line with a caret, and the remedy. */
export function refuse(place: Place, reason: string, remedy?: string, code: ErrorCode = "kernel"): never {
  throw new TensorError(code, withCaret(`${OPERATION}: ${reason}`, place.source, place.span, remedy));
}
