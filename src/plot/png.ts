/** The smallest PNG writer there is: pixels that are numbers of a palette, stored, not compressed; as base64. */
import type { RGB } from "./scale.ts";

/** A picture of width × height palette entries (at most 256). */
export function pngOf(width: number, height: number, pixels: Uint8Array, palette: readonly RGB[]): string {
  const rows = new Uint8Array(height * (width + 1));
  // Each row begins with its filter: none.
  for (let i = 0; i < height; i++) rows.set(pixels.subarray(i * width, (i + 1) * width), i * (width + 1) + 1);
  const size = new Uint8Array(13);
  const view = new DataView(size.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  size.set([8, 3, 0, 0, 0], 8);
  const parts = [
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk("IHDR", size),
    chunk("PLTE", Uint8Array.from(palette.flat())),
    chunk("IDAT", stored(rows)),
    chunk("IEND", new Uint8Array(0)),
  ];
  return base64(joined(parts));
}

function chunk(name: string, data: Uint8Array): Uint8Array {
  const out = new Uint8Array(data.length + 12);
  const view = new DataView(out.buffer);
  view.setUint32(0, data.length);
  out.set(
    [...name].map((c) => c.charCodeAt(0)),
    4,
  );
  out.set(data, 8);
  view.setUint32(data.length + 8, crc32(out.subarray(4, data.length + 8)));
  return out;
}

/** zlib's frame around blocks that are stored as they are. */
function stored(data: Uint8Array): Uint8Array {
  const MOST = 65535;
  const parts: Uint8Array[] = [Uint8Array.of(0x78, 0x01)];
  for (let at = 0; at === 0 || at < data.length; at += MOST) {
    const block = data.subarray(at, at + MOST);
    const last = at + MOST >= data.length ? 1 : 0;
    const { length } = block;
    parts.push(Uint8Array.of(last, length & 255, length >> 8, ~length & 255, (~length >> 8) & 255), block);
  }
  let [a, b] = [1, 0];
  for (const byte of data) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  parts.push(Uint8Array.of(b >> 8, b & 255, a >> 8, a & 255));
  return joined(parts);
}

function crc32(data: Uint8Array): number {
  let crc = -1;
  for (const byte of data) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, p) => sum + p.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
}
