/** Rebuilding a Program node by node: the frame every pass hangs its rules in. Dead nodes disappear. */
import type { Value } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import type { Id, Node, Program } from "../ir/node.ts";

/**
 * What a pass says to one node whose arguments are already rebuilt in `b`: the id that replaces it, or null to keep
 * it as it is.
 */
export type Rewrite = (b: Builder, node: Node, args: readonly Id[]) => Id | null;

export function rewrite(program: Program, rule: Rewrite): Program {
  const b = new Builder();
  const live = liveNodes(program);
  const places: Id[] = new Array(program.nodes.length).fill(-1);
  program.nodes.forEach((node, id) => {
    if (!live[id]) return;
    const args = node.args.map((a) => places[a]);
    places[id] = rule(b, node, args) ?? b.add({ ...node, args });
  });
  return prune(b, places[program.result], program);
}

/** Drops what the result does not need: rules leave arguments behind that nobody asks for any more. */
function prune(b: Builder, result: Id, of: Program): Program {
  const full: Program = {
    nodes: b.nodes,
    result,
    inputs: of.inputs,
    params: of.params,
    dtype: b.dtypeOf(result),
  };
  const live = liveNodes(full);
  if (live.every(Boolean)) return full;
  const kept = new Builder();
  const places: Id[] = [];
  full.nodes.forEach((node, id) => {
    if (live[id]) places[id] = kept.add({ ...node, args: node.args.map((a) => places[a]) });
  });
  return { ...full, nodes: kept.nodes, result: places[result] };
}

function liveNodes(program: Program): boolean[] {
  const live: boolean[] = new Array(program.nodes.length).fill(false);
  live[program.result] = true;
  for (let id = program.nodes.length - 1; id >= 0; id--) {
    if (live[id]) for (const a of program.nodes[id].args) live[a] = true;
  }
  return live;
}

/** The value of a constant node, else undefined. */
export function constantOf(b: Builder, id: Id): Value | undefined {
  const node = b.nodes[id];
  return node.op === "const" ? node.value : undefined;
}
