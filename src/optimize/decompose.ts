import type { Program } from "../ir/node.ts";
export const decompose = (program: Program, _options: { fma: boolean }): Program => program;
export const widenHalf = (program: Program): Program => program;
