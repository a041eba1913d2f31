/** Hostile arguments that a careless loop never gets to the end of: the watchdog names the call and ends the process. */
import { afterAll, beforeAll, describe, it, vi } from "vitest";
import { endlessCorpus } from "./corpus.ts";
import { endless, expectNone, runGroup } from "./findings.ts";
import { runLine } from "./hostile.ts";
import { startWatchdog } from "./watch.ts";

vi.setConfig({ testTimeout: 300_000 });

let stop: () => Promise<unknown>;
beforeAll(async () => {
  stop = await startWatchdog(10_000);
});
afterAll(() => stop());

describe("every export and member, with", () => {
  it.each(endless)("%s", (group) => expectNone(runGroup(group)));
});

it("hostile calls that never ended do", () => {
  expectNone(endlessCorpus.map((line) => runLine(line)));
});
