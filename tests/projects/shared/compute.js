/** In a Web Worker, where a page does its heavy work: the same programs, with threads of the worker's own. */
import { all } from "./programs.js";

globalThis.onmessage = async () => {
  try {
    postMessage(await all());
  } catch (error) {
    postMessage({ error: String(error?.stack ?? error) });
  }
};
