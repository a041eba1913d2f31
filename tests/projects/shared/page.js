/** In the page: the programs, here and in a Web Worker of the page's own. */
import { all } from "./programs.js";

function inWorker() {
  const worker = new Worker(new URL("./compute.js", import.meta.url), { type: "module" });
  return new Promise((done, failed) => {
    worker.onmessage = ({ data }) => done(data);
    worker.onerror = (event) => failed(new Error(`the page's worker failed: ${event.message}`));
    worker.postMessage("go");
  });
}

async function main() {
  return { isolated: globalThis.crossOriginIsolated, page: await all(), worker: await inWorker() };
}

main().then(
  (result) => Object.assign(globalThis, { result }),
  (error) => Object.assign(globalThis, { result: { error: String(error?.stack ?? error) } }),
);
