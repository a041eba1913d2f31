/** The page about block types: its drawings are current, and its public names. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { layouts, quantisedPage } from "../../docs/make-quantised.ts";
import { blockTypes, quantisedNames } from "../../src/quantised/types.ts";
import * as entry from "../../src/quantised.ts";

it("the parts of every block take all its bytes", () => {
  for (const name of quantisedNames) {
    const total = layouts[name].fields.reduce((sum, field) => sum + field.bytes, 0);
    expect(total, name).toBe(blockTypes[name].bytes);
  }
});

it("docs/quantised.md is as npm run docs makes it", () => {
  const page = readFileSync(new URL("../../docs/quantised.md", import.meta.url), "utf8");
  expect(quantisedPage(page)).toBe(page);
});

it("strided/quantised exports these names", () => {
  expect(Object.keys(entry).sort().join(" ")).toMatchInlineSnapshot(
    `"Quantised fromBlocks fromGgml isQuantised loadGguf matmul quantise readGguf"`,
  );
  const its = Object.getOwnPropertyNames(entry.Quantised.prototype).sort();
  expect(its.join(" ")).toMatchInlineSnapshot(
    `"assign assignFlat blockBytes blockSize byteStrides bytes clone constructor dequantise dispose dtype isDisposed permute rank reshape shape size slice toJSON toString"`,
  );
});
