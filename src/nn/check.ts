/** Where a NaN or an infinity comes from: the first operation that made one of numbers. */
import { scope } from "../api.ts";
import { isFloat } from "../dtype.ts";
import { engine } from "../engine.ts";
import { fail, list } from "../errors.ts";
import { checkThunk } from "../ops/arguments.ts";
import { share } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { type Tensor, wrap } from "../tensor.ts";

/**
 * Runs `fn` and looks at everything that it computes: the first operation whose result has a NaN or an infinity that none of
 * its operands had is an error that names it. Slow, and for finding out.
 *
 *     checkNumbers(() => valueAndGrad(loss)(params, x, y));
 *
 * @param fn the function
 * @returns what it returns
 * @throws TensorError where one is made: the operation and the place
 * @example
 * checkNumbers(() => tensor([1, 2]).mul(2)); // → f32 [2, 4]
 */
export function checkNumbers<R>(fn: () => R): R {
  checkThunk("checkNumbers", fn, "checkNumbers(() => loss(params, x))");
  const e = engine();
  const before = e.listener;
  const look = (operation: string, inputs: readonly Strided[], out: Strided) => {
    const { listener, recorder } = e;
    e.listener = null;
    e.recorder = null;
    try {
      scope(() => inspect(operation, inputs, out));
    } finally {
      e.listener = listener;
      e.recorder = recorder;
    }
  };
  e.listener = (event) => {
    before?.(event);
    if (event.kind === "ran") look(event.call.operation, event.call.inputs, event.out);
    else if (event.kind === "routine" && event.about?.out !== undefined && "storage" in event.about.out) {
      const { operation, inputs = [], out } = event.about;
      look(operation, inputs as readonly Strided[], out as Strided);
    }
  };
  try {
    return fn();
  } finally {
    e.listener = before;
  }
}

const held = (t: Strided): Tensor => wrap(share(t, t.frame));
const isBad = (t: Strided): boolean => isFloat(t.dtype) && held(t).isfinite().all().item() === false;

function inspect(operation: string, inputs: readonly Strided[], out: Strided): void {
  if (!isBad(out) || inputs.some((t) => "storage" in t && isBad(t))) return;
  const bad = held(out).isfinite().logicalNot();
  const at = Number(bad.reshape([-1]).to("u8").argmax().item());
  const place: number[] = [];
  for (let d = bad.rank - 1, rest = at; d >= 0; d--) {
    place.unshift(rest % bad.shape[d]);
    rest = Math.floor(rest / bad.shape[d]);
  }
  const value = held(out).get(...place);
  const operands = inputs.map((t) => `${t.dtype} ${list(t.frame.shape)}`).join(" and ");
  const { group } = engine();
  const where = group === null || group === operation ? "" : `, in ${group},`;
  fail(
    "value",
    "checkNumbers",
    `${operation} of ${operands}${where} made ${bad.sum().item()} of ${bad.size} elements NaN or infinite; the first is ${value} at ${list(place)}.`,
    "Its operands were finite. Look for a division by 0, a logarithm of 0, an exponential that is too large.",
  );
}
