/**
 * Numbers in text: CSV and its kin, with quotes as RFC 4180 has them. The bytes are scanned once, in pieces; a cell that is
 * a plain decimal number never becomes a string.
 */
import { checkDType, type DType, dtypes, type Value } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import { checkFlag, readList, readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import { contiguousView } from "../view/view.ts";
import { hold, takePlace } from "./into-heap.ts";
import { textOf, unshared } from "./json.ts";
import { failFile, quoted } from "./names.ts";
import {
  checkSignal,
  type Input,
  inputOf,
  type ReadOptions,
  type Source,
  type SourceOptions,
  sourceNames,
} from "./source.ts";
import { readPath, toBytes, toFile, type Writing } from "./target.ts";

/** What to read. */
export interface LoadOptions extends SourceOptions {
  /**
   * Between cells, one ASCII character. Default: the one of , tab and ; that is most often in the first line; blanks where
   * that is numbers and blanks.
   */
  readonly delimiter?: string;
  /** Does the first line name the columns? Default: if any of its cells is no number. */
  readonly header?: boolean;
  /** Only these columns, by name or number, in this order; negative numbers count from the end. */
  readonly columns?: readonly (string | number)[];
  /** Default f64. */
  readonly dtype?: DType;
  /** Lines to leave out at the beginning. */
  readonly skip?: number;
}

/** What a table holds: a matrix of its numbers, and the names of its columns where it has any. */
export interface Table {
  /** The numbers: rows × columns. */
  readonly data: Tensor;
  /** The columns' names; null where the file has none. */
  readonly names: readonly string[] | null;
}

const loadNames = [...sourceNames, "delimiter", "header", "columns", "dtype", "skip"];
const [TAB, LF, CR, SPACE, QUOTE, PLUS, MINUS, DOT] = [9, 10, 13, 32, 34, 43, 45, 46];

/* Reading ---------------------------------------------------------------------------------------------- */

/**
 * The numbers of a CSV file as a matrix. An empty cell is NaN; what is no number is an error that says where it is.
 *
 *     const { data, names } = await csv.load("prices.csv", { columns: ["open", "close"] });
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `columns`, `dtype`, `delimiter` and more
 * @returns a promise of the numbers and the columns' names
 * @throws TensorError where the file is not what it says
 * @example
 * const bytes = new TextEncoder().encode("a,b\n1,2\n3,4\n");
 * const { data, names } = await csv.load(bytes, { dtype: "f32" });
 * data; // → f32 [[1, 2], [3, 4]]
 * names; // → [a, b]
 */
export async function load(source: Source, options?: LoadOptions): Promise<Table> {
  return (await loadTable(source, options, false)).table;
}

/** A table and, with `mayHaveTexts`, the columns that are no numbers by their first text: those are NaN in it. */
export async function loadTable(
  source: Source,
  options: LoadOptions | undefined,
  mayHaveTexts: boolean,
): Promise<{ readonly table: Table; readonly texts: ReadonlyMap<number, string> }> {
  const operation = "csv.load";
  const read = readOptions(operation, options, "{ columns }", loadNames);
  const { delimiter, header, columns, dtype: asked, skip = 0, ...rest } = read;
  checkFlag(operation, "header", header);
  const dtype = asked === undefined ? "f64" : checkDType(operation, asked);
  const wanted = readColumns(operation, columns);
  if (!(Number.isSafeInteger(skip) && skip >= 0)) {
    fail("value", operation, `skip is ${describe(skip)}.`, "It is a number of lines.");
  }
  const separator = delimiter === undefined ? null : checkDelimiter(operation, delimiter);
  const { input, signal } = await inputOf(operation, source, rest);
  const table = new Reading(operation, input.name, dtype, separator, header, wanted, skip, mayHaveTexts);
  await feed(table, input, signal);
  return { table: table.finish(), texts: table.texts };
}

function readColumns(operation: string, given: unknown): readonly (string | number)[] | null {
  if (given === undefined) return null;
  const list = readList(operation, "columns", given);
  const isGood = (c: unknown) => typeof c === "string" || Number.isSafeInteger(c);
  if (list !== null && list.length > 0 && list.every(isGood)) return list as (string | number)[];
  return fail("value", operation, `columns is ${describe(given)}.`, 'Give names or numbers: ["x", 2].');
}

function checkDelimiter(operation: string, delimiter: unknown): number {
  const code = typeof delimiter === "string" && delimiter.length === 1 ? delimiter.charCodeAt(0) : 0;
  const isGood = code > 0 && code < 128 && ![LF, CR, QUOTE, DOT, PLUS, MINUS].includes(code);
  if (isGood && !/[0-9A-Za-z]/.test(delimiter as string)) return code;
  return fail(
    "value",
    operation,
    `the delimiter is ${describe(delimiter)}.`,
    'Use one character: "," or "\\t".',
  );
}

const STEP = 1 << 20;
/** No row of numbers is longer. */
const MOST_ROW = 64 << 20;

async function feed(table: Reading, input: Input, signal: AbortSignal | undefined): Promise<void> {
  const reader = await input.open(signal);
  try {
    let kept: Uint8Array = new Uint8Array();
    for (let at = 0; at < input.size || at === 0; ) {
      const length = Math.min(STEP, input.size - at);
      const piece = await reader.bytes(at, length);
      at += length;
      const isLast = at >= input.size;
      // One byte more, which is 0: no cell goes on there, and no read leaves the array.
      const padded = new Uint8Array(kept.length + piece.length + 1);
      padded.set(kept);
      padded.set(piece, kept.length);
      const used = table.take(padded, isLast);
      kept = padded.slice(used, -1);
      if (kept.length > MOST_ROW) {
        failFile(
          table.operation,
          input.name,
          null,
          `row ${table.row + 1} has more than ${MOST_ROW} bytes.`,
          "Is a quote open?",
        );
      }
      if (isLast) return;
    }
  } finally {
    await reader.close();
  }
}

/** Numbers that are kept in one piece. */
const BLOCK = 1 << 16;
/** Powers of ten that are doubles exactly: one multiplication or division by them rounds once. */
const powers = Array.from({ length: 23 }, (_, k) => Number(`1e${k}`));

const blockFor = (dtype: DType) =>
  new (dtype === "i64" ? BigInt64Array : dtype === "u64" ? BigUint64Array : Float64Array)(BLOCK);

class Reading {
  readonly operation: string;
  /** Columns that are no numbers, by number, with the row and the text that say so; where they may be. */
  readonly texts = new Map<number, string>();
  readonly #mayHaveTexts: boolean;
  /** Lines with cells that have been read, the header too. */
  row = 0;
  readonly #file: string;
  readonly #dtype: DType;
  #delimiter: number | null;
  #header: boolean | undefined;
  readonly #wanted: readonly (string | number)[] | null;
  #skip: number;
  #isFirst = true;
  #names: readonly string[] | null = null;
  /** By column of the file: where it goes in a row of the result, -1 where nowhere. */
  #places: Int32Array | null = null;
  #width = 0;
  /** Numbers of the rows that are complete, and of the one that is not. */
  readonly #blocks: (Float64Array | BigInt64Array | BigUint64Array)[] = [];
  #count = 0;
  /** Those of a row: bigints of 64-bit dtypes, numbers of all others, which are never boxed so. */
  readonly #line: Value[] = [];
  #numbers: Float64Array = new Float64Array();
  #padded: Uint8Array = new Uint8Array(1);

  constructor(
    operation: string,
    file: string,
    dtype: DType,
    delimiter: number | null,
    header: boolean | undefined,
    wanted: readonly (string | number)[] | null,
    skip: number,
    mayHaveTexts: boolean,
  ) {
    this.#mayHaveTexts = mayHaveTexts;
    this.operation = operation;
    this.#file = file;
    this.#dtype = dtype;
    this.#delimiter = delimiter;
    this.#header = header;
    this.#wanted = wanted;
    this.#skip = skip;
  }

  /** Reads whole rows of all bytes but the last one, which is 0; returns how many those were. `isLast`: no more come. */
  take(padded: Uint8Array, isLast: boolean): number {
    const b = padded.subarray(0, -1);
    this.#padded = padded;
    let p = 0;
    if (this.#isFirst) {
      // A mark of the order of bytes, which UTF-8 has none of.
      if (b[0] === 0xef && b[1] === 0xbb && b[2] === 0xbf) p = 3;
      this.#isFirst = false;
    }
    for (;;) {
      const next = this.#skip > 0 ? this.#stepOver(b, p, isLast) : this.#readRow(b, p, isLast);
      if (next < 0) return p;
      p = next;
      if (p >= b.length) return p;
    }
  }

  #stepOver(b: Uint8Array, p: number, isLast: boolean): number {
    const end = b.indexOf(LF, p);
    if (end < 0 && !isLast) return -1;
    this.#skip--;
    return end < 0 ? b.length : end + 1;
  }

  /** Where the next row begins; -1: this one is not all here. */
  #readRow(b: Uint8Array, p: number, isLast: boolean): number {
    // Blank lines are none.
    let q = p;
    while (q < b.length && (b[q] === SPACE || b[q] === CR || (b[q] === TAB && this.#delimiter !== TAB))) q++;
    if (q >= b.length) return isLast ? b.length : -1;
    if (b[q] === LF) return q + 1;
    return this.#places === null ? this.#readFirst(b, p, isLast) : this.#readNumbers(b, p, isLast);
  }

  #readFirst(b: Uint8Array, p: number, isLast: boolean): number {
    const end = lineEnd(b, p, isLast);
    if (end < 0) return -1;
    this.#delimiter ??= mostOften(b, p, end);
    const cells: string[] = [];
    for (let q = p; ; ) {
      const cell = this.#cellAt(b, q, cells.length)!;
      cells.push(cell.text);
      if (cell.end >= end || b[cell.end] !== this.#delimiter) break;
      q = cell.end + 1;
    }
    this.#width = cells.length;
    this.#header ??= cells.some(
      (text) => text !== "" && Number.isNaN(numberIn(text) ?? Number.NaN) && !isNan(text),
    );
    if (this.#header) this.#names = cells;
    this.#places = this.#placesOf(cells.length);
    this.#numbers = new Float64Array(this.#wanted?.length ?? cells.length);
    if (!this.#header) return this.#readNumbers(b, p, isLast);
    this.row++;
    return Math.min(b.length, end + 1);
  }

  #placesOf(width: number): Int32Array {
    const names = this.#names;
    if (this.#wanted === null) return Int32Array.from({ length: width }, (_, i) => i);
    const places = new Int32Array(width).fill(-1);
    for (const [k, column] of this.#wanted.entries()) {
      const i =
        typeof column === "number" ? (column < 0 ? column + width : column) : (names?.indexOf(column) ?? -1);
      if (i < 0 || i >= width) {
        const known =
          names === null ? `There are ${width}.` : `There are ${names.slice(0, 12).map(quoted).join(", ")}.`;
        const what = typeof column === "number" ? String(column) : quoted(column);
        failFile(this.operation, this.#file, null, `there is no column ${what}.`, known);
      }
      if (places[i] >= 0) fail("value", this.operation, `column ${quoted(String(column))} is named twice.`);
      places[i] = k;
    }
    return places;
  }

  #readNumbers(b: Uint8Array, start: number, isLast: boolean): number {
    const places = this.#places!;
    const { length } = b;
    const s = this.#padded;
    const delimiter = this.#delimiter!;
    const { big, kind } = dtypes[this.#dtype];
    const mayLack = kind === "float";
    const line = this.#line;
    const numbers = this.#numbers;
    /** Where the row ends, once a cell has asked. */
    let rowEnd = -1;
    let p = start;
    for (let column = 0; ; column++) {
      const place = column < places.length ? places[column] : -1;
      let q = p;
      let c = s[q];
      while (c === SPACE) c = s[++q];
      const isNegative = c === MINUS;
      if (isNegative) c = s[++q];
      let digits = 0;
      // Whole numbers of 32 bits are quicker than doubles: nine digits of them, then those that follow.
      let high = 0;
      let low = 0;
      let scale = 0;
      for (; c >= 48 && c < 58; c = s[++q]) {
        if (digits++ === 9) [high, low] = [low, 0];
        low = (low * 10 + (c - 48)) | 0;
      }
      if (c === DOT) {
        const whole = digits;
        for (c = s[++q]; c >= 48 && c < 58; c = s[++q]) {
          if (digits++ === 9) [high, low] = [low, 0];
          low = (low * 10 + (c - 48)) | 0;
        }
        scale = digits - whole;
      }
      if ((c === 101 || c === 69) && digits > 0) {
        c = s[++q];
        const isBelow = c === MINUS;
        if (isBelow || c === PLUS) c = s[++q];
        let power = 0;
        // Without digits after it, it is no exponent: out of range, so that the text decides.
        if (!(c >= 48 && c < 58)) power = 1e9;
        for (; c >= 48 && c < 58 && power < 1e9; c = s[++q]) power = power * 10 + (c - 48);
        scale += isBelow ? power : -power;
      }
      while ((c === SPACE && delimiter !== SPACE) || c === CR) c = s[++q];
      if (q >= length && !isLast) return -1;
      const isEnd = c === delimiter || c === LF || q >= length;
      const isEmpty = isEnd && digits === 0 && mayLack && q - p <= 1 && !isNegative && b[p] !== DOT;
      // Up to 15 digits a double holds exactly, powers of ten to the 22nd too: then one operation rounds once.
      if (isEnd && digits > 0 && digits <= 15 && scale <= 22 && scale >= -22) {
        const mantissa = digits > 9 ? high * powers[digits - 9] + low : low;
        const x = scale > 0 ? mantissa / powers[scale] : mantissa * powers[-scale];
        if (place >= 0 && big)
          line[place] =
            scale === 0 ? BigInt(isNegative ? -x : x) : this.#refuse(textOf(b.subarray(p, q), none), column);
        else if (place >= 0) numbers[place] = isNegative ? -x : x;
      } else if (isEmpty) {
        if (place >= 0) numbers[place] = Number.NaN;
      } else {
        if (rowEnd < 0) rowEnd = lineEnd(b, start, isLast);
        if (rowEnd < 0) return -1;
        const cell = this.#cellAt(b, p, column);
        q = cell.end;
        c = s[q];
        if (place >= 0) {
          const value = this.#valueOf(cell.text, column);
          if (big) line[place] = value;
          else numbers[place] = value as number;
        }
      }
      if (c === delimiter && q < length) {
        p = q + 1;
        continue;
      }
      this.row++;
      if (column + 1 !== this.#width) {
        const fact = `row ${this.row} has ${column + 1} cells, the first ${this.#width}.`;
        failFile(this.operation, this.#file, null, fact);
      }
      this.#keep(big ? line : numbers);
      return Math.min(length, q + 1);
    }
  }

  /** The text of a cell, without its quotes, and where the delimiter or the end of the line is. */
  #cellAt(b: Uint8Array, from: number, column: number): { text: string; end: number } {
    const { length } = b;
    const delimiter = this.#delimiter!;
    const isEnd = (q: number) => q >= length || b[q] === delimiter || b[q] === LF;
    const bad = (fact: string): never =>
      failFile(this.operation, this.#file, null, `row ${this.row + 1}, column ${column + 1}: ${fact}`);
    let p = from;
    while (b[p] === SPACE) p++;
    if (b[p] !== QUOTE || p >= length) {
      let end = p;
      while (!isEnd(end)) end++;
      return { text: (asciiIn(b, p, end) ?? textOf(b.subarray(p, end), bad)).trim(), end };
    }
    let end = p + 1;
    while (end < length && (b[end] !== QUOTE || b[end + 1] === QUOTE)) end += b[end] === QUOTE ? 2 : 1;
    if (end >= length) bad("a quote is open.");
    const text = textOf(b.subarray(p + 1, end), bad).replaceAll('""', '"');
    for (end++; b[end] === SPACE || b[end] === CR; ) end++;
    if (!isEnd(end)) bad("something follows its closing quote.");
    return { text, end };
  }

  #valueOf(text: string, column: number): Value {
    const { big, kind } = dtypes[this.#dtype];
    const clean = text.trim();
    if (big) {
      return /^[+-]?\d+$/.test(clean) ? BigInt(clean.replace(/^\+/, "")) : this.#refuse(clean, column);
    }
    if (clean === "" || isNan(clean)) return kind === "float" ? Number.NaN : this.#refuse(clean, column);
    return numberIn(clean) ?? this.#textIn(clean, column);
  }

  #textIn(text: string, column: number): number {
    if (!this.#mayHaveTexts) return this.#refuse(text, column);
    if (!this.texts.has(column)) this.texts.set(column, `row ${this.row + 1} is ${quoted(text)}`);
    return Number.NaN;
  }

  #refuse(cell: string | Uint8Array, column: number): never {
    const text = typeof cell === "string" ? cell : new TextDecoder().decode(cell);
    const name = this.#names?.[column];
    const where = `row ${this.row + 1}, column ${column + 1}${name === undefined ? "" : ` (${quoted(name)})`}`;
    const what = text === "" ? "is empty" : `is ${quoted(text)}`;
    return failFile(
      this.operation,
      this.#file,
      null,
      `${where} ${what}, which is no ${this.#dtype}.`,
      "Choose columns of numbers with { columns }, or another { dtype }.",
    );
  }

  #keep(line: ArrayLike<Value>): void {
    const { kind, min, max } = dtypes[this.#dtype];
    if (kind !== "float") {
      const wrong = Array.from(line).find(
        (x) => !((typeof x === "bigint" || Number.isInteger(x)) && x >= min && x <= max),
      );
      const fact = `row ${this.row} has ${wrong}, which is no ${this.#dtype}.`;
      if (wrong !== undefined) failFile(this.operation, this.#file, null, fact);
    }
    let at = this.#count % BLOCK;
    if (at > 0 && at + line.length <= BLOCK) {
      const block = this.#blocks[this.#blocks.length - 1];
      for (let i = 0; i < line.length; i++) block[at + i] = line[i] as never;
      this.#count += line.length;
      return;
    }
    for (let i = 0; i < line.length; i++, at++) {
      if (at === BLOCK) at = 0;
      if (at === 0) this.#blocks.push(blockFor(this.#dtype));
      this.#blocks[this.#blocks.length - 1][at] = line[i] as never;
    }
    this.#count += line.length;
  }

  finish(): Table {
    const width = this.#wanted?.length ?? this.#width;
    const rows = width === 0 ? 0 : this.#count / width;
    const { bytes, write, wrap } = dtypes[this.#dtype];
    const place = takePlace(this.operation, this.#dtype, this.#count * bytes);
    for (const [i, block] of this.#blocks.entries()) {
      const n = Math.min(BLOCK, this.#count - i * BLOCK);
      const target = place.at(i * BLOCK * bytes, n * bytes);
      if (bytes === 8) {
        target.set(new Uint8Array(block.buffer, 0, n * 8));
        continue;
      }
      const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
      for (let k = 0; k < n; k++) write(view, k * bytes, wrap(block[k]));
    }
    const all = this.#names;
    const names =
      all === null || this.#wanted === null
        ? all
        : this.#wanted.map((c) => (typeof c === "string" ? c : all[c < 0 ? c + all.length : c]));
    return { data: place.finish(contiguousView([rows, width], bytes)), names };
  }
}

/** Some short ASCII text; null where it is neither. */
function asciiIn(b: Uint8Array, from: number, end: number): string | null {
  if (end - from > 64) return null;
  let text = "";
  for (let p = from; p < end; p++) {
    if (b[p] > 127) return null;
    text += String.fromCharCode(b[p]);
  }
  return text;
}

const none = (): never => fail("file", "csv.load", "a number is no text.");
const isNan = (text: string): boolean => /^[+-]?nan$/i.test(text);

/** A decimal number, or an infinity; null: neither. */
function numberIn(text: string): number | null {
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return Number(text);
  const infinite = /^([+-]?)inf(inity)?$/i.exec(text);
  return infinite === null ? null : infinite[1] === "-" ? -Infinity : Infinity;
}

/** Where a line ends that no quote spans; -1: not here. */
function lineEnd(b: Uint8Array, from: number, isLast: boolean): number {
  let isOpen = false;
  for (let p = from; p < b.length; p++) {
    if (b[p] === QUOTE) isOpen = !isOpen;
    else if (b[p] === LF && !isOpen) return p;
  }
  return isLast ? b.length : -1;
}

/** Of comma, tab and semicolon the one that a line has most of; a comma where it has none. */
function mostOften(b: Uint8Array, from: number, end: number): number {
  const counts = new Map([",", "\t", ";"].map((c) => [c.charCodeAt(0), 0]));
  let isOpen = false;
  for (let p = from; p < end; p++) {
    if (b[p] === QUOTE) isOpen = !isOpen;
    else if (!isOpen && counts.has(b[p])) counts.set(b[p], counts.get(b[p])! + 1);
  }
  const [delimiter, count] = [...counts].sort((x, y) => y[1] - x[1])[0];
  const isBlanks = count === 0 && /^[ ]*[-+.\d]\S*([ ]+[-+.\d]\S*)+\s*$/.test(asciiText(b, from, end));
  return isBlanks ? SPACE : delimiter;
}

/** Bytes of a line as letters, those beyond ASCII too: to look at, not to keep. */
function asciiText(b: Uint8Array, from: number, end: number): string {
  return new TextDecoder("latin1").decode(unshared(b.subarray(from, Math.min(end, from + 4096))));
}

/* Writing ---------------------------------------------------------------------------------------------- */

/** How to write. */
export interface SaveOptions extends ReadOptions {
  /** Between cells. Default a comma, or a tab where the path ends in .tsv. */
  readonly delimiter?: string;
  /** Names of the columns, for a first line. */
  readonly names?: readonly string[];
}

const saveNames = ["signal", "delimiter", "names"];

function writing(operation: string, t: Tensor, options: SaveOptions, otherwise: string): Writing {
  const delimiter = options.delimiter ?? otherwise;
  checkDelimiter(operation, delimiter);
  const names = options.names === undefined ? null : readList(operation, "names", options.names);
  if (options.names !== undefined && !names?.every((name) => typeof name === "string")) {
    fail("value", operation, `names is ${describe(options.names)}.`, 'Give texts: ["x", "y"].');
  }
  const held = hold(operation, t);
  const { shape, dtype } = held;
  const width = shape.length === 2 ? shape[1] : 1;
  const wrong =
    shape.length < 1 || shape.length > 2
      ? `a tensor of ${shape.length} axes is no table.`
      : names !== null && names.length !== width
        ? `${names.length} names for ${width} columns.`
        : null;
  if (wrong !== null) {
    held.release();
    fail("shape", operation, wrong, "Give a matrix, or a vector for one column.");
  }
  const { bytes, read } = dtypes[dtype];
  const quotedName = (name: string) =>
    /["\r\n]/.test(name) || name.includes(delimiter) || name !== name.trim()
      ? `"${name.replaceAll('"', '""')}"`
      : name;
  const encoder = new TextEncoder();
  return {
    *pieces() {
      if (names !== null) yield encoder.encode(`${(names as string[]).map(quotedName).join(delimiter)}\n`);
      const some = Math.max(1, Math.floor(16384 / Math.max(1, width)));
      for (let row = 0; row < shape[0]; row += some) {
        const n = Math.min(some, shape[0] - row);
        const piece = held.at(row * width * bytes, n * width * bytes);
        const view = new DataView(piece.buffer, piece.byteOffset, piece.byteLength);
        let text = "";
        for (let i = 0; i < n; i++) {
          for (let j = 0; j < width; j++) {
            if (j > 0) text += delimiter;
            text += written(read(view, (i * width + j) * bytes), dtype);
          }
          text += "\n";
        }
        yield encoder.encode(text);
      }
    },
    release: () => held.release(),
  };
}

/** The shortest text that gives the same number again. */
function written(x: Value, dtype: DType): string {
  if (typeof x === "bigint") return String(x);
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x < 0 ? "-inf" : "inf";
  if (Object.is(x, -0)) return "-0";
  if (dtype === "f32") {
    for (let digits = 6; digits < 9; digits++) {
      const short = Number(x.toPrecision(digits));
      if (Math.fround(short) === x) return String(short);
    }
  }
  return String(x);
}

/**
 * The text of a table, as UTF-8.
 *
 * @param t a tensor of any layout
 * @param options `names`, `delimiter` and more
 * @returns a promise of the file's bytes
 * @example
 * new TextDecoder().decode(await csv.encode(tensor([[1, 2]]))).trim(); // → 1,2
 */
export async function encode(t: Tensor, options?: SaveOptions): Promise<Uint8Array<ArrayBuffer>> {
  const read = readOptions("csv.encode", options, "{ names }", saveNames);
  const signal = checkSignal("csv.encode", read.signal);
  return toBytes(writing("csv.encode", t, read, ","), signal);
}

/**
 * Writes a table: wholly, or not at all.
 *
 *     await csv.save("points.csv", points, { names: ["x", "y"] });
 *
 * @param path where to; a file that is there is replaced
 * @param t a tensor of any layout
 * @param options `names`, `delimiter` and more
 * @example
 * await csv.save("points.csv", tensor([[1, 2]]), { names: ["x", "y"] });
 * (await csv.load("points.csv")).names; // → [x, y]
 */
export async function save(path: string | URL, t: Tensor, options?: SaveOptions): Promise<void> {
  const read = readOptions("csv.save", options, "{ names }", saveNames);
  const signal = checkSignal("csv.save", read.signal);
  const place = readPath("csv.save", path);
  const isTabbed = /\.tsv$/i.test(place);
  return toFile("csv.save", place, writing("csv.save", t, read, isTabbed ? "\t" : ","), signal);
}
