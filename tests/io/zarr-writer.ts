/** Writes the chunks of the array at a path again and again, until it is killed. Says so when the first are there. */
import { full } from "../../src/index.ts";
import { zarr } from "../../src/io.ts";

async function main(): Promise<void> {
  const array = await zarr.openArray(process.argv[2]);
  const [rows, bytes] = array.shape;
  for (let round = 0; ; round++) {
    const t = full([1, bytes], round % 256, { dtype: "u8" });
    const writing = Array.from({ length: rows }, (_, i) => array.writeChunk([i, 0], t));
    if (round === 0) {
      await writing[1];
      console.log("ready");
    }
    await Promise.all(writing);
    t.dispose();
  }
}

void main();
