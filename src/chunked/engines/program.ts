/** Where the program of a child lies: beside this file, or in the one file that the build makes of it. */
import { switches } from "../../wasm/assembler/features.ts";
import { nodeModule } from "./node.ts";

/** What runs TypeScript where the sources run as they are. */
const loader = ["--import", "tsx"];

export function childProgram(
  operation: string,
  given?: string,
): { readonly file: string; readonly execArgv: string[] } {
  const file = given ?? ownProgram(operation);
  // Neither the debugger's port nor what was evaluated is the child's; flags of V8 are, turbo's too: the same code, and so
  // the same bits.
  const flags = process.execArgv.filter((arg) => /^--(experimental|wasm|turbo|liftoff|max-)/.test(arg));
  const execArgv = [...new Set([...flags, ...switches.flags])];
  return { file, execArgv: file.endsWith(".ts") ? [...execArgv, ...loader] : execArgv };
}

function ownProgram(operation: string): string {
  // The bundle for Node is CommonJS, where there is no import.meta.
  const here = import.meta.url as string | undefined;
  if (here === undefined) return `${__dirname}/chunked-child.cjs`;
  const name = here.endsWith(".ts") ? "./child.ts" : "./child.js";
  const { fileURLToPath } = nodeModule<typeof import("node:url")>(operation, "node:url");
  return fileURLToPath(new URL(name, here));
}
