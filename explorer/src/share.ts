/** The program in the address: `#slice` names an example, `#code=…` holds the code itself, compressed. */
import { type Example, examples } from "./examples.ts";

export async function toHash(code: string): Promise<string> {
  const example = examples.find((e) => e.code === code);
  if (example !== undefined) return `#${example.id}`;
  return `#code=${base64url(await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(code)))}`;
}

/** What an address holds; null when it holds nothing that can be read. */
export async function fromHash(hash: string): Promise<{ code: string; example: Example | null } | null> {
  const text = hash.replace(/^#/, "");
  const example = examples.find((e) => e.id === text);
  if (example !== undefined) return { code: example.code, example };
  if (!text.startsWith("code=")) return null;
  try {
    const packed = Uint8Array.from(atob(text.slice(5).replaceAll("-", "+").replaceAll("_", "/")), (c) =>
      c.charCodeAt(0),
    );
    const bytes = await through(new DecompressionStream("deflate-raw"), packed);
    return { code: new TextDecoder().decode(bytes), example: null };
  } catch {
    return null;
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
