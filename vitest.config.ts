import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
    // In a browser: npm run test:browser. With the type checker: npm run test:types.
    exclude: ["tests/browser/**", "tests/typing/**", "**/node_modules/**"],
    setupFiles: ["tests/seed.ts"],
    // Long enough for a machine whose cores are busy with something else: what hangs is noticed all the same.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: "forks",
    // Two files at a time, also where there are two cores: most of the tests wait for one.
    maxWorkers: 2,
  },
});
