/**
 * What a command is, and the flags that several of them have. A command writes through its host and returns its exit
 * code: 0 all is well, 1 something differs or failed, 2 it was called in a way that does not exist.
 */
import type { Flag, Parsed } from "./args.ts";
import type { Host } from "./host.ts";

export interface Command {
  /** What follows the command's name. */
  readonly usage: string;
  readonly says: string;
  /** More than a line, for its own help. */
  readonly more?: string;
  readonly flags: Readonly<Record<string, Flag>>;
  readonly examples: readonly string[];
  readonly words: readonly [least: number, most: number];
  run(args: Parsed, host: Host): Promise<number>;
}

export const json: Flag = { kind: "flag", says: "the same as JSON" };
export const only: Flag = {
  kind: "list",
  value: "GLOB",
  says: "tensors whose name fits, with * and ?; may be repeated",
};
export const except: Flag = { kind: "list", value: "GLOB", says: "leave those out; may be repeated" };
export const links: Flag = {
  kind: "flag",
  says: "shards that a file names may be symbolic links, as in caches of models",
};
export const help: Flag = { kind: "flag", says: "this text" };

/** Without what was not given. */
export const given = <O extends object>(options: O): { [K in keyof O]?: Exclude<O[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
