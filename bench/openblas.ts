/**
 * Which of OpenBLAS's kernels NumPy multiplies with. An OpenBLAS that does not know a processor falls back to kernels
 * without its vectors, several times slower than it could be; it is told then which ones to take.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface BlasKernels {
  /** OpenBLAS's name for them. */
  readonly core: string;
  readonly vectors: "AVX-512" | "AVX2" | "as found";
  /** OPENBLAS_CORETYPE must say so: OpenBLAS would not take them by itself. */
  readonly forced: boolean;
}

/** Cores whose kernels have 256-bit and 512-bit vectors with fused multiply-adds. */
const cores256 = ["Haswell", "Zen"];
const cores512 = ["SkylakeX", "Cooperlake", "SapphireRapids"];
const needs512 = ["avx512f", "avx512bw", "avx512dq", "avx512vl"];

function processorFlags(): ReadonlySet<string> {
  try {
    const line = readFileSync("/proc/cpuinfo", "utf8").match(/^flags\s*:(.*)$/m);
    return new Set(line?.[1].trim().split(/\s+/));
  } catch {
    return new Set();
  }
}

/** The core OpenBLAS finds by itself, or was told; null: this NumPy has no OpenBLAS that says so. */
function coreOf(python: string): string | null {
  const env = { ...process.env, OPENBLAS_VERBOSE: "2" };
  const { stderr } = spawnSync(python, ["-c", "import numpy"], { encoding: "utf8", env });
  return stderr?.match(/^Core: (\w+)/m)?.[1] ?? null;
}

/** The kernels to compare with: the best the processor runs, then those with vectors that WebAssembly can have too. */
export function blasKernels(python: string): readonly [BlasKernels, ...BlasKernels[]] {
  const found = coreOf(python);
  const flags = processorFlags();
  const has256 = flags.has("avx2") && flags.has("fma");
  const has512 = has256 && needs512.every((name) => flags.has(name));
  const isNamed = process.env.OPENBLAS_CORETYPE !== undefined;
  const kernels = (core: string): BlasKernels => ({
    core,
    vectors: cores512.includes(core) ? "AVX-512" : cores256.includes(core) ? "AVX2" : "as found",
    forced: core !== found,
  });
  if (found === null || isNamed) return [kernels(found ?? "unknown")];
  if (has512) return [kernels(cores512.includes(found) ? found : "SkylakeX"), kernels("Haswell")];
  return [kernels(has256 && !cores256.includes(found) ? "Haswell" : found)];
}

/** What the environment of a Python must say. */
export const blasEnvironment = ({ core, forced }: BlasKernels): Record<string, string> =>
  forced ? { OPENBLAS_CORETYPE: core } : {};
