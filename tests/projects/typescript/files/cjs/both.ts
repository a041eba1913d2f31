// A CommonJS program that also loads the package with import(): one type of tensors, as there is one class.
import { arange, type Tensor } from "strided";

import strided = require("strided");

async function main(): Promise<void> {
  const imported = await import("strided");
  const sum: Tensor = imported.add(arange(3), strided.arange(3));
  const back: import("strided").Tensor<"f32"> = strided.arange(3);
  console.log(sum.toArray(), back.shape);
}
main();
