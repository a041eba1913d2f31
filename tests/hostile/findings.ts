/** What the tests of hostile calls share: all cases of a group, and how findings are told. */
import { expect } from "vitest";
import { caseFor, casesFor, run, targets } from "./hostile.ts";
import { type Group, mutators } from "./mutators.ts";

export const groups: readonly Group[] = [...new Set(Object.values(mutators).map((m) => m.group))];
/** Where a mistake is a call that never ends, which ends the process: a file of their own. */
export const endless: readonly Group[] = ["huge numbers", "lists without an end"];

/** Groups with so many cases that each target and mutator meet at one place only. */
const many: readonly Group[] = ["odd values", "proxies", "forged and tampered tensors", ...endless];

/** Every target with every mutator of a group; what was found. */
export function runGroup(group: Group): (string | null)[] {
  const names = Object.keys(mutators).filter((name) => mutators[name].group === group);
  const findings: (string | null)[] = [];
  for (const target of targets) {
    const cases = names.flatMap((name) => {
      if (!many.includes(group)) return casesFor(target, name);
      return caseFor(target, name) ?? [];
    });
    // The valid call after every fourth case, and after the last.
    for (const [i, of] of cases.entries()) findings.push(run(of, i % 4 === 3 || i === cases.length - 1));
  }
  return findings;
}

/** Fails with the findings, those of one kind together: how many, what, and the first three lines. */
export function expectNone(findings: readonly (string | null)[]): void {
  const kinds = new Map<string, string[]>();
  for (const found of findings) {
    if (found === null) continue;
    const what = found.slice(found.indexOf("→") + 2);
    const kind = what
      .replace(/\d+/g, "#")
      .replace(/(["']).*?\1/g, "…")
      .slice(0, 100);
    kinds.set(kind, [...(kinds.get(kind) ?? []), found]);
  }
  const most = [...kinds].sort((a, b) => b[1].length - a[1].length);
  const text = most.map(([kind, of]) => `${of.length} × ${kind}\n    ${of.slice(0, 3).join("\n    ")}`);
  expect(text.slice(0, 40).join("\n"), `${most.length} kinds of findings`).toBe("");
}
