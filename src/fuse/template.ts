/** Programs as templates again: what `fuse` gives to calls, and what `grad` derives. */
import type { DType } from "../dtype.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import type { Id, Program, Template } from "../ir/node.ts";

export interface TemplateOptions {
  /**
   * Is every dtype written down, so that it is the same program again? Otherwise literals and captured values take the dtype
   * that they meet, as in a function: so a derivative serves whatever a gradient is in.
   */
  readonly typed: boolean;
  readonly name?: string;
  readonly source?: string;
}

/** What a program says; null where it reads bits, or holds what only lowering makes. */
export function programTemplate(
  { nodes, result, inputs, params }: Program,
  { typed, name = "", source = "" }: TemplateOptions,
): Template | null {
  const t = new TemplateBuilder();
  const as = (dtype: DType, id: Id): Id => (typed ? t.cast(dtype, id) : id);
  const flag = (id: Id, dtype: DType): Id =>
    typed && dtype === "bool" && t.typeOf(id) !== "boolean" ? t.cast("bool", id) : id;
  const ids: Id[] = [];
  for (const node of nodes) {
    const args = node.args.map((a) => ids[a]);
    switch (node.op) {
      case "input":
        ids.push(flag(t.input(node.index), node.dtype));
        break;
      case "param":
        ids.push(
          typed
            ? t.cast(node.dtype, t.param(node.index))
            : t.param(node.index, node.dtype === "bool" ? "boolean" : "number"),
        );
        break;
      case "const":
        ids.push(node.dtype === "bool" ? t.literal(node.value !== 0) : as(node.dtype, t.literal(node.value)));
        break;
      case "cast":
        ids.push(t.cast(node.dtype, args[0]));
        break;
      case "tuple":
        ids.push(t.tuple(args));
        break;
      case "bitcast":
      case "rare":
      case "loop":
      case "item":
      case "read":
        return null;
      default:
        ids.push(flag(t.op(node.op, args), node.dtype));
    }
  }
  return t.finish(ids[result], {
    inputs: inputs.length,
    params: params.map((_, i) => `p${i}`),
    name,
    source,
  });
}
