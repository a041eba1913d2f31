/**
 * `npx strided`: the table of commands (a file each, in commands/), their help, and running a command line. A new
 * command is a file and a row here.
 */
import { TensorError } from "../errors.ts";
import { parseArgs } from "./args.ts";
import type { Command } from "./command.ts";
import { bench } from "./commands/bench.ts";
import { convert } from "./commands/convert.ts";
import { diff } from "./commands/diff.ts";
import { doctor } from "./commands/doctor.ts";
import { explain } from "./commands/explain.ts";
import { info } from "./commands/info.ts";
import { plot } from "./commands/plot.ts";
import { run as runPlan } from "./commands/run.ts";
import { show } from "./commands/show.ts";
import { stats } from "./commands/stats.ts";
import { status } from "./commands/status.ts";
import { worker } from "./commands/worker.ts";
import { type Host, plainLines, Usage } from "./host.ts";
import { columns } from "./table.ts";

export const commands: Readonly<Record<string, Command>> = {
  info,
  show,
  stats,
  diff,
  convert,
  plot,
  explain,
  bench,
  doctor,
  run: runPlan,
  worker,
  status,
};

function helpText(): string {
  const rows = Object.entries(commands).map(([name, { says }]) => [`  ${name}`, says]);
  return [
    "strided: tensors in files, and what kernels become",
    "",
    "strided COMMAND …",
    "",
    ...columns(null, rows, []),
    "",
    "strided COMMAND --help says more. A FILE is a path or a URL, or - for standard input.",
    "Exit codes: 0 all is well, 1 something differs or failed, 2 called in a way that does not exist.",
  ].join("\n");
}

function commandHelp(name: string, { usage, says, more, flags, examples }: Command): string {
  const rows = Object.entries(flags).map(([flag, { says: what, value }]) => [
    `  --${flag}${value === undefined ? "" : ` ${value}`}`,
    what,
  ]);
  return [
    `strided ${name} ${usage}`,
    "",
    says,
    ...(more === undefined ? [] : ["", more]),
    "",
    ...columns(null, rows, []),
    "",
    "Examples",
    ...examples.map((example) => `  ${example}`),
  ].join("\n");
}

/** Runs a command line; gives its exit code. Nothing is thrown: what goes wrong is told on standard error. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h") {
    host.out(helpText());
    return name === undefined ? 2 : 0;
  }
  if (name === "--version" || name === "-v") {
    host.out(host.version);
    return 0;
  }
  const asked = name === "help" ? rest[0] : name;
  if (asked === undefined) {
    host.out(helpText());
    return 0;
  }
  const command = Object.hasOwn(commands, asked) ? commands[asked] : undefined;
  if (command === undefined) {
    host.err(
      `strided: there is no command ${JSON.stringify(asked)}.\n  ${Object.keys(commands).join(", ")}\n`,
    );
    return 2;
  }
  if (name === "help") {
    host.out(commandHelp(asked, command));
    return 0;
  }
  try {
    return await runCommand(asked, command, rest, host);
  } catch (error) {
    return failed(asked, error, host);
  }
}

async function runCommand(
  name: string,
  command: Command,
  args: readonly string[],
  host: Host,
): Promise<number> {
  const parsed = parseArgs(args, command.flags);
  if (parsed.flag("help")) {
    host.out(commandHelp(name, command));
    return 0;
  }
  const [least, most] = command.words;
  if (parsed.words.length < least) throw new Usage("something is missing.");
  if (parsed.words.length > most)
    throw new Usage(`${JSON.stringify(parsed.words[most])} is one word too many.`);
  return await command.run(parsed, host);
}

function failed(name: string, error: unknown, host: Host): number {
  if (error instanceof Usage) {
    const { usage } = commands[name];
    host.err(`strided ${name}: ${plainLines(error.message)}\n  strided ${name} ${usage}\n`);
    return 2;
  }
  const message = error instanceof TensorError || error instanceof Error ? error.message : String(error);
  // Some messages begin with the name of the command already, and options are flags here.
  const said = message
    .replace(`${name}: `, "")
    .replace(/(zarr\.folderStore\(path, )?\{ followSymlinks: true \}\)?/, "--links")
    .replace(", or read its bytes with raw.", ".");
  host.err(`strided ${name}: ${plainLines(said)}\n`);
  return 1;
}
