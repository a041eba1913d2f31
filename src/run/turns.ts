/** Tasks that wait for nothing but promises keep timers, signals and sockets from their turn: this gives it to them. */

interface Host {
  readonly setImmediate?: (fn: () => void) => unknown;
  readonly MessageChannel?: new () => { readonly port1: Port; readonly port2: Port };
}
interface Port {
  onmessage: (() => void) | null;
  postMessage(message: null): void;
  close(): void;
}

/** Resolves in a task of its own. Timers that follow each other are slowed down, so they come last. */
function nextTask(): Promise<void> {
  const { setImmediate, MessageChannel } = globalThis as unknown as Host;
  return new Promise((resolve) => {
    if (setImmediate !== undefined) setImmediate(resolve);
    else if (MessageChannel !== undefined) {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(null);
    } else setTimeout(resolve, 0);
  });
}

/** A function to wait for between pieces of work: others have their turn, where so many milliseconds have passed since the last. */
export function turns(milliseconds = 20): () => Promise<void> {
  let last = performance.now();
  return async () => {
    if (performance.now() - last < milliseconds) return;
    await nextTask();
    last = performance.now();
  };
}
