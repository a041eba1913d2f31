/** What of a program is needed: its results, and whatever may fail. In the order it is asked for. */
import { Builder } from "./build.ts";
import { type Id, isEffect, type Node, type Program } from "./node.ts";

/** The nodes that are needed for their own sake; the test of a loop's round comes before what it decides about. */
function rootsOf(nodes: readonly Node[], result: Id): Id[] {
  const effects: Id[] = [];
  nodes.forEach((node, id) => {
    if (isEffect(node)) effects.push(id);
  });
  if (effects.length === 0) return [result];
  const last = nodes[result];
  const first = last.op === "tuple" ? [last.args[0]] : [];
  return [...[...effects, ...first].sort((a, b) => a - b), result];
}

/** Which nodes are needed. */
export function liveNodes({ nodes, result }: Pick<Program, "nodes" | "result">): boolean[] {
  const live: boolean[] = new Array(nodes.length).fill(false);
  for (const id of rootsOf(nodes, result)) live[id] = true;
  for (let id = nodes.length - 1; id >= 0; id--) {
    if (live[id]) for (const a of nodes[id].args) live[a] = true;
  }
  return live;
}

/**
 * What the result needs, in the order it asks for it: rules leave arguments behind that nobody wants any more, and equal
 * algebra should become equal programs however it was written.
 */
export function prune(b: Builder, result: Id, of: Pick<Program, "inputs" | "params">): Program {
  const kept = new Builder();
  const places = new Map<Id, Id>();
  const work: Id[] = rootsOf(b.nodes, result).reverse();
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
