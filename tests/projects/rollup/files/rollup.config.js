import commonjs from "@rollup/plugin-commonjs";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import terser from "@rollup/plugin-terser";

const page = {
  input: ["shared/page.js", "shared/compute.js"],
  output: { dir: "out", format: "es" },
  plugins: [nodeResolve({ browser: true }), terser()],
};

const node = (format, file) => ({
  input: "shared/programs.js",
  output: { file, format },
  plugins: [nodeResolve({ exportConditions: ["node"] }), commonjs()],
});

export default [page, node("es", "out-node/programs.mjs"), node("cjs", "out-node/programs.cjs")];
