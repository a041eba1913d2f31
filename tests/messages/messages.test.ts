/** Tensors between threads: a message that structured-clones, and a tensor made of it on the other side. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import { buildSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import {
  arange,
  dtypeNames,
  fromMessage,
  memory,
  ones,
  type Tensor,
  type TensorMessage,
  tensor,
  toMessage,
  zeros,
} from "../../src/index.ts";
import { refused } from "../refused.ts";

const wrong = (x: unknown) => x as never;
const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
  new Uint8Array(buffer, byteOffset, byteLength);

describe("a message", () => {
  test.each(dtypeNames)("of %s comes back as the same tensor", (dtype) => {
    const t = arange(6).sub(2).to(dtype).reshape(2, 3);
    for (const view of [t, t.T, t.slice(":", "::-1"), t.slice(0, 1), t.slice("0:0")]) {
      const back = fromMessage(structuredClone(toMessage(view)));
      expect(back).toEqual(view);
      expect(back.isContiguous).toBe(true);
    }
  });

  test("is a copy: neither side sees what the other does to its tensor", () => {
    const t = arange(3);
    const message = toMessage(t);
    t.fill(9);
    const back = fromMessage(message);
    back.set([0], 5);
    expect(fromMessage(message)).toEqual(arange(3));
    expect(t).toEqual(tensor([9, 9, 9]));
  });

  test("lies in shared memory, which cloning does not copy", () => {
    const message = toMessage(arange(3));
    expect(message.data.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(message.data.byteLength).toBe(message.data.buffer.byteLength);
    const clone = structuredClone(message);
    clone.data[1] = 7;
    expect(fromMessage(message)).toEqual(tensor([0, 7, 2]));
  });

  test("or in a buffer that can be transferred", () => {
    const message = toMessage(arange(3), { shared: false });
    expect(message.data.buffer).toBeInstanceOf(ArrayBuffer);
    const moved = structuredClone(message, { transfer: [message.data.buffer as ArrayBuffer] });
    expect(fromMessage(moved)).toEqual(arange(3));
    expect(message.data.length).toBe(0);
    expect(refused(() => fromMessage(message))).toMatch(/^\(shape\) fromMessage: 0 elements for shape \[3\]/);
  });

  test("or, live, in the tensor's own memory", () => {
    const t = zeros(4);
    const message = structuredClone(toMessage(t, { live: true }));
    message.data.set([1, 2], 1);
    expect(t).toEqual(tensor([0, 1, 2, 0]));
  });

  test("leaves nothing in the heap", () => {
    const t = arange(6).reshape(2, 3).T;
    const before = memory().tensors;
    toMessage(t);
    toMessage(t, { shared: false });
    expect(memory().tensors).toBe(before);
    fromMessage(toMessage(t)).dispose();
    expect(memory().tensors).toBe(before);
  });

  test("what cannot be sent, or is no message, is refused", () => {
    expect(refused(() => toMessage(arange(6).reshape(2, 3).T, { live: true }))).toMatch(
      /^\(value\) data: this view/,
    );
    expect(refused(() => toMessage(arange(2), { live: true, shared: false }))).toMatch(
      /^\(value\) toMessage: live is true/,
    );
    expect(refused(() => toMessage(arange(2), { live: wrong(1) }))).toMatch(
      /^\(value\) toMessage: live is the number 1/,
    );
    expect(refused(() => toMessage(wrong([1])))).toMatch(
      /^\(value\) toMessage: expected a tensor, got an array/,
    );
    const good = toMessage(arange(3));
    for (const [message, words] of [
      [null, "expected a message, got null"],
      [{ ...good, dtype: "f31" }, "f31"],
      [{ ...good, shape: [4] }, "3 elements for shape [4]"],
      [{ ...good, shape: [1.5] }, "not a size"],
      [{ ...good, shape: 3 }, "the shape is the number 3"],
      [{ ...good, data: new Float64Array(3) }, "the data of f32 is a Float32Array, got Float64Array"],
      [{ ...good, data: [0, 1, 2] }, "got an array"],
      [{ ...good, data: new DataView(new ArrayBuffer(12)) }, "got an object"],
    ] as const) {
      expect(refused(() => fromMessage(wrong(message)))).toContain(words);
    }
  });
});

test("types know the dtype on both sides", () => {
  const message = toMessage(arange(3, { dtype: "i32" }));
  expectTypeOf(message).toEqualTypeOf<TensorMessage<"i32">>();
  expectTypeOf(message.data).toEqualTypeOf<Int32Array>();
  expectTypeOf(fromMessage(message)).toEqualTypeOf<Tensor<"i32">>();
  expectTypeOf(fromMessage(message as TensorMessage)).toEqualTypeOf<Tensor>();
});

describe("a tensor itself", () => {
  test("is not cloned into something broken: the host refuses it", () => {
    const t = arange(3);
    for (const what of [t, [t], { t }, new Map([[1, t]])]) {
      expect(() => structuredClone(what)).toThrow(expect.objectContaining({ name: "DataCloneError" }));
    }
    const { port1, port2 } = new MessageChannel();
    expect(() => port1.postMessage(t)).toThrow(expect.objectContaining({ name: "DataCloneError" }));
    expect(receiveMessageOnPort(port2)).toBe(undefined);
    port1.close();
  });
});

describe("a worker thread", () => {
  const folder = mkdtempSync(join(tmpdir(), "strided-messages-"));
  let worker: Worker;
  beforeAll(async () => {
    const outfile = join(folder, "worker.mjs");
    const entry = fileURLToPath(new URL("./worker.ts", import.meta.url));
    buildSync({ entryPoints: [entry], bundle: true, format: "esm", platform: "node", outfile });
    worker = new Worker(outfile);
    await once(worker, "message");
  });
  afterAll(async () => {
    await worker.terminate();
    rmSync(folder, { recursive: true });
  });

  async function ask(
    what: string,
    message: TensorMessage,
    transfer: ArrayBuffer[] = [],
  ): Promise<TensorMessage> {
    worker.postMessage({ what, message }, transfer);
    const [answer] = await once(worker, "message");
    if ("error" in answer) throw new Error(answer.error);
    return answer;
  }

  test("computes with what it is sent, and sends back", async () => {
    const t = arange(6).reshape(2, 3);
    expect(fromMessage(await ask("double", toMessage(t.T)))).toEqual(t.T.mul(2));
    const moved = toMessage(t, { shared: false });
    expect(fromMessage(await ask("double", moved, [moved.data.buffer as ArrayBuffer]))).toEqual(t.mul(2));
  });

  test("is sent large tensors whose senders are gone at once", async () => {
    const make = (): Tensor => ones([1000, 1000]).mul(3);
    const t = make();
    const message = toMessage(t);
    t.dispose();
    make().fill(7).dispose(); // takes the memory that t had
    const back = fromMessage(await ask("double", message));
    expect(back.sum().item()).toBe(6_000_000);
  });

  test("writes into a live tensor here", async () => {
    const t = zeros([4, 8]);
    const answer = await ask("fill the second row with 5", toMessage(t, { live: true }));
    expect(t).toEqual(tensor([0, 5, 0, 0]).reshape(4, 1).broadcastTo(4, 8));
    expect(bytesOf(answer.data).length).toBe(4 * 8 * 4);
  });
});
