/** Whatever the functions of strided/grad are given, they return or throw a TensorError, and leave nothing recording. */
import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import * as entry from "../../src/grad.ts";
import { exp, kernel, memory, mul, scope, sum, type Tensor, TensorError, tensor } from "../../src/index.ts";

const f64 = () => tensor([1, 2, 3], { dtype: "f64" });
const square = (x: Tensor) => sum(mul(x, x));

/** Each function, how it is called, and what is done with what it gives. */
const ways: Record<keyof typeof entry, { args: () => unknown[]; use?: (made: never) => unknown }> = {
  derivative: {
    args: () => [kernel((x: number, y: number) => x * y), 1],
    use: (d: (...n: number[]) => unknown) => d(1, 2),
  },
  grad: { args: () => [square, { wrt: 0 }], use: (g: (x: unknown) => unknown) => g(f64()) },
  valueAndGrad: {
    args: () => [square, { wrt: [0], aux: false }],
    use: (g: (x: unknown) => unknown) => g(f64()),
  },
  vjp: {
    args: () => [(x: Tensor) => exp(x), f64()],
    use: (v: entry.Vjp<[Tensor], Tensor>) => {
      try {
        v.pull(f64());
      } finally {
        v.dispose();
      }
    },
  },
  jvp: { args: () => [(x: Tensor) => exp(x), [f64()], [f64()]] },
  hvp: { args: () => [square, [f64()], f64()] },
  gradcheck: { args: () => [square, [f64()], { order: 2, step: 1e-4, tolerance: 1e-3 }] },
  stopGradient: { args: () => [{ a: f64() }] },
  customGradient: {
    args: () => [(x: Tensor) => exp(x), (g: Tensor) => [g]],
    use: (f: (x: Tensor) => Tensor) => entry.grad((x: Tensor) => f(x))(tensor([2], { dtype: "f64" })),
  },
  checkpoint: {
    args: () => [(x: Tensor) => exp(x)],
    use: (f: (x: Tensor) => Tensor) => entry.grad((x: Tensor) => f(x))(tensor([2], { dtype: "f64" })),
  },
  treeLeaves: { args: () => [{ a: [f64()] }] },
  treeMap: { args: () => [(t: Tensor) => t.neg(), { a: f64() }, { a: f64() }] },
  treeUnflatten: { args: () => [{ a: f64() }, [f64()]] },
};

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const gone = () => {
  const t = f64();
  t.dispose();
  return t;
};
const hostile: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => 0,
  () => -1,
  () => 1.5,
  () => Number.NaN,
  () => 3n,
  () => "x",
  () => true,
  () => Symbol("s"),
  () => [],
  () => [null],
  () => ({}),
  () => ({ wrt: "a", order: 7, step: -1 }),
  () => ({ a: {} }),
  () => () => 3,
  () => () => null,
  () => async () => f64(),
  () => class {},
  () => (x: unknown) => x,
  () => () => {
    throw new TensorError("value", "theirs");
  },
  () => tensor([1, 2], { dtype: "i32" }),
  () => tensor([]),
  () => [[f64(), f64()], { b: f64() }],
  gone,
  revoked,
];

describe("strided/grad among hostile arguments", () => {
  it.each(Object.entries(ways))("%s", (name, { args, use }) => {
    const fn = ({ ...entry } as Record<string, unknown>)[name] as (...args: unknown[]) => unknown;
    const call = (given: unknown[]) =>
      scope(() => {
        const made = fn(...given);
        return use === undefined ? made : use(made as never);
      });
    call(args());
    for (let at = 0; at <= args().length; at++) {
      for (const make of hostile) {
        const { tensors } = memory();
        scope(() => {
          const given = args();
          given[at] = make();
          try {
            call(given);
          } catch (error) {
            expect(error, `argument ${at}`).toBeInstanceOf(TensorError);
            expect((error as TensorError).code).not.toBe("internal");
          }
        });
        expect(engine().recorder).toBeNull();
        expect(memory().tensors).toBe(tensors);
      }
    }
  });
});
