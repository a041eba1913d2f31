/** The typed programs that the named reductions are made of, each made once, so that its kernels are found again. */
import { type DType, dtypes, isFloat } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import type { Id, Program } from "../ir/node.ts";
import { optimize } from "./pipeline.ts";

const programs = new Map<string, Program>();

/** `make` gets the builder and one id an input. */
function program(name: string, inputs: readonly DType[], make: (b: Builder, ...ids: Id[]) => Id): Program {
  const key = `${name} ${inputs.join()}`;
  let known = programs.get(key);
  if (known === undefined) {
    const b = new Builder();
    known = b.finish(make(b, ...inputs.map((d, i) => b.input(i, d))), inputs);
    programs.set(key, known);
  }
  return known;
}

/** Floats that functions are computed in: f16 and bf16 in f32, integers in f64. */
export const workingFloat = (d: DType): "f32" | "f64" => (isFloat(d) && d !== "f64" ? "f32" : "f64");

/** [acc, x] → acc + x. */
export const sumStep = (x: DType): Program =>
  program("sum", ["f64", x], (b, acc, v) => b.op("add", acc, b.cast("f64", v)));

/** [acc, x] → the larger (smaller), in `as`. */
export const extremeStep = (op: "max" | "min", x: DType, as: DType): Program =>
  program(`${op} in ${as}`, [as, x], (b, acc, v) => b.op(op, acc, b.cast(as, v)));

/** [acc, x, best, position] → the first position whose x is `best`, or no number. */
export const positionStep = (x: DType): Program =>
  program("position", ["u32", x, x, "u32"], (b, acc, v, best, at) => {
    const same = b.op("eq", v, best);
    const found = isFloat(x) ? b.op("or", same, b.op("isNaN", v)) : same;
    return b.op("min", acc, b.op("select", found, at, b.constant("u32", dtypes.u32.max)));
  });

/** [acc, x, mean] → acc + (x - mean)². */
export const deviationStep = (x: DType): Program =>
  program("deviation", ["f64", x, "f64"], (b, acc, v, mean) => {
    const apart = b.op("sub", b.cast("f64", v), mean);
    return b.op("add", acc, b.op("mul", apart, apart));
  });

/** [acc, x] → acc + x², or acc + |x|. */
export const powerStep = (x: DType, power: 1 | 2): Program =>
  program(`power ${power}`, ["f64", x], (b, acc, v) => {
    const y = b.cast("f64", v);
    return b.op("add", acc, power === 2 ? b.op("mul", y, y) : b.op("abs", y));
  });

/** [acc, x] → max(acc, |x|), in `as`. */
export const largestStep = (x: DType, as: DType): Program =>
  program("largest", [as, x], (b, acc, v) => b.op("max", acc, b.op("abs", b.cast(as, v))));

/**
 * What is taken from every element before exp: the largest of them, so that nothing overflows. Where that is -Infinity
 * ("low"), or not finite at all ("finite"), 0 is taken instead, and no Infinity meets its like.
 */
export type Guard = "low" | "finite";

function shifted(b: Builder, x: Id, largest: Id, guard: Guard): Id {
  const d = b.dtypeOf(largest);
  const isFine =
    guard === "finite"
      ? b.op("isFinite", largest)
      : b.op("ne", largest, b.constant(d, Number.NEGATIVE_INFINITY));
  const base = b.op("select", isFine, largest, b.constant(d, 0));
  return b.op("sub", b.cast(d, x), base);
}

/** [acc, x, largest] → acc + exp(x - largest). */
export const exponentialStep = (x: DType, as: DType, guard: Guard): Program =>
  program(`exponential ${guard}`, ["f64", x, as], (b, acc, v, largest) =>
    b.op("add", acc, b.cast("f64", b.op("exp", shifted(b, v, largest, guard)))),
  );

/** [acc, sum, largest, largest of all] → acc + sum · exp(largest - largest of all). */
export const rejoinStep = (as: DType): Program =>
  program("rejoin", ["f64", as, as, as], (b, acc, sum, own, all) => {
    const weight = b.op(
      "select",
      b.op("eq", own, all),
      b.constant(as, 1),
      b.op("exp", b.op("sub", own, all)),
    );
    return b.op("add", acc, b.cast("f64", b.op("mul", sum, weight)));
  });

/** [x, largest] → exp(x - largest). */
export const exponentialMap = (x: DType, as: DType): Program =>
  program("exponentials", [x, as], (b, v, largest) => b.op("exp", shifted(b, v, largest, "low")));

/** [x, largest, sum] → exp(x - largest) / sum. */
export const softmaxMap = (x: DType, as: DType, result: DType): Program =>
  program(`softmax to ${result}`, [x, as, as], (b, v, largest, sum) =>
    b.cast(result, b.op("div", b.op("exp", shifted(b, v, largest, "low")), sum)),
  );

/** [x, largest, log of the sum] → x - largest - log. */
export const logSoftmaxMap = (x: DType, as: DType, result: DType): Program =>
  program(`log softmax to ${result}`, [x, as, as], (b, v, largest, log) =>
    b.cast(result, b.op("sub", shifted(b, v, largest, "low"), log)),
  );

export const divideMap = (as: DType): Program => program("divide", [as, as], (b, x, y) => b.op("div", x, y));

export const logMap = (as: DType): Program => program("log", [as], (b, x) => b.op("log", x));

/** [sum of exp(x - largest), largest] → log(sum) + largest. */
export const logSumMap = (as: DType, result: DType): Program =>
  program(`log of sum to ${result}`, [as, as], (b, sum, largest) => {
    const base = b.op("select", b.op("isFinite", largest), largest, b.constant(as, 0));
    return b.cast(result, b.op("add", b.op("log", sum), base));
  });

/** x → f(x), down to what the emitter knows. */
export const lowered = (f: "exp" | "log", d: "f32" | "f64", fma: boolean): Program =>
  optimize(
    program(f, [d], (b, x) => b.op(f, x)),
    { fma },
  );
