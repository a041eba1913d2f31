/** What the command line writes to and reads from. Everything it does to the outside goes through one of these. */

import type { Terminal } from "../plot/terminal.ts";
import { plainText } from "../plot/text.ts";
import type { Files } from "./archive-types.ts";

export interface Host {
  /** To standard output. */
  out(text: string): void;
  /** To standard error. */
  err(text: string): void;
  /** What standard output can. */
  readonly terminal: Terminal;
  /** Is standard error a terminal? Then long work shows how far it is. */
  readonly showsProgress: boolean;
  readonly version: string;
  readonly files: Files;
  /** All of standard input. */
  stdin(): Promise<Uint8Array>;
  exists(path: string): boolean;
  write(path: string, text: string): void | Promise<void>;
  /** What `write` puts into a file of this name, to standard output. */
  pipe(name: string, write: (path: string) => Promise<void>): Promise<void>;
  /** A signal for whoever wants to end in order when the user says stop; from then on that is all that stop does. */
  interrupted?(): AbortSignal;
}

/** A mistake in how a command was called: exit code 2, and where to read more. */
export class Usage extends Error {}

/** Lines of a message, each as letters only: names come from files that anybody may have written. */
export const plainLines = (text: string): string => text.split("\n").map(plainText).join("\n");

/** JSON that a terminal can show: what is an order to it is written as \u…, which is the same text. */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value, jsonValue, 2).split("\n").map(plainText).join("\n");

/** Typed arrays that are longer than this are told, not listed. */
const MOST_LISTED = 1000;

function jsonValue(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value instanceof Map) return Object.fromEntries(value);
  if (!ArrayBuffer.isView(value)) return value;
  const all = value as Float64Array;
  if (all.length > MOST_LISTED) return `${value.constructor.name} of ${all.length}`;
  return Array.from(all as ArrayLike<unknown>);
}

/** How far long work is: one line of standard error that is written over, and gone at the end. */
export class Progress {
  readonly #host: Host;
  readonly #total: number;
  #done = 0;

  constructor(host: Host, total: number) {
    this.#host = host;
    this.#total = total;
  }

  /** Before a piece of work. */
  step(name: string): void {
    if (!this.#host.showsProgress) return;
    const share = this.#total === 0 ? 1 : this.#done / this.#total;
    const cells = 24;
    const full = Math.round(share * cells);
    const [on, off] = this.#host.terminal.ascii ? ["#", "."] : ["█", "░"];
    const room = Math.max(8, this.#host.terminal.columns - cells - 14);
    const shown = [...plainText(name)].slice(0, room).join("");
    this.#host.err(
      `\r\x1b[K${on.repeat(full)}${off.repeat(cells - full)} ${this.#done}/${this.#total} ${shown}`,
    );
    this.#done++;
  }

  end(): void {
    if (this.#host.showsProgress) this.#host.err("\r\x1b[K");
  }
}
