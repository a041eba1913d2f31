/**
 * What a process and the children that compute for it say to each other, and how an error travels. A child is told plans once,
 * by hash, and then tasks one at a time; nothing here comes from a queue.
 */
import { type ErrorCode, TensorError } from "../../errors.ts";
import type { Plan, TaskReport } from "../types.ts";

/** What of a `RunContext` can be sent. */
export interface SentContext {
  readonly folders: readonly string[];
  readonly urls: readonly string[];
  readonly memory?: number;
}

export type ToChild =
  | { readonly kind: "plan"; readonly plan: Plan; readonly context: SentContext }
  | {
      readonly kind: "task";
      readonly id: number;
      readonly hash: string;
      readonly operation: string;
      readonly index: number;
    };

export interface SentError {
  /** Null where it was no error of ours. */
  readonly code: ErrorCode | null;
  readonly message: string;
}

export type FromChild =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly id: number; readonly report: TaskReport }
  | { readonly kind: "failed"; readonly id: number; readonly error: SentError };

export function sentError(error: unknown): SentError {
  if (error instanceof TensorError) return { code: error.code, message: error.message };
  return { code: null, message: error instanceof Error ? error.message : String(error) };
}

/** Errors of the outside world, which may be gone at the next try: all others are the same every time. */
const passing: readonly (ErrorCode | null)[] = [null, "file", "worker"];

/** May a task that failed like this be tried again? */
export const isPassing = (error: unknown): boolean => passing.includes(sentError(error).code);

/** The error of a child, in the process that waits for it. */
export const receivedError = ({ code, message }: SentError): TensorError =>
  new TensorError(code ?? "worker", code === null ? `task: ${message}` : message);

/** Plans that a child keeps: the last ones. */
export const PLANS_KEPT = 4;
