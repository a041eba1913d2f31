// @ts-nocheck: what it imports is there once it is built.
/** Runs one plan in a process of its own and prints the most memory that the process had, beside what was projected. */
import { join } from "node:path";

const built = (entry) => import(new URL(`../../dist/node/${entry}.js`, import.meta.url).href);
const { chunked, local } = await built("chunked");
const { random } = await built("index");
const { zarr } = await built("io");

const [, , folder, name] = process.argv;

/** name: shape, chunks, dtype and how it is packed. */
const arrays = {
  a: [[4096, 4096], [1024, 1024], "f32"],
  b: [[4096, 4096], [1024, 1024], "f32"],
  packed: [[4096, 4096], [1024, 1024], "f32", "gzip"],
  bytes: [[4096, 4096], [1024, 1024], "i8"],
  doubles: [[4096, 2048], [1024, 1024], "f64"],
  cube: [[128, 512, 512], [32, 256, 256], "f32"],
  small: [[4096, 4096], [256, 128], "f32"],
};

if (name === "make") {
  for (const [file, [shape, chunks, dtype, compressor]] of Object.entries(arrays)) {
    const x = random.generator(7).normal(shape).mul(10).to(dtype);
    await zarr.save(join(folder, `${file}.zarr`), x, { chunks, ...(compressor ? { compressor } : {}) });
    x.dispose();
  }
  process.exit(0);
}

const open = (file) => chunked.open(join(folder, `${file}.zarr`));
const [a, b, packed, bytes, doubles, cube, small] = await Promise.all(Object.keys(arrays).map(open));
const made = () => chunked.random([4096, 2048], { chunks: [1024, 1024], seed: 1 });
const plans = {
  add: () => a.add(1),
  "a + b": () => a.add(b),
  chain: () => a.sub(b).mul(2).add(a).abs().sqrt(),
  packed: () => packed.mul(3),
  map: () => a.map((x) => Math.tanh(x)),
  "map of a sum": () => a.add(b).map((x) => x * x),
  "to f64": () => a.to("f64"),
  "bytes to f32": () => bytes.to("f32"),
  "sum of bytes": () => bytes.sum({ axis: 0 }),
  "sum, axis 0": () => a.sum({ axis: 0 }),
  "sum, axis 1": () => a.sum({ axis: 1 }),
  "sum of all": () => a.sum(),
  std: () => a.std({ axis: 0 }),
  normalised: () => a.sub(a.mean({ axis: 0 })).div(a.std({ axis: 0 })),
  max: () => a.max({ axis: 1 }),
  prod: () => doubles.prod({ axis: 0 }),
  "a · bᵀ": () => a.matmul(b.transpose()),
  "f64 product": () => doubles.matmul(doubles.transpose()),
  "aᵀ · b": () => a.transpose().matmul(b),
  columns: () => a.rechunk([4096, 64]),
  rows: () => a.rechunk([64, 4096]),
  "small to large": () => small.rechunk([1024, 1024]),
  "cumsum, axis 0": () => a.cumsum({ axis: 0 }),
  "cumsum, axis 1": () => bytes.cumsum({ axis: 1 }),
  slice: () => a.slice([100, 3900], [3, 3200]),
  transpose: () => a.transpose(),
  concat: () => chunked.concat([a, b], { axis: 0 }),
  stack: () => chunked.stack([a, b]),
  histogram: () => a.histogram({ bins: 64, range: [-40, 40] }),
  quantile: () => a.approximateQuantile([0.1, 0.5]),
  cube: () => cube.mean({ axis: 1 }),
  random: () => made().add(1),
  full: () => chunked.full([4096, 2048], 2, { chunks: [1024, 1024], dtype: "f32" }).mul(3),
  broadcast: () => a.add(a.sum({ axis: 0, keepdims: true })),
};
if (name === "list") console.log(JSON.stringify(Object.keys(plans)));
else {
  const plan = plans[name]().plan({ memory: "512 MiB", workers: 1 });
  const to = join(folder, "out.zarr");
  await plan.run({ to, overwrite: true, on: local() });
  console.log(JSON.stringify({ projected: plan.projected, measured: 1024 * process.resourceUsage().maxRSS }));
}
process.exit(0);
