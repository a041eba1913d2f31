/** What npm would change or drop when it publishes is not in package.json. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

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

describe("a release", () => {
  const changelog = readFileSync(new URL("../CHANGELOG.md", import.meta.url), "utf8");
  const check = (text: string, tag: string) => {
    const folder = mkdtempSync(join(tmpdir(), "strided-version-"));
    try {
      mkdirSync(join(folder, "scripts"));
      const script = join(folder, "scripts/check-version.mjs");
      copyFileSync(new URL("../scripts/check-version.mjs", import.meta.url), script);
      writeFileSync(join(folder, "package.json"), JSON.stringify({ version: "0.2.0" }));
      writeFileSync(join(folder, "CHANGELOG.md"), text);
      const { status, stderr } = spawnSync(process.execPath, [script, tag], { encoding: "utf8" });
      return status === 0 ? "right" : stderr.trim();
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  test("needs a section of its version at the top of the changelog", () => {
    const dated = changelog.replace("## Unreleased", "## 0.2.0 – 2026-12-01");
    expect(check(dated, "v0.2.0")).toBe("right");
    expect(check(dated.replace("## 0.2.0", "## Unreleased\n\n## 0.2.0"), "v0.2.0")).toBe("right");
    expect(check(dated, "v0.3.0")).toBe("the tag is v0.3.0, package.json says 0.2.0");
  });

  test("leaves nothing unreleased", () => {
    const text = `# Changelog\n\n## Unreleased\n\n- news\n\n## 0.2.0 – 2026-12-01\n`;
    expect(check(text, "v0.2.0")).toBe(
      'CHANGELOG.md begins with "## Unreleased"; it should be "## 0.2.0 – date"',
    );
  });

  test("finds the sections of Keep a Changelog, versions with dates, newest first", () => {
    const [first, ...versions] = [...changelog.matchAll(/^## (.*)$/gm)].map((m) => m[1]);
    expect(first).toBe("Unreleased");
    expect(versions.filter((v) => !/^\d+\.\d+\.\d+ – \d{4}-\d\d-\d\d$/.test(v))).toEqual([]);
    const dates = versions.map((v) => v.slice(-10));
    expect(dates).toEqual([...dates].sort().reverse());
    const kinds = new Set([...changelog.matchAll(/^### (.*)$/gm)].map((m) => m[1]));
    const known = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
    expect([...kinds].filter((k) => !known.includes(k))).toEqual([]);
  });
});
