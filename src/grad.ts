/** strided/grad: gradients of kernels, operations and whole programs. An entry of its own, so that the core knows none of it. */
export { derivative } from "./grad/derivative.ts";
