import { defineConfig } from "vitest/config";

/** Runs of strided/chunked that are killed, cut off and gone on with, in real processes: `npm run test:chunked`. */
export const killed = [
  "tests/chunked/engines.test.ts",
  "tests/chunked/executors.test.ts",
  "tests/chunked/cli.test.ts",
  "tests/chunked/robust.test.ts",
  "tests/chunked/machines.test.ts",
  "tests/chunked/projected.test.ts",
];

export default defineConfig({
  test: {
    include: killed,
    setupFiles: ["tests/seed.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: "forks",
    // Each of them keeps the cores busy by itself.
    maxWorkers: 1,
  },
});
