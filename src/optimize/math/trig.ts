import type { DecompositionTable } from "./table.ts";
export const trigTable: DecompositionTable = {};
