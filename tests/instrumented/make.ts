/**
 * npx tsx tests/instrumented/make.ts path/to/istanbul-lib-instrument
 *
 * Writes instrumented.json: every function of sources.ts as Istanbul rewrites it, as the function then prints.
 */
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import vm from "node:vm";
import { sources } from "./sources.ts";

interface Istanbul {
  createInstrumenter(options: object): { instrumentSync(code: string, file: string): string };
}
const require = createRequire(import.meta.url);
const place = resolve(process.argv[2] ?? "node_modules/istanbul-lib-instrument");
const { createInstrumenter } = require(place) as Istanbul;
const { version } = require(`${place}/package.json`) as { version: string };

/** The function as it prints once its file was instrumented. */
function instrumented(source: string, compact: boolean): string {
  const instrumenter = createInstrumenter({ esModules: false, produceSourceMap: false, compact });
  const context = vm.createContext({});
  vm.runInContext(instrumenter.instrumentSync(`globalThis.fn = ${source};`, "/kernel.js"), context);
  return String(vm.runInContext("globalThis.fn", context));
}

const functions = Object.entries(sources).flatMap(([name, source]) =>
  [false, true].map((compact) => ({ name, compact, text: instrumented(source, compact) })),
);
const text = `${JSON.stringify({ version, functions }, null, 2)}\n`;
writeFileSync(new URL("./instrumented.json", import.meta.url), text);
