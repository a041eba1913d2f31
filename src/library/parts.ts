/** Numbers taken apart: functions of an element with two results, which one loop makes. */
import { type DType, type Floated, isFloat, isHalf, promoteAll } from "../dtype.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import type { Id, Template } from "../ir/node.ts";
import { Callable, Definition } from "../ops/function.ts";
import { elementwiseSeveral } from "../ops/several.ts";
import { live, type Operand, splitOperands, type Tensor, wrap } from "../tensor.ts";

const definitions = new Map<string, Definition>();

function definitionOf(key: string, make: () => Template): Definition {
  let definition = definitions.get(key);
  if (definition === undefined) {
    definition = new Definition(make());
    definitions.set(key, definition);
  }
  return definition;
}

/**
 * The quotient, rounded down, and the remainder, which has the divisor's sign: `a = quotient · b + remainder`.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b the divisor
 * @returns two new tensors of the shape they broadcast to
 * @example
 * const [minutes, seconds] = divmod(tensor([75, 130]), 60);
 * minutes; // → f32 [1, 2]
 * seconds; // → f32 [15, 10]
 */
export function divmod(a: Operand, b: Operand): [quotient: Tensor, remainder: Tensor] {
  const { tensors, scalars, kinds } = splitOperands("divmod", [a, b]);
  const pattern = kinds.map((d) => (d === null ? "s" : "t")).join("");
  const definition = definitionOf(`divmod ${pattern}`, () => {
    const t = new TemplateBuilder();
    const params: string[] = [];
    let inputs = 0;
    const [x, y] = kinds.map((d) =>
      d === null ? t.param(params.push(`s${params.length}`) - 1) : t.input(inputs++),
    );
    const both = t.tuple([t.op("floorDivide", [x, y]), t.op("floorMod", [x, y])]);
    return t.finish(both, { inputs, params, name: "divmod" });
  });
  const callable = new Callable(definition, { values: scalars });
  return elementwiseSeveral("divmod", callable, tensors).map((t) => wrap(t)) as [Tensor, Tensor];
}

/** A function of one float; integers are computed in f64, half floats in f32. */
function floatParts(
  name: string,
  x: Tensor,
  make: (t: TemplateBuilder, x: Id, stored: (id: Id) => Id) => readonly Id[],
): [Tensor, Tensor] {
  const of = live(name, x);
  const dtype = isFloat(of.dtype) ? of.dtype : promoteAll([of.dtype, "f64"]);
  const definition = definitionOf(`${name} ${dtype}`, () => {
    const t = new TemplateBuilder();
    const input = t.cast(isHalf(dtype) ? "f32" : dtype, t.input(0));
    return t.finish(t.tuple(make(t, input, (id) => t.cast(dtype, id))), { inputs: 1, name });
  });
  return elementwiseSeveral(name, new Callable(definition), [of]).map((t) => wrap(t)) as [Tensor, Tensor];
}

/**
 * The part after the point and the whole part, both with the sign of x: `modf(tensor([-2.5]))` is `[[-0.5], [-2]]`.
 * An infinity has 0 after the point.
 *
 * @param x a tensor of any layout
 * @returns two new tensors of x's shape
 * @example
 * const [fraction, whole] = modf(tensor([-2.5]));
 * fraction; // → f32 [-0.5]
 * whole; // → f32 [-2]
 */
export function modf<D extends DType>(
  x: Tensor<D>,
): [fraction: Tensor<Floated<D>>, whole: Tensor<Floated<D>>] {
  return floatParts("modf", x, (t, v, stored) => {
    const whole = t.op("trunc", [v]);
    const rest = t.op("select", [t.op("isInf", [v]), t.literal(0), t.op("sub", [v, whole])]);
    return [stored(t.op("copysign", [rest, v])), stored(whole)];
  }) as never;
}

/**
 * A mantissa from 0.5 up to 1 and a power of two: `x = mantissa · 2 ** exponent`. Zeros, infinities and NaN are their own
 * mantissa, with the exponent 0.
 *
 * @param x a tensor of any layout
 * @returns two new tensors of x's shape, floats and i32
 * @example
 * const [mantissa, exponent] = frexp(tensor([12]));
 * mantissa; // → f32 [0.75]
 * exponent; // → i32 [4]
 */
export function frexp<D extends DType>(
  x: Tensor<D>,
): [mantissa: Tensor<Floated<D>>, exponent: Tensor<"i32">] {
  return floatParts("frexp", x, (t, v, stored) => {
    const isPlain = t.op("and", [t.op("isFinite", [v]), t.op("ne", [v, t.literal(0)])]);
    const size = t.op("select", [isPlain, t.op("abs", [v]), t.literal(1)]);
    // Too near a power of two, the logarithm is one too large or too small.
    const about = t.op("add", [t.op("floor", [t.op("log2", [size])]), t.literal(1)]);
    const scaled = (e: Id) => {
      // In two steps: 2 ** -e may be too large, or too small, for a float.
      const half = t.op("floor", [t.op("mul", [e, t.literal(0.5)])]);
      const [a, b] = [half, t.op("sub", [e, half])].map((p) => t.op("exp2", [t.op("neg", [p])]));
      return t.op("mul", [t.op("mul", [size, a]), b]);
    };
    const first = scaled(about);
    const up = t.op("select", [t.op("ge", [first, t.literal(1)]), t.literal(1), t.literal(0)]);
    const down = t.op("select", [t.op("lt", [first, t.literal(0.5)]), t.literal(-1), up]);
    const exponent = t.op("add", [about, down]);
    const shift = t.op("select", [t.op("gt", [down, t.literal(0)]), t.literal(0.5), t.literal(1)]);
    const mantissa = t.op("mul", [
      first,
      t.op("select", [t.op("lt", [down, t.literal(0)]), t.literal(2), shift]),
    ]);
    return [
      stored(t.op("select", [isPlain, t.op("copysign", [mantissa, v]), v])),
      t.cast("i32", t.op("select", [isPlain, exponent, t.literal(0)])),
    ];
  }) as never;
}
