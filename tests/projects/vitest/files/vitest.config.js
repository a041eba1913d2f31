import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/*.spec.js"],
    testTimeout: 10_000,
    coverage: { include: ["src/model.js"], reporter: ["json-summary", "text"] },
  },
});
