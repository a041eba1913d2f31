/**
 * Walks through a header whose length nobody knows beforehand: bytes come in windows, texts and lists are held against
 * what is left of the file before memory is taken for them.
 */
import { textOf } from "./json.ts";
import type { Reader } from "./source.ts";

const WINDOW = 64 << 10;
const MOST_WINDOW = 1 << 20;
/** Longer texts are no names and no metadata. */
const MOST_TEXT = 64 << 20;

export class Cursor {
  /** Where the next byte is read from. */
  at: number;
  readonly end: number;
  readonly #reader: Reader;
  readonly #bad: (fact: string) => never;
  #bytes: Uint8Array = new Uint8Array();
  #view: DataView = new DataView(new ArrayBuffer(0));
  /** Where the window begins. */
  #from = 0;
  #window = WINDOW;

  constructor(reader: Reader, at: number, end: number, bad: (fact: string) => never) {
    this.#reader = reader;
    this.at = at;
    this.end = end;
    this.#bad = bad;
  }

  get left(): number {
    return this.end - this.at;
  }

  /** Are so many bytes here already? */
  has(n: number): boolean {
    return this.at >= this.#from && this.at + n <= this.#from + this.#bytes.length;
  }

  /** Brings so many bytes here; an error where the file has not so many. */
  async load(n: number): Promise<void> {
    if (this.has(n)) return;
    if (n > this.left) this.#bad(`it ends at byte ${this.end}, ${n} bytes are expected from ${this.at} on.`);
    const length = Math.min(this.left, Math.max(n, this.#window));
    this.#bytes = await this.#reader.bytes(this.at, length);
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
    this.#from = this.at;
    this.#window = Math.min(MOST_WINDOW, this.#window * 2);
  }

  /** A view in which the next bytes begin at the given place; they have been loaded, and are stepped over. */
  take(n: number): { view: DataView; p: number } {
    const p = this.at - this.#from;
    this.at += n;
    return { view: this.#view, p };
  }

  /** The next bytes, as they are until more are loaded. */
  async slice(n: number): Promise<Uint8Array> {
    if (!this.has(n)) await this.load(n);
    const p = this.at - this.#from;
    this.at += n;
    return this.#bytes.subarray(p, p + n);
  }

  async text(n: number): Promise<string> {
    if (n > MOST_TEXT) this.#bad(`a text of ${n} bytes at byte ${this.at}; at most ${MOST_TEXT} are read.`);
    return textOf(await this.slice(n), () => this.#bad(`the text at byte ${this.at - n} is no UTF-8.`));
  }

  /** Steps over bytes without reading them. */
  skip(n: number): void {
    if (n > this.left) this.#bad(`it ends at byte ${this.end}, ${n} bytes are expected from ${this.at} on.`);
    this.at += n;
  }
}
