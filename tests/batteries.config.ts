import { defineConfig } from "vitest/config";

/** Whatever takes its time: hostile arguments, large descriptors, random functions, thousands of steps. `npm run test:batteries`. */
export const batteries = [
  "tests/compiled/reduce.test.ts",
  "tests/fuzz/gate.test.ts",
  "tests/grad/steps.test.ts",
  "tests/hostile/hostile.test.ts",
  "tests/hostile/unshared.test.ts",
  "tests/nn/examples.test.ts",
  "tests/quantised/circle.test.ts",
  "tests/quantised/many-blocks.test.ts",
  "tests/trust/descriptors.test.ts",
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
