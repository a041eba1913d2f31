import { defineConfig } from "vitest/config";

/** The samples of families that take their time: `npm run test:random`. */
export default defineConfig({
  test: {
    include: ["tests/fuzz/gate.test.ts"],
    testNamePattern: /the law of each family/,
    env: { STRIDED_RANDOM: "apart" },
    setupFiles: ["tests/seed.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: "forks",
  },
});
