/**
 * A long loop at the top of a function is entered once, and V8 has no on-stack replacement for WebAssembly: it would run to its
 * end in the first, slow code. So its turns are made in chunks, and each chunk is a function of its own (outline.ts): from
 * one call to the next the code may be replaced. The first chunks are short. Loops inside come along, without a call each.
 *
 * { for (i …; i < bound; i++) … } becomes { while (i < bound) { limit = min(bound, i + chunk); for (; i < limit; i++) … } }.
 */
import { Builder } from "../ir/build.ts";
import { type Code, type Expression, isLoopBlock, type LocalInfo, type LoopBlock, type Step } from "./ir.ts";
import { type Counted, countedLoop, hasLoop, writesIn } from "./nest.ts";
import { escapes, isUnit } from "./outline.ts";
import { onlyNode } from "./vectorize.ts";
import { verifyCode } from "./verify.ts";

/** Turns of the first chunk, and the most: each is twice as long as the one before. A turn with loops inside may take long. */
export const chunkSizes: Record<"plain" | "nest" | "nestByLanes", { first: number; most: number }> = {
  plain: { first: 256, most: 1 << 14 },
  nest: { first: 1, most: 1 << 6 },
  nestByLanes: { first: 16, most: 1 << 6 },
};

export function cutLongLoops(code: Code): Code {
  const locals: LocalInfo[] = [...code.locals];
  const list = (steps: readonly Step[]): Step[] => {
    const out: Step[] = [];
    for (const step of steps) {
      if (isLoopBlock(step)) {
        // What runs by lanes is part of the loop.
        const lanes = out.length > 0 && isLanes(out[out.length - 1]) ? out[out.length - 1] : null;
        const made = inChunks(step, lanes, locals);
        if (made !== null) {
          if (lanes !== null) out.pop();
          out.push(...made);
          continue;
        }
      }
      if (step.op === "if") out.push({ ...step, yes: list(step.yes), no: list(step.no) });
      else if (step.op === "block" && !isLoopBlock(step)) out.push({ ...step, body: list(step.body) });
      else out.push(step);
    }
    return out;
  };
  return verifyCode({ ...code, locals, body: list(code.body) }, "chunks");
}

/** Turns by lanes, under a test or not. */
function isLanes(step: Step): boolean {
  return step.op === "lanes" || (step.op === "if" && step.yes.length === 1 && isLanes(step.yes[0]));
}

function inChunks(block: LoopBlock, lanes: Step | null, locals: LocalInfo[]): Step[] | null {
  const [loop] = block.body;
  const counted = countedLoop(loop, writesIn(loop.body));
  if (counted === null || !counted.up || counted.step === null) return null;
  // It is left by its test alone.
  if (!isUnit(block) || escapes(loop.body.slice(1), 1)) return null;
  const { first, most } = !hasLoop(loop)
    ? chunkSizes.plain
    : lanes === null
      ? chunkSizes.nest
      : chunkSizes.nestByLanes;
  const [limit, chunk] = ["limit", "chunk"].map((name) => locals.push({ name, dtype: "i32" }) - 1);
  const isOn = test(counted, limit);
  const inner: LoopBlock = {
    ...block,
    body: [{ ...loop, body: [{ ...loop.body[0], test: isOn } as Step, ...loop.body.slice(1)] }],
  };
  const again: Step[] = [
    loop.body[0],
    { op: "set", local: limit, value: limitOf(counted, chunk) },
    { op: "set", local: chunk, value: doubled(chunk, most) },
    ...(lanes === null ? [] : [upTo(lanes, limit)]),
    inner,
    { op: "break", depth: 0 },
  ];
  return [
    { op: "set", local: chunk, value: constant(first) },
    { op: "block", body: [{ op: "loop", body: again, parallel: false, place: loop.place }] },
  ];
}

/** The same lanes, up to the limit. */
function upTo(step: Step, limit: number): Step {
  if (step.op === "lanes") return { ...step, bound: local(limit) };
  return step.op === "if" ? { ...step, yes: step.yes.map((s) => upTo(s, limit)) } : step;
}

function test({ counter, inclusive }: Counted, limit: number): Expression {
  const b = new Builder();
  const on = b.op(inclusive ? "le" : "lt", b.input(0, "i32"), b.input(1, "i32"));
  return { program: b.finish(on, ["i32", "i32"]), locals: [counter, limit] };
}

/** min(bound, counter + chunk·step), in 64 bits: the sum may be more than 32 hold. */
function limitOf(counted: Counted, chunk: number): Expression {
  const { program, locals } = onlyNode(counted.bound);
  const b = new Builder();
  const at = [...locals, counted.counter, chunk];
  const made: number[] = [];
  for (const node of program.nodes) made.push(b.add({ ...node, args: node.args.map((a) => made[a]) }));
  const wide = (k: number) => b.cast("i64", b.input(locals.length + k, "i32"));
  const turns = b.op("mul", wide(1), b.constant("i64", BigInt(counted.step!)));
  const end = b.op("min", b.cast("i64", made[program.result]), b.op("add", wide(0), turns));
  return { program: b.finish(b.cast("i32", end), [...program.inputs, "i32", "i32"]), locals: at };
}

function doubled(chunk: number, most: number): Expression {
  const b = new Builder();
  const x = b.input(0, "i32");
  const twice = b.op("min", b.op("add", x, x), b.constant("i32", most));
  return { program: b.finish(twice, ["i32"]), locals: [chunk] };
}

function local(id: number): Expression {
  const b = new Builder();
  return { program: b.finish(b.input(0, "i32"), ["i32"]), locals: [id] };
}

function constant(value: number): Expression {
  const b = new Builder();
  return { program: b.finish(b.constant("i32", value), []), locals: [] };
}
