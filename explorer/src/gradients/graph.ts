/** What a function of tensors does, as a graph: whoever records hears of operations and views, and notes them. */
import { engine, type Noted, type Recorder } from "../../../src/engine.ts";
import type { Call, Plan, Strided } from "../../../src/run/call.ts";
import { unravel } from "../../../src/view/layout.ts";
import { scope, stridedOf, type Tensor } from "../core.ts";

export interface GraphNode {
  readonly id: number;
  readonly kind: "argument" | "constant" | "operation" | "view";
  /** The operation's name, or the argument's. */
  readonly label: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Nodes it is made of. */
  readonly inputs: readonly number[];
  /** Its elements, printed. */
  text: string;
  /** It is what the function returns. */
  isResult: boolean;
}

/** Longer graphs are cut off. */
const MOST = 80;

class GraphRecorder implements Recorder {
  readonly nodes: GraphNode[] = [];
  readonly values = new Map<number, Strided>();
  /** By memory and place: which node's value lies there. */
  readonly #known = new Map<string, number>();
  readonly #ids = new Map<object, number>();

  ran(call: Call, plan: Plan, out: Strided): void {
    const more = plan.more?.length ?? 0;
    const inputs = call.inputs.slice(more).map((t) => this.#nodeOf(t));
    for (const made of [out, ...call.inputs.slice(0, more)])
      this.add("operation", call.operation, made, inputs);
  }
  noted({ operation, name, inputs, outs }: Noted): void {
    if (name === "alias") return;
    const from = inputs.map((t) => this.#nodeOf(t));
    for (const out of outs) this.add("operation", operation, out, from);
  }
  viewed(operation: string, of: Strided, made: Strided): void {
    this.add("view", operation, made, [this.#nodeOf(of)]);
  }

  add(kind: GraphNode["kind"], label: string, t: Strided, inputs: readonly number[]): number {
    const { dtype, frame } = t;
    const id = this.nodes.length;
    if (id >= MOST) return MOST - 1;
    this.nodes.push({ id, kind, label, dtype, shape: frame.shape, inputs, text: "", isResult: false });
    this.#known.set(this.#keyOf(t), id);
    this.values.set(id, t);
    return id;
  }

  find(t: Strided): number | undefined {
    return this.#known.get(this.#keyOf(t));
  }

  #nodeOf(t: Strided): number {
    return this.find(t) ?? this.add("constant", "constant", t, []);
  }

  #keyOf({ storage, frame, dtype }: Strided): string {
    const id = this.#ids.get(storage) ?? this.#ids.size;
    this.#ids.set(storage, id);
    return `${id}:${dtype}:${frame.offset}:${frame.shape}:${frame.strides}`;
  }
}

/** Runs the function once and tells what it did. */
export function graphOf(f: (...args: Tensor[]) => Tensor, args: readonly Tensor[]): GraphNode[] {
  const recorder = new GraphRecorder();
  for (const [i, arg] of args.entries()) recorder.add("argument", `argument ${i}`, stridedOf(arg), []);
  const e = engine();
  const outer = e.recorder;
  scope(() => {
    // What is freed on the way must not be read later, and its memory not be taken for another's.
    const held: Strided[] = [];
    const holding: Recorder = {
      ran: (call, plan, out) => {
        recorder.ran(call, plan, out);
        held.push(out);
        out.storage.retain();
      },
      noted: (op) => {
        recorder.noted(op);
        for (const out of op.outs) {
          held.push(out);
          out.storage.retain();
        }
      },
      viewed: (operation, of, made) => recorder.viewed(operation, of, made),
    };
    e.recorder = holding;
    try {
      const result = f(...args);
      const last = recorder.find(stridedOf(result));
      if (last !== undefined) recorder.nodes[last].isResult = true;
      for (const [id, t] of recorder.values) recorder.nodes[id].text = textOf(t);
    } finally {
      e.recorder = outer;
      for (const { storage } of held) storage.release();
    }
  });
  return recorder.nodes;
}

/** The first elements, in row-major order. */
function textOf({ storage, frame, dtype }: Strided): string {
  const { shape, strides, offset } = frame;
  const size = shape.reduce((a, b) => a * b, 1);
  const shown = Array.from({ length: Math.min(size, 6) }, (_, i) => {
    const at = unravel(i, shape).reduce((sum, n, d) => sum + n * strides[d], offset);
    return String(Number(Number(storage.read(dtype, at)).toPrecision(4)));
  });
  return `${shown.join(", ")}${size > shown.length ? ", …" : ""}`;
}
