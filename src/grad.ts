/** strided/grad: gradients of kernels, operations and whole programs. An entry of its own, so that the core knows none of it. */

export { checkpoint, customGradient } from "./grad/custom.ts";
export { derivative } from "./grad/derivative.ts";
export { type GradcheckOptions, gradcheck } from "./grad/gradcheck.ts";
export {
  type GradOptions,
  type GradsOf,
  grad,
  hvp,
  jvp,
  stopGradient,
  type ValueAndGrads,
  type Vjp,
  valueAndGrad,
  vjp,
} from "./grad/transform.ts";
export { type Leaf, treeLeaves, treeMap, treeUnflatten } from "./grad/tree.ts";
