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

/**
 * What the result needs, in the order it asks for it: rules leave arguments behind that nobody wants any more, and equal
 * algebra should become equal programs however it was written.
 */
function prune(b: Builder, result: Id, of: Program): Program {
  const kept = new Builder();
  const places = new Map<Id, Id>();
  const work: Id[] = [result];
  while (work.length > 0) {
    const id = work[work.length - 1];
    const node = b.nodes[id];
    const missing = places.has(id) ? undefined : node.args.find((a) => !places.has(a));
    if (missing !== undefined) {
      work.push(missing);
      continue;
    }
    work.pop();
    if (!places.has(id)) places.set(id, kept.add({ ...node, args: node.args.map((a) => places.get(a)!) }));
  }
  const dtype = b.dtypeOf(result);
  return { nodes: kept.nodes, result: places.get(result)!, inputs: of.inputs, params: of.params, dtype };
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
