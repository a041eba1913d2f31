/**
 * What a project is: a folder with `files/` (its package.json and sources, as a user would have them) and `check.ts`, which
 * says what must hold once the packed tarball is installed there.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { delimiter, dirname, join } from "node:path";

export interface Project {
  /** What it stands for, in a few words. */
  readonly what: string;
  readonly checks: readonly Check[];
}

export interface Check {
  readonly name: string;
  readonly run: (place: Place) => Promise<void>;
}

/** Where a project is installed. */
export interface Place {
  readonly folder: string;
  /** Runs a program of the project's own (node_modules/.bin), Node, or one of the system's. Fails when it fails. */
  run(command: string, args?: readonly string[], options?: RunOptions): Promise<Ran>;
  /** Starts a server of the project's, while `during` is busy with the address that it prints. */
  serving<R>(command: string, args: readonly string[], during: (url: string) => Promise<R>): Promise<R>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** It must fail: with this code, or any but 0. */
  readonly fails?: boolean;
  readonly seconds?: number;
}

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number | null;
}

/** Variables that would change what a fresh project does. */
const foreign = /^(NODE_OPTIONS|STRIDED_.*|npm_.*|VITEST.*|JEST.*|TSX_.*|FORCE_COLOR|NODE_ENV|INIT_CWD)$/;

function environment(folder: string, extra: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  const path = [join(folder, "node_modules/.bin"), dirname(process.execPath), process.env.PATH ?? ""];
  return { ...Object.fromEntries(own), NO_COLOR: "1", ...extra, PATH: path.join(delimiter) };
}

export const placeAt = (folder: string): Place => ({
  folder,
  run: (command, args = [], options = {}) => execute(folder, command, args, options),
  serving: (command, args, during) => serving(folder, command, args, during),
});

/** A program and all that it starts, ended together when its time is up. */
function execute(
  folder: string,
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<Ran> {
  const { env = {}, cwd = folder, fails = false, seconds = 120 } = options;
  return new Promise((done, failed) => {
    const child = spawn(command, args, {
      cwd,
      env: environment(folder, env),
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      endGroup(child);
    }, 1000 * seconds);
    child.on("error", failed);
    child.on("close", (status) => {
      clearTimeout(timer);
      if (!isLate && (status === 0) === !fails) return done({ stdout, stderr, status });
      const what = isLate ? `took longer than ${seconds} s` : `ended with ${status}`;
      failed(new Error(`${command} ${args.join(" ")} ${what}:\n${tail(stdout)}${tail(stderr)}`));
    });
  });
}

async function serving<R>(
  folder: string,
  command: string,
  args: readonly string[],
  during: (url: string) => Promise<R>,
): Promise<R> {
  const child = spawn(command, args, {
    cwd: folder,
    env: environment(folder, {}),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  try {
    const url = await new Promise<string>((done, failed) => {
      let said = "";
      const hear = (text: string) => {
        said += text;
        const found = /http:\/\/localhost:\d+\S*/.exec(said);
        if (found !== null) done(found[0]);
      };
      child.stdout.setEncoding("utf8").on("data", hear);
      child.stderr.setEncoding("utf8").on("data", hear);
      child.on("error", failed);
      child.on("close", () => failed(new Error(`${command} ${args.join(" ")} ended:\n${tail(said)}`)));
      setTimeout(() => failed(new Error(`${command} gave no address:\n${tail(said)}`)), 60_000).unref();
    });
    return await during(url);
  } finally {
    endGroup(child);
  }
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has just ended by itself.
  }
}

const tail = (text: string): string => (text.length > 6000 ? `…${text.slice(-6000)}` : text);
