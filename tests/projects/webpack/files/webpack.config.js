const page = {
  name: "page",
  mode: "production",
  entry: { page: "./shared/page.js" },
  output: { path: new URL("out", import.meta.url).pathname, publicPath: "/" },
  performance: { hints: false },
};

const node = {
  name: "node",
  mode: "production",
  target: "node",
  optimization: { minimize: false },
  entry: { print: "./shared/print.js" },
  output: { path: new URL("out-node", import.meta.url).pathname, filename: "[name].cjs" },
  performance: { hints: false },
};

export default [page, node];
