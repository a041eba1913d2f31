/**
 * What the soak computes, by family: each gives the same bytes every time. Sizes are such that most are shared among
 * threads and none takes long.
 */
import {
  arange,
  argsort,
  booleanMask,
  clip,
  complex,
  compress,
  concat,
  conv1d,
  conv2d,
  convolve,
  type DType,
  eye,
  fft,
  gather,
  kernel,
  linalg,
  logSoftmax,
  logsumexp,
  mapReduce,
  maxPool2d,
  median,
  nonzero,
  random,
  scatterAdd,
  softmax,
  sort,
  stack,
  type Tensor,
  take,
  takeAlongAxis,
  tile,
  topk,
  unique,
  where,
  zeros,
  zip,
} from "../src/index.ts";

export type Operations = Readonly<Record<string, Readonly<Record<string, () => unknown>>>>;

/** The operations on operands that stay until the worker ends. */
export function makeOperations(): Operations {
  const values = (...shape: number[]) =>
    arange(shape.reduce((p, n) => p * n, 1))
      .map((i) => ((i * 7919) % 10_007) / 997 - 5)
      .reshape(shape);
  const x = values(60_000);
  const y = values(60_001).slice("1:");
  const a = values(250, 240);
  const b = values(240, 250);
  const row = values(240);
  const m = values(160, 150);
  const n = values(150, 170);
  const batch = values(6, 40, 50);
  const image = values(2, 3, 40, 40);
  const filters = values(4, 3, 3, 3);
  const definite = values(40, 40).matmul(values(40, 40).T).add(eye(40).mul(200)).to("f64");
  const indices = arange(3000)
    .map((i) => (i * 7) % 250)
    .to("i32");
  const mask = a.greater(0);
  const ratio = kernel((p: number) => (p * p) / (p * p + 1));
  const scaled = kernel((p: number, q: number, k: number) => p * k + q, { k: 2.5 });
  const between = kernel(
    (p: number, { low, high }: { low: number; high: number }) => Math.min(Math.max(p, low), high),
    {
      low: -1,
      high: 2,
    } as never,
  ) as unknown as (t: Tensor) => Tensor;
  const squares = kernel((p: number, q: number) => (p - q) * (p - q)).reduce("sum", { axis: 1 });
  const three = { value: 3 };
  const to = (d: DType) => () => x.to(d).to("f32");

  return {
    elementwise: {
      dense: () => x.add(y),
      kernel: () => ratio(x),
      "small kernel": () => ratio(x.slice(":100")),
      strided: () => x.slice("::2").mul(y.slice("::-2")),
      row: () => a.add(row),
      column: () => a.mul(a.slice(":", "0:1")),
      transposed: () => a.T.add(b),
      transcendental: () => x.exp().add(y.tanh()),
      where: () => where(mask, a, b.T),
      clip: () => clip(a.T, -1, 1),
      zip: () => zip([a, b.T, row], (p, q, r) => (p > q ? r : p - q)),
    },
    captures: {
      one: () => scaled(x, y),
      several: () => between(a.T),
      "new closure": () => kernel((p: number, k: number) => p / k, { k: 7 })(x),
    },
    reduce: {
      sum: () => x.sum(),
      "sum of columns": () => a.sum({ axis: 0 }),
      "sum of rows": () => a.T.sum({ axis: 1 }),
      max: () => a.max({ axis: 1 }),
      var: () => a.var({ axis: 0 }),
      argmax: () => a.argmax({ axis: 1 }),
      mean: () => x.mean(),
      "any function": () => a.reduce((acc, p) => acc * 0.5 + p, { axis: 0 }),
      fused: () => mapReduce([a, row], (p, q) => p * q, { axis: 1 }),
      "of a kernel": () => squares(a, b.T),
    },
    scan: {
      cumsum: () => a.cumsum({ axis: 1 }),
      cumprod: () => ratio(a).cumprod({ axis: 0 }),
      scan: () => a.scan((acc, p) => acc * 0.5 + p, { axis: 0 }),
    },
    softmax: {
      rows: () => softmax(a, { axis: 1 }),
      columns: () => logSoftmax(a, { axis: 0 }),
      logsumexp: () => logsumexp(a.T, { axis: 1 }),
    },
    matmul: {
      small: () => m.slice(":9", ":8").matmul(n.slice(":8", ":7")),
      large: () => m.matmul(n),
      transposed: () => a.matmul(a.T),
      batched: () => batch.matmul(batch.swapAxes(1, 2)),
      vector: () => a.matmul(row),
      f64: () => m.to("f64").matmul(n),
      integers: () => m.to("i32").matmul(n.to("i32")),
    },
    copies: {
      transposed: () => a.T.clone(),
      f16: to("f16"),
      bf16: to("bf16"),
      f64: to("f64"),
      i32: to("i32"),
      u8: to("u8"),
      into: () => zeros([250, 480]).slice(":", "::2").assign(b.T),
      concat: () => concat([a, b.T], { axis: 1 }),
      stack: () => stack([x, y], { axis: 1 }),
      tile: () => tile(row, [50, 2]),
    },
    order: {
      sort: () => sort(a, { axis: 1 }),
      "sort of columns": () => sort(a, { axis: 0, descending: true }),
      argsort: () => argsort(x),
      topk: () => topk(a, 5),
      unique: () => unique(x),
      median: () => median(a, { axis: 0 }),
    },
    fft: {
      fft: () => fft.fft(complex(a, a)),
      rfft: () => fft.rfft(a, { axis: 0 }),
      prime: () => fft.rfft(x.slice(":10007")),
      fft2: () => fft.fft2(complex(m, m)),
    },
    indices: {
      take: () => take(a, indices, { axis: 0 }),
      takeAlongAxis: () => takeAlongAxis(a, argsort(a, { axis: 0 }), { axis: 0 }),
      gather: () => gather(a, [indices, indices.remainder(240)]),
      scatterAdd: () => scatterAdd(zeros([250]), indices, x.slice(":3000")),
      booleanMask: () => booleanMask(a, mask),
      nonzero: () => nonzero(mask),
      compress: () => compress(a, mask.slice(":", 0), { axis: 0 }),
    },
    convolution: {
      conv2d: () => conv2d(image, filters, { padding: 1 }),
      conv1d: () => conv1d(image.slice(":", ":", 0), filters.slice(":", ":", 0)),
      convolve: () => convolve(x.slice(":5000"), row.slice(":60")),
      pool: () => maxPool2d(image, 2),
    },
    linalg: {
      solve: () => linalg.solve(definite, definite.slice(":", ":3")),
      inv: () => linalg.inv(definite),
      cholesky: () => linalg.cholesky(definite),
      qr: () => linalg.qr(m),
      eigh: () => linalg.eigh(definite),
      svdvals: () => linalg.svdvals(definite),
    },
    random: {
      normal: () => random.generator(5).normal([300, 200]),
      integers: () => random.generator(6).integers(0, 1000, [50_000]),
      permutation: () => random.generator(7).permutation(a),
    },
    called: {
      map: () => x.slice("::500").map((p) => p + three.value),
      reduce: () => a.slice("::25", "::24").reduce((acc, p) => acc + p * three.value, { axis: 1 }),
    },
  };
}
