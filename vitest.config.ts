import { defineConfig } from "vitest/config";
import { batteries } from "./tests/batteries.config.ts";
import { killed } from "./tests/chunked.config.ts";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
    // In a browser: npm run test:browser. With the type checker: npm run test:types. What is slow: npm run test:batteries.
    // Runs that are killed: npm run test:chunked.
    exclude: [
      "tests/browser/**",
      "tests/typing/**",
      "**/node_modules/**",
      ...killed,
      ...batteries.filter((file) => !file.startsWith("tests/fuzz/")),
    ],
    setupFiles: ["tests/seed.ts"],
    // Long enough for a machine whose cores are busy with something else: what hangs is noticed all the same.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: "forks",
    // Two files at a time, also where there are two cores: most of the tests wait for one.
    maxWorkers: 2,
  },
});
