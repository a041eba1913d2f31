// Inside one of Node's worker threads: one thread by default, more when asked for.
const { isMainThread, parentPort, Worker, workerData } = require("node:worker_threads");

if (isMainThread) {
  const ask = (threads) =>
    new Promise((done, failed) => {
      const worker = new Worker(__filename, { workerData: { threads } });
      worker.on("message", done);
      worker.on("error", failed);
    });
  Promise.all([ask(undefined), ask(2)]).then((answers) => console.log(JSON.stringify(answers)));
} else {
  const { arange, configure, explain, ready } = require("strided");
  if (workerData.threads !== undefined) configure(workerData);
  ready().then(() => {
    const report = explain(() => arange(1 << 20).map((x) => x + 1));
    parentPort.postMessage(report.kernels[0].threads);
  });
}
