/** One palette: the site and the explorer import it, and the page of a run, which the package carries along, repeats it. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { style } from "../src/cli/status-page.ts";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const coloursOf = (css: string) =>
  Object.fromEntries([...css.matchAll(/(--[\w-]+): (light-dark\(.*?\));/g)].map((m) => [m[1], m[2]]));
const palette = coloursOf(read("explorer/src/palette.css"));

test("the site and the explorer define no colour that the palette has", () => {
  for (const file of ["site/style.css", "explorer/src/style.css"]) {
    expect(read(file)).toMatch(/^@import "[./\w-]*palette\.css";/);
    expect(Object.keys(coloursOf(read(file))).filter((name) => name in palette)).toEqual([]);
  }
});

test("the page of a run has the palette's colours, and one of its own", () => {
  const { "--empty": empty, ...others } = coloursOf(style);
  expect(empty).toMatch(/^light-dark/);
  const same = Object.fromEntries(Object.keys(others).map((name) => [name, palette[name]]));
  expect(others).toEqual(same);
});
