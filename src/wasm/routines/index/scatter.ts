/**
 * Writing through indices with a function: what lies at a place becomes fn(it, the value), one value after the other, so
 * that values for one place are all used. The function is a program of two inputs of one dtype, in scalar code.
 */
import type { Program } from "../../../ir/node.ts";
import { optimize } from "../../../optimize/pipeline.ts";
import type { ModuleBuilder } from "../../assembler/assembler.ts";
import { loadScalar, ScalarCode, storeScalar } from "../../program/scalar.ts";
import { slowFunctions } from "../../program/slow.ts";
import { advance, countdown, type EmitOptions, emitWalk } from "../walk.ts";

/** Operands: the values, the indexed side, the offsets (see gather.ts). */
export function emitFold(program: Program, { shared }: Pick<EmitOptions, "shared">): ModuleBuilder {
  const lowered = optimize(program, { fma: false });
  return emitWalk(shared, 3, 0, (f, n, [values, indexed, offsets]) => {
    const code = new ScalarCode({ f, program: lowered, fma: false, slow: slowFunctions(f.module) });
    const place = f.local("i32", "place");
    countdown(f, n, 1, () => {
      f.get(indexed.at).get(offsets.at).load("i32.load").op("i32.add").set(place);
      lowered.nodes.forEach((_, id) => {
        code.emit(id, (node) => {
          if (node.op === "input") loadScalar(f.get(node.index === 0 ? place : values.at), node.dtype);
        });
      });
      storeScalar(f.get(place).get(code.value(lowered.result)), lowered.dtype);
      for (const { at, stride } of [values, indexed, offsets]) advance(f, at, stride);
    });
  });
}
