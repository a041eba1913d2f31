/** What npm would change or drop when it publishes is not in package.json. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const metadata = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly bin: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly repository: { readonly url: string };
  readonly homepage: string;
};

test("commands have paths that npm keeps: one that begins with ./ is dropped at publishing", () => {
  expect(Object.values(metadata.bin).filter((path) => path.startsWith("."))).toEqual([]);
});

test("the package says where it comes from, in the form that npm wants", () => {
  expect(metadata.repository.url).toMatch(/^git\+https:\/\/.*\.git$/);
  expect(metadata.homepage).toMatch(/^https:/);
  expect(metadata.files).toContain("CHANGELOG.md");
});
