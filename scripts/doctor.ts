/**
 * npm run doctor: what this machine has for strided, and what it reaches; the command line's doctor, from the sources.
 */
import { availableParallelism, cpus } from "node:os";
import { examine } from "../src/cli/doctor.ts";

const machine = {
  runtime: `${process.version}, V8 ${process.versions.v8}`,
  processor: `${cpus()[0]?.model ?? "unknown"}, ${availableParallelism()} cores`,
};
for await (const [name, value] of examine(machine, process.argv.includes("--turbo"))) {
  console.log(`${name.padEnd(18)} ${value}`);
}
