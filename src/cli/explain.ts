/** What a kernel given as text is compiled to. The text goes through the parser that reads kernels; it is never run. */
import { arange, scope } from "../api.ts";
import type { DType } from "../dtype.ts";
import { TensorError } from "../errors.ts";
import { explain, type Report } from "../explain/explain.ts";
import { lowerFunction } from "../frontend/lower.ts";
import { isRefusal, refusalMessage } from "../frontend/refusal.ts";
import { elementwise } from "../ops/elementwise.ts";
import { Callable, Definition } from "../ops/function.ts";
import { stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import { Usage } from "./host.ts";

const parts: Readonly<Record<string, (report: Report) => string>> = {
  report: (report) => report.toString(),
  passes: (report) => report.passes(),
  loops: (report) => report.loops(),
  table: (report) => report.table(),
  wat: (report) => report.wat(),
  all: (report) => [report.toString(), report.passes(), report.loops(), report.wat()].join("\n\n"),
  json: (report) => JSON.stringify(report.toJSON({ wat: false }), null, 2),
};

/** One of the parts above, of a function on operands of these dtypes and this shape. */
export function explainText(
  text: string,
  dtypes: readonly DType[],
  shape: readonly number[],
  part: string,
): string {
  if (!Object.hasOwn(parts, part)) {
    const names = Object.keys(parts).filter((name) => name !== "json");
    throw new Usage(`--show is ${JSON.stringify(part)}: use one of ${names.join(" ")}.`);
  }
  const lowered = lowerFunction(text);
  if (isRefusal(lowered)) throw new TensorError("kernel", refusalMessage("explain", lowered));
  if (lowered.inputs === 0) throw new Usage("the function has no parameter: write x => x + 1.");
  if (dtypes.length !== 1 && dtypes.length !== lowered.inputs) {
    throw new Usage(`${dtypes.length} dtypes for ${lowered.inputs} operands.`);
  }
  return scope(() => {
    const operands: Tensor[] = Array.from({ length: lowered.inputs }, (_, i) =>
      arange(sizeOf(shape), { dtype: "f64" })
        .to(dtypes[i % dtypes.length])
        .reshape(...shape),
    );
    const callable = new Callable(new Definition(lowered));
    const compute = () => wrap(elementwise("kernel", callable, operands.map(stridedOf)));
    return parts[part](explain(compute));
  });
}
