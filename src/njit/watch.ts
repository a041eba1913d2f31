/**
 * When a call is to end early: a time that is up, a signal that was given before it, a flag that another thread sets. Compiled code
 * asks now and then; asking is cheap and looking is not, so how many questions make a look follows from how fast they come.
 */
import { arrayFacts, dtypeOfArray } from "../dtype.ts";
import { describe, fail, messageOf, TensorError } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import { OPERATION } from "./refuse.ts";

/** When a call is to end. */
export interface NjitLimits {
  /** Milliseconds that a call may take. */
  readonly timeLimit?: number;
  /** Looked at when the call begins, and then whenever the time is: a thread that computes hears no events. */
  readonly signal?: AbortSignal;
  /** An Int32Array over shared memory: once its first element is not 0, calls end. Another thread sets it with Atomics.store. */
  readonly flag?: Int32Array;
}

/** Questions between two looks at the most, and how far apart in milliseconds these are to be. */
const MOST_QUESTIONS = 256;
const LOOK_MS = 1;

export function readLimits(limits: unknown): NjitLimits {
  const example = "{ timeLimit: 1000 }";
  const read = readOptions<NjitLimits>(OPERATION, limits as NjitLimits, example, [
    "timeLimit",
    "signal",
    "flag",
  ]);
  const { timeLimit, signal, flag } = read;
  if (timeLimit !== undefined && !(typeof timeLimit === "number" && timeLimit > 0)) {
    fail("value", OPERATION, `timeLimit is ${describe(timeLimit)}.`, "Give milliseconds above 0.");
  }
  const isSignal = isAborted(signal) !== null;
  if (signal !== undefined && !isSignal) {
    fail(
      "value",
      OPERATION,
      `signal is ${describe(signal)}.`,
      "Give an AbortSignal: new AbortController().signal.",
    );
  }
  const isShared = isSharedWords(flag);
  if (flag !== undefined && !isShared) {
    fail(
      "value",
      OPERATION,
      `flag is ${describe(flag)}.`,
      "Give memory that threads share: new Int32Array(new SharedArrayBuffer(4)).",
    );
  }
  return read;
}

/** Asked of the signal itself, whatever somebody made of it; null: it is none. */
function isAborted(signal: unknown): boolean | null {
  try {
    return aborted?.call(signal) ?? null;
  } catch {
    return null;
  }
}
const aborted: ((this: unknown) => boolean) | undefined =
  typeof AbortSignal === "undefined"
    ? undefined
    : Object.getOwnPropertyDescriptor(AbortSignal.prototype, "aborted")?.get;

function isSharedWords(flag: unknown): boolean {
  if (!ArrayBuffer.isView(flag) || dtypeOfArray(flag) !== "i32" || typeof SharedArrayBuffer === "undefined")
    return false;
  const { buffer, byteLength } = arrayFacts(flag);
  return buffer instanceof SharedArrayBuffer && byteLength >= 4;
}

export class Watch {
  readonly #limits: NjitLimits;
  readonly #name: string;
  readonly #began = performance.now();
  #looked = this.#began;
  #questions = 1;
  #why: string | null = null;

  constructor(limits: NjitLimits, name: string) {
    this.#limits = limits;
    this.#name = name;
  }

  get cancelled(): boolean {
    return this.#why !== null;
  }

  /** Is it to end? Once it is, it stays so. */
  isOver(now = performance.now()): boolean {
    const { timeLimit, signal, flag } = this.#limits;
    if (this.#why !== null) return true;
    if (flag !== undefined && Atomics.load(flag, 0) !== 0) this.#why = "its flag was set";
    else if (isAborted(signal)) this.#why = "its signal was aborted";
    else if (timeLimit !== undefined && now - this.#began >= timeLimit) {
      this.#why = `its time limit is ${timeLimit} ms`;
    }
    return this.#why !== null;
  }

  /** A look: after how many more questions there is to be another. */
  next(): number {
    const now = performance.now();
    this.isOver(now);
    const apart = now - this.#looked;
    this.#looked = now;
    // Far apart: look at every question, until they come faster.
    this.#questions = apart > LOOK_MS ? 1 : Math.min(MOST_QUESTIONS, 2 * this.#questions);
    return this.#questions;
  }

  error(): TensorError {
    const after = Math.round(performance.now() - this.#began);
    const who = this.#name === "" ? "the function" : `"${this.#name}"`;
    return new TensorError(
      "cancelled",
      messageOf(
        OPERATION,
        `${who} was cancelled after ${after} ms: ${this.#why}.`,
        "What it had written stays written.",
      ),
    );
  }
}
