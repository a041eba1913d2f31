/** Node's checksum and ours are the same, in pieces too. */
import { expect, it } from "vitest";
import { crc32, plainCrc32 } from "./crc32.ts";

it("gives what is known, and the same by hand and by the host", () => {
  expect(plainCrc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
  const bytes = new Uint8Array(new SharedArrayBuffer(100_003)).map((_, i) => i * 7 + (i >> 8));
  expect(crc32(bytes)).toBe(plainCrc32(bytes));
  for (const cut of [0, 1, 4096, 50_001])
    expect(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut)))).toBe(plainCrc32(bytes));
});
