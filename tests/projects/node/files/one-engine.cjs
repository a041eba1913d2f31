// Both ways to load the package, in one process: one engine, one class of tensors.
const strided = require("strided");
require("strided/methods");
const { turbo } = require("strided/turbo");

(async () => {
  const imported = await import("strided");
  await import("strided/methods");
  const a = strided.arange(4);
  const b = imported.arange(4);
  const sum = imported.add(a, b);
  console.log(
    JSON.stringify({
      sameClass: strided.Tensor === imported.Tensor,
      sameError: strided.TensorError === imported.TensorError,
      sameMemory: strided.memory().tensors === imported.memory().tensors && imported.memory().tensors === 3,
      sum: sum.toArray(),
      isTensor: sum instanceof strided.Tensor,
      methods: b.flip().sort().toArray(),
      names: Object.keys(strided).sort().join() === Object.keys(imported).sort().join(),
      turbo: Array.isArray(turbo),
    }),
  );
})();
