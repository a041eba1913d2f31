import { defineConfig } from "vite";

export default defineConfig({
  build: { target: "es2022", minify: true },
  worker: { format: "es" },
  server: {
    headers: { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" },
  },
});
