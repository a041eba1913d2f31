const { arange, configure, explain, ready } = require("strided");

test("two threads, when they are asked for", async () => {
  configure({ threads: 2 });
  await ready();
  const report = explain(() => arange(1 << 20).map((x) => x + 1));
  expect(report.kernels[0].threads).toMatchObject({ threads: 2, why: null, shared: true });
});
