import { defineConfig } from "vitest/config";

/** Packs and installs, which `npm test` does not: `npm run test:package`. */
export default defineConfig({
  test: {
    include: ["tests/package/*.check.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: "forks",
  },
});
