import { defineConfig } from "vitest/config";

/** Whatever takes its time: hostile arguments, random functions, thousands of steps, threads, bundles. `npm run test:batteries`. */
export const batteries = [
  "src/run/gemm.test.ts",
  "tests/chunked/operations.test.ts",
  "tests/chunked/plan.test.ts",
  "tests/cli/files.test.ts",
  "tests/compiled/reduce.test.ts",
  "tests/fuzz/gate.test.ts",
  "tests/grad/steps.test.ts",
  "tests/hostile/hostile.test.ts",
  "tests/hostile/unshared.test.ts",
  "tests/library/sort-properties.test.ts",
  "tests/nn/curves.test.ts",
  "tests/nn/examples.test.ts",
  "tests/quantised/circle.test.ts",
  "tests/quantised/many-blocks.test.ts",
  "tests/second-user.test.ts",
  "tests/size.test.ts",
  "tests/threads/threads.test.ts",
  "tests/trust/descriptors.test.ts",
  "tests/trust/limits.test.ts",
  "tests/trust/memory.test.ts",
];

export default defineConfig({
  test: {
    include: batteries,
    // Of the gate, the families that `npm test` leaves out.
    env: { STRIDED_RANDOM: "apart" },
    setupFiles: ["tests/seed.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
