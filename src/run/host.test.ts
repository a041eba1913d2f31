/** What the host is asked, and how it may answer. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { workerTextFile } from "../../scripts/worker-text.mjs";
import { environment, inWorkerThread, startWorker } from "./host.ts";

afterEach(() => vi.unstubAllGlobals());

test("worker-text.ts is strided-worker.js as it is now (npm run build makes it)", () => {
  const file = fileURLToPath(new URL("./worker-text.ts", import.meta.url));
  expect(readFileSync(file, "utf8")).toBe(workerTextFile());
});

test("the environment is read where it may be, and nobody is asked for permission", () => {
  vi.stubEnv("STRIDED_TEST", "7");
  expect(environment("STRIDED_TEST")).toBe("7");
  for (const state of ["denied", "prompt"]) {
    vi.stubGlobal("Deno", { permissions: { querySync: () => ({ state }) } });
    expect(environment("STRIDED_TEST")).toBeUndefined();
  }
  vi.stubGlobal("Deno", { permissions: { querySync: () => ({ state: "granted" }) } });
  expect(environment("STRIDED_TEST")).toBe("7");
  vi.unstubAllGlobals();
  const forbidden = new Proxy({}, { get: () => expect.fail("not allowed") });
  vi.stubGlobal("process", { env: forbidden });
  expect(environment("STRIDED_TEST")).toBeUndefined();
  vi.stubGlobal("process", undefined);
  expect(environment("STRIDED_TEST")).toBeUndefined();
  vi.unstubAllEnvs();
});

/** A page's workers: each way to one may throw, fail later, or work. */
function page(outcomes: readonly ("throws" | "fails" | "works")[]) {
  const made: {
    address: string;
    onerror?: (event: object) => void;
    onmessage?: (event: object) => void;
    data?: unknown;
    ended: boolean;
  }[] = [];
  class Worker {
    constructor(address: string | URL) {
      if (outcomes[made.length] === "throws") {
        made.push({ address: String(address), ended: true });
        throw new TypeError("SecurityError");
      }
      made.push(Object.assign(this, { address: String(address), ended: false }));
    }
    postMessage(data: unknown) {
      Object.assign(this, { data });
    }
    terminate() {
      Object.assign(this, { ended: true });
    }
  }
  vi.stubGlobal("process", undefined);
  vi.stubGlobal("Worker", Worker);
  return {
    made,
    fail: (i: number) => made[i].onerror?.({}),
    say: (i: number, data: unknown) => made[i].onmessage?.({ data }),
  };
}

test("a page's worker comes from its file, and from a blob where that fails, at once or later", () => {
  const ended = vi.fn();
  const { made, fail } = page(["fails", "works"]);
  const handle = startWorker({ id: 1 }, ended);
  expect(handle).toMatchObject({ ended: null });
  expect(made.map((w) => w.address.replace(/.*\//, ""))).toEqual(["strided-worker.js"]);
  fail(0);
  expect(made[1]).toMatchObject({ address: expect.stringMatching(/^blob:/), data: { id: 1 } });
  expect(ended).not.toHaveBeenCalled();

  const other = page(["throws", "works"]);
  startWorker({ id: 2 }, ended);
  expect(other.made[1]).toMatchObject({ address: expect.stringMatching(/^blob:/), data: { id: 2 } });
});

test("where no way leads to a worker, the reason is given, at once or later", () => {
  const why =
    /^no worker could be started, neither from strided-worker.js beside the code nor from a blob: URL \(.*worker-src\)$/;
  page(["throws", "throws"]);
  expect(startWorker({}, () => {})).toMatch(why);
  const ended = vi.fn();
  const { fail } = page(["fails", "fails"]);
  startWorker({}, ended);
  fail(0);
  fail(1);
  expect(ended).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(why));
  vi.stubGlobal("Worker", undefined);
  expect(startWorker({}, ended)).toBe("this host has no workers");
});

test("a worker that never says that it is ours is given up for the next way", () => {
  vi.useFakeTimers();
  const ended = vi.fn();
  const { made, say } = page(["works", "works"]);
  startWorker({ id: 1 }, ended);
  // A file of somebody else's under the same name.
  say(0, "hello");
  vi.advanceTimersByTime(60_000);
  expect(made).toHaveLength(2);
  expect(made[0].ended).toBe(true);
  expect(made[1].address).toMatch(/^blob:/);
  expect(ended).toHaveBeenCalledOnce();

  const other = page(["works"]);
  startWorker({ id: 2 }, ended);
  other.say(0, "strided");
  vi.advanceTimersByTime(60_000);
  expect(other.made).toHaveLength(1);
  expect(other.made[0].ended).toBe(false);
  vi.useRealTimers();
});

test("a worker that was up and ends is told of, and not replaced", () => {
  const ended = vi.fn();
  const { made, fail, say } = page(["works"]);
  startWorker({}, ended);
  say(0, "strided");
  fail(0);
  expect(made).toHaveLength(1);
  expect(ended).toHaveBeenCalledExactlyOnceWith("a worker ended");
});

test("a worker that was stopped is not started another way", () => {
  const { made, fail } = page(["fails", "works"]);
  const handle = startWorker({}, () => {});
  if (typeof handle === "string") expect.fail(handle);
  handle.stop();
  fail(0);
  expect(made).toHaveLength(1);
  expect(made[0].ended).toBe(true);
});

test("a Web Worker is no worker thread of Node's: it has threads of its own", () => {
  expect(inWorkerThread()).toBe(false);
  vi.stubGlobal("process", undefined);
  vi.stubGlobal("importScripts", () => {});
  expect(inWorkerThread()).toBe(false);
  vi.stubGlobal("process", { getBuiltinModule: () => ({ isMainThread: false }) });
  expect(inWorkerThread()).toBe(true);
});

test("a host that forbids workers is quoted", () => {
  class Worker {
    constructor() {
      throw new Error("Access to this API has been restricted");
    }
  }
  const threads = { isMainThread: true, Worker };
  vi.stubGlobal("process", { versions: {}, getBuiltinModule: () => threads });
  expect(startWorker({}, () => {})).toBe(
    "this host starts no workers (Access to this API has been restricted)",
  );
});
