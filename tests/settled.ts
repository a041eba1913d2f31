/** How many tensors there are once garbage is collected: a test that counts them depends on no collection that comes in its middle. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { memory } from "../src/index.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

export async function settledTensors(): Promise<number> {
  // Finalizers run in tasks of their own. What is dead is found in the first rounds, whatever the machine does.
  for (let same = 0, last = -1; same < 3; ) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 2));
    const { tensors } = memory();
    same = tensors === last ? same + 1 : 0;
    last = tensors;
  }
  return memory().tensors;
}
