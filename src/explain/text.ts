/** A step of a report as text that a newcomer can read. */
import { list } from "../errors.ts";
import type { KernelStep, Step } from "./record.ts";

const indent = (text: string) => text.replace(/^/gm, "   ");

export function stepText(step: Step, number: number): string {
  if (step.kind === "copy") {
    return `${number}. ${step.operation} copied ${bytesText(step.bytes)}: ${step.why}.`;
  }
  if (step.kind === "fallback") {
    return `${number}. ${step.operation} calls the function for each element, because it was not compiled:\n${indent(step.why)}`;
  }
  const lines = [`${number}. ${step.operation}  ${oneLine(step.source)}`];
  const width = Math.max(...step.operands.map((o) => o.name.length));
  for (const o of step.operands) {
    const offset = o.offset === 0 ? "" : `, offset ${o.offset}`;
    lines.push(
      `   ${o.name.padEnd(width)}  ${o.dtype} ${list(o.shape)}, strides ${list(o.strides)}${offset}: ${walkText[o.walk]}`,
    );
  }
  lines.push(`   loops    ${loopsText(step)}`);
  lines.push(`   code     ${codeText(step)}`);
  lines.push(`   threads  ${threadsText(step)}`);
  lines.push(`   moved    ${bytesText(step.bytes)}`);
  return lines.join("\n");
}

const walkText = {
  contiguous: "contiguous",
  broadcast: "one element for the whole row",
  strided: "strided, lane by lane",
  reversed: "reversed, vectors turned round",
  any: "read through its own strides",
  transposed: "contiguous along the other axis, transposed in registers",
} as const;

const oneLine = (source: string) => source.replace(/\s+/g, " ");

function loopsText({ loops }: KernelStep): string {
  const nest = (shape: readonly number[]) => (shape.length === 0 ? "one element" : shape.join(" × "));
  const before = nest(loops.before);
  const after = nest(loops.after);
  if (before === after) return before;
  return `${before}, walked as ${after}`;
}

function codeText(step: KernelStep): string {
  if (step.backend === "function") return "the JavaScript function itself, called for each element";
  if (step.backend === "interpreter") return "the interpreter";
  if (step.note !== null) return `SIMD WebAssembly, ${step.note}`;
  if (step.vector === null)
    return step.layoutKey === null ? "WebAssembly" : "WebAssembly, one element at a time";
  const { lanes, unroll, tiled } = step.vector;
  const shape = tiled ? "tiles of 4 × 4" : `${lanes} lanes${unroll > 1 ? ` × ${unroll} a turn` : ""}`;
  return `SIMD WebAssembly, ${shape}, ${step.compileTime > 0 ? "compiled now" : "known already"}`;
}

function threadsText({ threads }: KernelStep): string {
  if (threads.why !== null) return `1: ${threads.why}`;
  if (threads.shared) return `${threads.threads}, taking turns at the tasks`;
  return "1: too little work to share";
}

export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 2 ** 20) return `${Number((bytes / 1024).toFixed(1))} KiB`;
  return `${Number((bytes / 2 ** 20).toFixed(1))} MiB`;
}
