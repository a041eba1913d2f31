/** Softmax and its kin, row by row: each from the cache. */
import * as programs from "../optimize/reduce-programs.ts";
import type { Routine, Task } from "../run/routine.ts";
import { PIECE } from "../run/split.ts";
import { sizeOf } from "../view/layout.ts";
import { type LoopNest, planLoops } from "../view/loops.ts";
import type { View } from "../view/view.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";
import { emitSoftmax, type SoftmaxKind, softmaxTask } from "../wasm/routines/softmax.ts";
import { absolute } from "./walk.ts";

/**
 * Along one axis that is dense on both sides; the output has the input's shape, with stride 0 along that axis where there
 * is one result a row. False, and nothing done, where rows do not lie like that, or where vectors are not to be had.
 */
export const softmaxRoutine: Routine<{ readonly kind: SoftmaxKind; readonly axis: number }, boolean> = {
  name: "softmax",
  run({ kernels, routines }, { operation, params: { kind, axis }, inputs: [x], outs: [out] }) {
    const { dtype } = x;
    if ((dtype !== "f32" && dtype !== "f64") || out.dtype !== dtype) return false;
    if (!kernels.simd || !detectFeatures().simd) return false;
    const { shape, strides, itemBytes } = x.frame;
    const n = shape[axis];
    if (strides[axis] !== itemBytes || shape.includes(0)) return false;
    if (kind !== "logsumexp" && out.frame.strides[axis] !== itemBytes) return false;
    const kept = (view: View): View => ({
      ...view,
      shape: view.shape.filter((_, d) => d !== axis),
      strides: view.strides.filter((_, d) => d !== axis),
    });
    const nest = absolute(planLoops([kept(out.frame), kept(x.frame)]), [out, x]);
    const tasks = rowTasks(nest, n, routines.threads);
    if (tasks === null) return false;
    const emit = ({ shared, fma }: { shared: boolean; fma: boolean }) => {
      const [exp, log] = (["exp", "log"] as const).map((name) => programs.lowered(name, dtype, fma));
      return emitSoftmax({ kind, dtype, exp, log }, { shared, fma });
    };
    const nanoseconds = sizeOf(shape) * (dtype === "f32" ? 1.5 : 3);
    routines.run(`${kind} ${dtype}`, emit, tasks, nanoseconds, { operation, inputs: [x], out });
    return true;
  },
};

/** Tasks for runs of rows, dealt out in several rounds; null where there would be too many. */
function rowTasks(nest: LoopNest, n: number, threads: number): Task[] | null {
  const { shape, strides, offsets } = nest;
  const inner = shape.length - 1;
  const rows = inner < 0 ? 1 : shape[inner];
  const runs = shape.slice(0, -1).reduce((a, b) => a * b, 1);
  if (runs > 1000) return null;
  const [outStride, xStride] = inner < 0 ? [0, 0] : [strides[0][inner], strides[1][inner]];
  const fair = Math.ceil(rows / Math.max(1, Math.ceil((8 * threads) / runs)));
  const step = Math.max(1, Math.min(rows, Math.max(fair, Math.ceil(PIECE / n))));
  const tasks: Task[] = [];
  for (let run = 0; run < runs; run++) {
    let [out, x] = offsets;
    let rest = run;
    for (let d = inner - 1; d >= 0; d--) {
      const i = rest % shape[d];
      rest = Math.floor(rest / shape[d]);
      out += i * strides[0][d];
      x += i * strides[1][d];
    }
    for (let row = 0; row < rows; row += step) {
      const at = { out: out + row * outStride, x: x + row * xStride };
      tasks.push(softmaxTask.of({ rows: Math.min(step, rows - row), n, ...at, outStride, xStride }));
    }
  }
  return tasks;
}
