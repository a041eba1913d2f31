/**
 * Packages that only some need: asked for at the call, by a name that no bundler sees, or given by the caller. What is
 * missing is told with the line that installs it; what one throws is told in our words.
 */
import { fail, TensorError } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import { failFile } from "./names.ts";

/** Modules by the names of their packages, as the caller has imported them. */
export type Peers = Readonly<Record<string, unknown>>;

export function readPeers(operation: string, given: unknown): Peers {
  return given === undefined ? {} : readOptions(operation, given as Peers, "{ hyparquet }");
}

/** The module of a package; its functions may be at its default export. */
export async function peer<M>(operation: string, name: string, peers: Peers, what: string): Promise<M> {
  const found = peers[name] ?? (await imported(operation, name, what));
  const inner = (found as { default?: unknown }).default;
  const isWrapped = typeof inner === "object" && inner !== null && Object.keys(found as object).length === 1;
  return (isWrapped ? inner : found) as M;
}

async function imported(operation: string, name: string, what: string): Promise<unknown> {
  try {
    return await import(/* @vite-ignore */ /* webpackIgnore: true */ name);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const isMissing = /cannot find|failed to (resolve|load)|not found|resolve module|specifier/i.test(text);
    const root = name.startsWith("@") ? name.split("/").slice(0, 2).join("/") : name.split("/")[0];
    return fail(
      "value",
      operation,
      isMissing
        ? `${what} needs the package ${root}, which is not here.`
        : `${root} cannot be loaded: ${text}`,
      `npm install ${root}\nIn a bundle for browsers, give it: { peers: { ${JSON.stringify(name)}: await import(${JSON.stringify(name)}) } }.`,
    );
  }
}

/** Runs a package's code: what it throws is an error that names the file and the entry. */
export async function guarded<R>(
  operation: string,
  file: string,
  entry: string | null,
  name: string,
  signal: AbortSignal | undefined,
  run: () => R | Promise<R>,
): Promise<R> {
  try {
    return await run();
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof TensorError) throw error;
    const text = error instanceof Error ? error.message : String(error);
    return failFile(
      operation,
      file,
      entry,
      `${name} cannot read it: ${text.slice(0, 300).replace(/\s+/g, " ")}`,
    );
  }
}
