/**
 * The real packages, where they are installed: beside the tests, or in the node_modules folder that STRIDED_PACKAGES
 * names. A test of one that is missing is skipped, and its name says so.
 */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

// biome-ignore lint/suspicious/noExplicitAny: packages without types of ours
export type Package = any;

const folder = process.env.STRIDED_PACKAGES ?? fileURLToPath(new URL("../../node_modules", import.meta.url));
const require = createRequire(join(folder, "here.js"));

/** The module, or null where the package is not installed. */
export async function load(name: string): Promise<Package> {
  const manifest = join(folder, name, "package.json");
  if (!existsSync(manifest)) return null;
  try {
    // Packages of one family have to meet in one copy of what they share.
    return require(name);
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw error;
    const { exports } = JSON.parse(readFileSync(manifest, "utf8"));
    return await import(/* @vite-ignore */ pathToFileURL(join(folder, name, exports["."].import)).href);
  }
}
