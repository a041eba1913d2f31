/** Runs in the page: tensors to a Web Worker and back, and what the page's own interfaces take of a tensor. */
import {
  arange,
  fromMessage,
  type Tensor,
  type TensorMessage,
  tensor,
  toMessage,
  zeros,
} from "../../src/index.ts";
import type { Request } from "../messages/worker.ts";

export interface MessagesResult {
  readonly isolated: boolean;
  readonly shared: boolean;
  readonly doubled: unknown;
  readonly moved: unknown;
  readonly live: unknown;
  readonly clone: string;
  readonly pixels: readonly number[];
  readonly liveImage: string;
}

const nameOf = (action: () => unknown): string => {
  try {
    action();
    return "taken";
  } catch (error) {
    return (error as Error).name;
  }
};

async function main(): Promise<MessagesResult> {
  const worker = new Worker("/message-worker.js", { type: "module" });
  const next = (): Promise<unknown> =>
    new Promise((done, fail) => {
      worker.onmessage = ({ data }) => done(data);
      worker.onerror = ({ message }) => fail(new Error(message));
    });
  await next();
  const ask = async (what: Request["what"], message: TensorMessage, transfer: Transferable[] = []) => {
    const answer = next();
    worker.postMessage({ what, message } satisfies Request, transfer);
    const data = (await answer) as TensorMessage | { readonly error: string };
    if ("error" in data) throw new Error(data.error);
    return data;
  };
  const doubled = async (message: TensorMessage, transfer?: Transferable[]) =>
    fromMessage(await ask("double", message, transfer)).toArray();

  const t: Tensor = arange(6).reshape(2, 3).T;
  const message = toMessage(t);
  const own = toMessage(t, { shared: false });
  const canvas = tensor(new Uint8ClampedArray([0, 100, 200, 255]), { shape: [1, 1, 4] });
  const negative = canvas.map((x) => 255 - x, { compute: "f32", dtype: "u8" });
  const copy = new Uint8ClampedArray(negative.toTypedArray().buffer as ArrayBuffer);
  const view = new Uint8ClampedArray(negative.data.buffer, negative.data.byteOffset, 4);
  return {
    isolated: globalThis.crossOriginIsolated,
    shared: !(message.data.buffer instanceof ArrayBuffer),
    doubled: await doubled(message),
    moved: await doubled(own, [own.data.buffer as ArrayBuffer]),
    live: await liveRow((m) => ask("fill the second row with 5", m)),
    clone: nameOf(() => structuredClone(t)),
    pixels: [...new ImageData(copy, 1, 1).data],
    liveImage: nameOf(() => new ImageData(view as Uint8ClampedArray<ArrayBuffer>, 1, 1)),
  };
}

/** What a worker has written into a tensor of this thread; why it could not, where it cannot. */
async function liveRow(ask: (message: TensorMessage) => Promise<unknown>): Promise<unknown> {
  const t = zeros([2, 2]);
  let message: TensorMessage;
  try {
    message = toMessage(t, { live: true });
  } catch (error) {
    return String(error);
  }
  await ask(message);
  return t.toArray();
}

main().then(
  (result) => Object.assign(globalThis, { result }),
  (error) => Object.assign(globalThis, { result: { error: String(error?.stack ?? error) } }),
);
