/** Checks a Code against the rules that the interpreter and the emitter rely on. */
import type { DType } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import type { Program } from "../ir/node.ts";
import { verify } from "../ir/verify.ts";
import { identityOf } from "./forks.ts";
import { type Code, type Expression, eachStep, type Step } from "./ir.ts";

const indexDTypes: ReadonlySet<DType> = new Set(["i32", "i64", "f32", "f64"]);

const sound = new WeakSet<Program>();

export function verifyCode(code: Code, after: string): Code {
  const bad = (step: Step | null, what: string): never =>
    unreachable(
      `njit, after ${after}, ${code.name || "a function"}${step === null ? "" : `, ${step.op}`}: ${what}`,
    );
  const local = (step: Step | null, id: number): DType =>
    code.locals[id]?.dtype ?? bad(step, `no local ${id}`);

  const expression = (step: Step, { program, locals }: Expression): DType => {
    // Passes copy steps, and with them programs that were looked at before.
    if (!sound.has(program)) verify(program, after);
    sound.add(program);
    if (program.params.length > 0) bad(step, "an expression has params");
    if (program.inputs.length !== locals.length) bad(step, "inputs and locals differ in number");
    program.inputs.forEach((dtype, k) => {
      if (local(step, locals[k]) !== dtype) bad(step, `input ${k} is ${dtype}, local ${locals[k]} is not`);
    });
    return program.dtype;
  };

  const access = (step: Step & { op: "load" | "store" }): DType => {
    const array = code.arrays[step.array] ?? bad(step, `no array ${step.array}`);
    if (step.index.length !== array.rank) bad(step, `${step.index.length} indices for rank ${array.rank}`);
    if (step.proved.length !== array.rank) bad(step, `${step.proved.length} proofs for rank ${array.rank}`);
    step.index.forEach((i, axis) => {
      const dtype = expression(step, i);
      if (!indexDTypes.has(dtype)) bad(step, `an index of dtype ${dtype}`);
      if (step.proved[axis] && dtype !== "i32") bad(step, `an index of dtype ${dtype} that is not checked`);
    });
    if (code.sites[step.site]?.array !== step.array) bad(step, `site ${step.site} is of another array`);
    return array.dtype;
  };

  const walk = (steps: readonly Step[], depth: number): void => {
    for (const step of steps) {
      switch (step.op) {
        case "set":
          if (expression(step, step.value) !== local(step, step.local))
            bad(step, "another dtype than its local's");
          break;
        case "load":
          access(step);
          local(step, step.local);
          break;
        case "store":
          if (access(step) !== expression(step, step.value)) bad(step, "another dtype than its array's");
          if (!code.arrays[step.array].written) bad(step, "its array is not marked as written");
          break;
        case "if":
          if (expression(step, step.test) !== "bool") bad(step, "the test is no bool");
          walk(step.yes, depth);
          walk(step.no, depth);
          break;
        case "block":
        case "loop":
          walk(step.body, depth + 1);
          break;
        case "lanes":
          if (local(step, step.counter) !== "i32" || expression(step, step.bound) !== "i32")
            bad(step, "it does not count in i32");
          // Nothing jumps out of it.
          walk(step.body, 0);
          walk(step.after, 0);
          eachStep(step.body, (s) => {
            if (s.op !== "load" && s.op !== "store") return;
            const slopes = step.slopes.get(s);
            const isUneven = slopes === undefined && s.op === "load";
            if (!isUneven && slopes?.length !== s.index.length) bad(s, "its lanes have no slopes");
            const differs = (e: Expression) => e.locals.some((l) => step.varying.has(l));
            const isKnown = (e: Expression, d: number) =>
              s.proved[d] || (isUneven && e.program.dtype === "i32" && differs(e));
            if (!s.index.every(isKnown)) bad(s, "an index of all lanes is checked");
          });
          break;
        case "fork":
          for (const id of [step.counter, step.limit]) {
            if (local(step, id) !== "i32") bad(step, `local ${id} is no i32`);
          }
          if (expression(step, step.end) !== "i32") bad(step, "the end is no i32");
          if (!(Number.isInteger(step.step) && step.step > 0)) bad(step, `the step ${step.step}`);
          if (step.inOrder !== null && expression(step, step.inOrder) !== "bool")
            bad(step, "a test is no bool");
          for (const r of step.reductions) {
            if (identityOf(r.op, local(step, r.local)) === null) bad(step, `${r.op} of local ${r.local}`);
          }
          // Nothing leaves it.
          walk(step.body, 0);
          break;
        case "break":
          if (!(step.depth >= 0 && step.depth < depth)) bad(step, `depth ${step.depth} of ${depth}`);
          break;
        case "return": {
          const dtypes = code.results.filter((r) => typeof r === "string");
          if (step.values.length !== dtypes.length)
            bad(step, "another number of values than the code's results");
          step.values.forEach((value, i) => {
            if (expression(step, value) !== dtypes[i]) bad(step, `value ${i} is no ${dtypes[i]}`);
          });
        }
      }
    }
  };
  for (const s of code.sizes) if (local(null, s.local) !== "i32") bad(null, "a size is no i32");
  for (const s of code.words) if (local(null, s.local) !== "i32") bad(null, "a word is no i32");
  for (const s of code.scalars) local(null, s.local);
  walk(code.body, 0);
  return code;
}
