/** A program that uses all threads and then simply ends. */
import { engine } from "../../src/engine.ts";
import { kernel, zeros } from "../../src/index.ts";

const a = zeros(1 << 20);
const three = kernel((x: number) => Math.sqrt(x * x + 9));
three(a).dispose();
engine().pool.waitUntilReady(20_000);
const out = three(a);
console.log(`${engine().pool.threads} threads, sum ${out.sum().item()}`);
