/**
 * Look into a file of weights
 *
 * Open it lazily, see what it holds, and read one slice of one tensor.
 */
import { random } from "../../src/index.ts";
import { safetensors } from "../../src/io.ts";
import { plot } from "../../src/plot.ts";

const rng = random.generator(1);
const bytes = await safetensors.encode({
  "layer.weight": rng.normal([64, 64]),
  "layer.bias": rng.normal([64]),
});
const file = await safetensors.open(bytes);
file.entries.map((e) => `${e.name} ${e.shape.join("×")}`); // → [layer.bias 64, layer.weight 64×64]
const rows = await file.read("layer.weight", ["0:8"]);
rows.shape; // → [8, 64]
export const picture = plot.svg(rows, { title: "eight rows of a weight", width: 560, height: 200 });
