/**
 * How long values are wanted. A function may have 50,000 locals at the most, and V8's first compiler copies all of them
 * at every branch: a value that nobody wants any more gives its locals to the next one, so that their number follows
 * from how many values live at once and not from how long a function is.
 */
import { type Id, type Program, resultsOf } from "../../ir/node.ts";

/** By node: the values that nobody wants once it has been computed. */
export type Lifetimes = readonly (readonly Id[])[];

/** A value of one loop that is used in a loop inside it (`levels`) stays: it is wanted again in the next round. So do results. */
export function lifetimesOf(program: Program, levels?: readonly number[]): Lifetimes {
  const { nodes } = program;
  const last = new Array<Id>(nodes.length).fill(-1);
  const stays = new Array<boolean>(nodes.length).fill(false);
  for (const id of resultsOf(program)) stays[id] = true;
  nodes.forEach((node, id) => {
    for (const a of node.args) {
      last[a] = id;
      if (levels !== undefined && levels[a] !== levels[id]) stays[a] = true;
    }
  });
  const dying: Id[][] = nodes.map(() => []);
  last.forEach((user, id) => {
    if (user >= 0 && !stays[id]) dying[user].push(id);
  });
  return dying;
}
