/** The other thread: makes tensors of messages, computes, and answers with messages. In Node and in a page. */
import { fromMessage, type TensorMessage, toMessage } from "../../src/index.ts";

export interface Request {
  readonly what: "double" | "fill the second row with 5";
  readonly message: TensorMessage;
}

function answer({ what, message }: Request): TensorMessage | { readonly error: string } {
  try {
    if (what === "double") return toMessage(fromMessage(message).mul(2));
    const [, columns] = message.shape;
    (message.data as Float32Array).fill(5, columns, 2 * columns);
    return message;
  } catch (error) {
    return { error: String(error) };
  }
}

const port = globalThis.process?.getBuiltinModule?.("node:worker_threads").parentPort;
if (port) {
  port.on("message", (request: Request) => port.postMessage(answer(request)));
  port.postMessage("ready");
} else {
  const page = globalThis as unknown as {
    onmessage: (event: { readonly data: Request }) => void;
    postMessage(message: unknown): void;
  };
  page.onmessage = ({ data }) => page.postMessage(answer(data));
  page.postMessage("ready");
}
