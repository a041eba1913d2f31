// Adds up vitest's JSON reports, names what failed and how, and ends with one line: "N passed, N failed". A file that
// could not be loaded, or a report that is missing, counts as a failure.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [folder, ...names] = process.argv.slice(2);
let passed = 0;
let failed = 0;
let skipped = 0;
for (const name of names) {
  const file = join(folder, `${name}.json`);
  if (!existsSync(file)) {
    console.log(`${name}: no report`);
    failed++;
    continue;
  }
  const report = JSON.parse(readFileSync(file, "utf8"));
  const broken = report.testResults.filter((r) => r.status === "failed" && r.assertionResults.length === 0);
  for (const r of broken) console.log(`${name}: ${r.name} could not be run`);
  for (const { name: path, assertionResults } of report.testResults) {
    for (const test of assertionResults.filter((t) => t.status === "failed")) {
      console.log(`${name}: ${path}\n  ${test.fullName}`);
      for (const message of test.failureMessages) console.log(message.replace(/^/gm, "    ").slice(0, 2000));
    }
  }
  passed += report.numPassedTests;
  failed += report.numFailedTests + broken.length;
  skipped += report.numPendingTests + report.numTodoTests;
}
if (skipped > 0) console.log(`(${skipped} skipped)`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
