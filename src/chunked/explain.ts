/** A plan as a table for people. */
import { list } from "../errors.ts";
import { showBytes } from "./memory.ts";
import type { Draft } from "./plan.ts";

const MOST_LABEL = 60;

export function explainPlan(
  draft: Pick<Draft, "memory" | "reserved" | "workers" | "operations" | "arrays">,
): string {
  const { memory, reserved, workers, operations, arrays } = draft;
  const rows = operations.map((op) => {
    const { shape, dtype, chunks } = arrays[op.output];
    const label = op.label.length > MOST_LABEL ? `${op.label.slice(0, MOST_LABEL - 1)}…` : op.label;
    return [
      op.id,
      label,
      `${op.output} ${dtype} ${list(shape)} in ${list(chunks)}`,
      String(op.tasks),
      showBytes(op.reads),
      showBytes(op.writes),
      showBytes(op.projected),
    ];
  });
  const head = ["operation", "computes", "writes", "tasks", "read", "written", "a task"];
  const widths = head.map((h, k) => Math.max(h.length, ...rows.map((row) => row[k].length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, k) => (k < 3 ? cell.padEnd(widths[k]) : cell.padStart(widths[k])))
      .join("  ")
      .trimEnd();
  const most = Math.max(0, ...operations.map((op) => op.projected));
  return [
    `memory ${showBytes(memory)} a process, ${showBytes(reserved)} of it reserved; ${workers} ${workers === 1 ? "worker" : "workers"}; the largest task needs ${showBytes(most)}`,
    line(head),
    ...rows.map(line),
  ].join("\n");
}
