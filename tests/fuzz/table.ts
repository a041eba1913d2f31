/** Every family of random cases. A new one is a line here: the gate, the corpus and `npm run fuzz` find it. */
import { copies } from "./copies.ts";
import { derivatives } from "./derivatives.ts";
import type { Family } from "./family.ts";
import { files } from "./files.ts";
import { folds, foldsScalar, scans } from "./folds.ts";
import { frontend } from "./frontend.ts";
import { fused } from "./fuse.ts";
import { gradients } from "./gradients.ts";
import { hostile } from "./hostile.ts";
import { kernels, kernelsRepeated, kernelsScalar } from "./kernels.ts";
import { lanesFamily } from "./lanes.ts";
import { library, threads } from "./library.ts";
import { loops, loopsRead, loopsScalar } from "./loops.ts";
import { matmul } from "./matmul.ts";
import { njitFamily } from "./njit.ts";
import { prange } from "./prange.ts";
import { quantised } from "./quantised.ts";
import { sort } from "./sort.ts";
import { views } from "./views.ts";

export const families: readonly Family[] = [
  frontend,
  kernels,
  kernelsScalar,
  kernelsRepeated,
  derivatives,
  gradients,
  loopsRead,
  loops,
  loopsScalar,
  folds,
  foldsScalar,
  scans,
  matmul,
  copies,
  views,
  sort,
  quantised,
  library,
  threads,
  njitFamily,
  prange,
  lanesFamily,
  fused,
  hostile,
  files,
];

/** Their samples take their time: continuous integration runs them apart, `npm run test:batteries`. */
export const apart: readonly Family[] = [
  derivatives,
  gradients,
  loopsRead,
  loops,
  loopsScalar,
  quantised,
  njitFamily,
  prange,
  lanesFamily,
  fused,
];

export function familyNamed(name: string): Family {
  const found = families.find((f) => f.name === name);
  if (found !== undefined) return found;
  throw new Error(`no family ${name}; there are ${families.map((f) => f.name).join(", ")}`);
}
