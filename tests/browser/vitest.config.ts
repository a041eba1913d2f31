import { defineConfig } from "vitest/config";

/** What needs Chromium, which `npm test` does not: `npm run test:browser`. */
export default defineConfig({
  test: {
    include: ["tests/browser/*.test.ts"],
    setupFiles: ["tests/seed.ts"],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
