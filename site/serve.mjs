/**
 * Serves the built site on localhost, cross-origin isolated so that its code uses every core.
 *
 *     npm run site:serve -- --port 8080
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isolation } from "../explorer/headers.mjs";
import { serveFolder } from "../scripts/serve-folder.mjs";

const folder = fileURLToPath(new URL("./dist", import.meta.url));
const { values } = parseArgs({ options: { port: { type: "string", default: "4190" } } });
if (existsSync(folder)) {
  const { url } = await serveFolder(folder, Number(values.port), isolation);
  console.log(`The site is at ${url} (Ctrl+C stops it)`);
} else {
  console.error("There is no site yet. Build it: npm run site");
  process.exitCode = 1;
}
