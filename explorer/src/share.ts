/** The program in the address: `#slice` names an example, `#code=…` holds the code itself, compressed. */
import { type Example, examples } from "./examples.ts";

export async function toHash(code: string): Promise<string> {
  const example = examples.find((e) => e.code === code);
  if (example !== undefined) return `#${example.id}`;
  return `#code=${base64url(await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(code)))}`;
}

export interface Shared {
  readonly code: string;
  readonly example: Example | null;
}

/** What an address holds; null for an empty one, "unreadable" for what is no program. */
export async function fromHash(hash: string): Promise<Shared | "unreadable" | null> {
  const text = hash.replace(/^#/, "");
  if (text === "" || text === "main") return null;
  const example = examples.find((e) => e.id === text);
  if (example !== undefined) return { code: example.code, example };
  if (!text.startsWith("code=")) return "unreadable";
  try {
    const packed = Uint8Array.from(atob(text.slice(5).replaceAll("-", "+").replaceAll("_", "/")), (c) =>
      c.charCodeAt(0),
    );
    const bytes = await through(new DecompressionStream("deflate-raw"), packed);
    return { code: new TextDecoder("utf-8", { fatal: true }).decode(bytes), example: null };
  } catch {
    return "unreadable";
  }
}

/**
 * Programs that have run in this tab and came back. What somebody else wrote is not run unasked, and neither is what
 * hung the page before: a run leaves a note until it is over.
 */
const RAN = "strided-ran";
const RUNNING = "strided-running";
const MOST_KEPT = 30;

export function hasComeBack(code: string): boolean {
  return known().includes(code) && !didHang(code);
}
export const didHang = (code: string) => stored(RUNNING) === code;

export function noteStart(code: string): void {
  store(RUNNING, code);
}
export function noteEnd(code: string): void {
  store(RUNNING, null);
  store(RAN, JSON.stringify([code, ...known().filter((c) => c !== code)].slice(0, MOST_KEPT)));
}

function known(): string[] {
  try {
    return JSON.parse(stored(RAN) ?? "[]") as string[];
  } catch {
    return [];
  }
}

/** Storage may be forbidden: then nothing is remembered. */
function stored(key: string): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}
function store(key: string, value: string | null): void {
  try {
    if (value === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, value);
  } catch {
    // Full or forbidden.
  }
}

async function through(
  stream: CompressionStream | DecompressionStream,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  const source = new Blob([bytes])
    .stream()
    .pipeThrough(stream as ReadableWritablePair<Uint8Array, Uint8Array<ArrayBuffer>>);
  return new Uint8Array(await new Response(source).arrayBuffer());
}

const base64url = (bytes: Uint8Array) =>
  btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
