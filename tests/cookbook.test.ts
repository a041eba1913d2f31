/** Every recipe runs, draws what is committed, and stays short; what its comments say is checked with the page's programs. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { cookbookPage, pictureOf, recipes } from "../docs/make-cookbook.ts";

const file = (name: string) => readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)));
const files = new Map<string, string>();

describe("the cookbook", () => {
  test.each(recipes)("%s draws its picture; `npm run docs` writes it anew", async (recipe) => {
    const picture = await pictureOf(recipe);
    files.set(recipe, picture.file);
    expect(Buffer.from(picture.bytes).equals(file(`docs/images/cookbook/${picture.file}`))).toBe(true);
  });

  test("there are at least 30, each under 60 lines", () => {
    expect(recipes.length).toBeGreaterThanOrEqual(30);
    const long = recipes.filter((r) => file(`examples/cookbook/${r}.ts`).toString().split("\n").length > 60);
    expect(long).toEqual([]);
  });

  test("the page is made of them", () => {
    expect(file("docs/cookbook.md").toString()).toBe(cookbookPage(files));
  });
});
