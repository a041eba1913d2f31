import { defineConfig } from "vitest/config";

/** Compiles some thousand expressions, which takes the type checker its time: `npm run test:types`. */
export default defineConfig({
  test: {
    include: ["tests/typing/*.test.ts"],
    setupFiles: ["tests/seed.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
