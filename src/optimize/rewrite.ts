/** Rebuilding a Program node by node: the frame every pass hangs its rules in. Dead nodes disappear. */
import type { Value } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import type { Id, LoopNode, Node, Program } from "../ir/node.ts";
import { liveNodes, prune } from "../ir/prune.ts";

/**
 * What a pass says to one node of `program`, whose arguments are already rebuilt in `b`: the id that replaces it, or null to
 * keep it as it is. It is asked about the nodes of loops' bodies too, but not about their inputs, which are what they are
 * given, nor about their results, and not about loops and their items.
 */
export type Rewrite = (b: Builder, node: Node, args: readonly Id[], program: Program) => Id | null;

export function rewrite(program: Program, rule: Rewrite): Program {
  const b = new Builder();
  return prune(b, rebuild(b, program, rule, null), program);
}

/** `given`: the dtypes of a body's inputs; null for a whole program. */
function rebuild(b: Builder, program: Program, rule: Rewrite, given: Program["inputs"] | null): Id {
  const live = liveNodes(program);
  const places: Id[] = new Array(program.nodes.length).fill(-1);
  program.nodes.forEach((node, id) => {
    if (!live[id]) return;
    const args = node.args.map((a) => places[a]);
    if (node.op === "loop") places[id] = rebuildLoop(b, node, args, rule);
    else if (node.op === "item") places[id] = b.item(args[0], node.index);
    else if (given !== null && node.op === "input") places[id] = b.input(node.index, given[node.index]);
    else if (given !== null && node.op === "tuple") places[id] = b.tuple(...args);
    else places[id] = rule(b, node, args, program) ?? b.add({ ...node, args });
  });
  return places[program.result];
}

function rebuildLoop(b: Builder, { body, carried, span }: LoopNode, args: readonly Id[], rule: Rewrite): Id {
  const inputs = args.slice(1).map((a) => b.dtypeOf(a));
  const inner = new Builder();
  const result = rebuild(inner, body, rule, inputs);
  return b.loop(carried, args, prune(inner, result, { inputs, params: [] }), span);
}

/** The value of a constant node, else undefined. */
export function constantOf(b: Builder, id: Id): Value | undefined {
  const node = b.nodes[id];
  return node.op === "const" ? node.value : undefined;
}
