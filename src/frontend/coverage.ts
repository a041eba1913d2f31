/**
 * What coverage tools write into functions. Istanbul's, in Jest, vitest, nyc and whatever else uses it, counts statements,
 * functions and branches as they run: `cov_1a2b3c().s[4]++`. Kernels and njit functions step over such counters; they
 * count the few calls that are made of them, not their elements. V8's own coverage writes nothing.
 */
import type { AnyNode, UpdateExpression } from "./parse.ts";

/** The counter's own name is a hash of the file's path. */
const counterNames = /^cov_[0-9a-z]+$/;
/** Of statements, functions and branches. */
const tables: ReadonlySet<string> = new Set(["s", "f", "b"]);

/** `cov_1a2b3c` of `cov_1a2b3c().b[0][1]++`, or of the older `cov_1a2b3c.b[0][1]++`; null: it is no counter. */
export function counterName({ operator, argument }: UpdateExpression): string | null {
  if (operator !== "++") return null;
  let table: AnyNode = argument;
  let indices = 0;
  while (table.type === "MemberExpression" && table.computed && isIndex(table.property)) {
    table = table.object;
    indices++;
  }
  if (indices < 1 || indices > 2) return null;
  if (table.type !== "MemberExpression" || table.computed || table.property.type !== "Identifier")
    return null;
  if (!tables.has(table.property.name)) return null;
  const counters = table.object;
  const owner =
    counters.type === "CallExpression" && counters.arguments.length === 0 ? counters.callee : counters;
  return owner.type === "Identifier" && counterNames.test(owner.name) ? owner.name : null;
}

const isIndex = (node: AnyNode): boolean =>
  node.type === "Literal" &&
  typeof node.value === "number" &&
  Number.isInteger(node.value) &&
  node.value >= 0;
