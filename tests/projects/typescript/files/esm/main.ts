import "strided/turbo";
import "strided/methods";
import { arange, type DType, fft, kernel, linalg, random, Tensor, TensorError, tensor } from "strided";

const leaky = kernel((x: number, k: number) => (x > 0 ? x : k * x), { k: 0.5 });
const view = arange(8).reshape(2, 4).slice(":", "::2");
const made: Tensor = leaky(view.sub(4));
const big: number = tensor(new BigInt64Array([1n, 2n])).get(1);
const data: Float32Array = arange(3).data;

function norms<D extends DType>(t: Tensor<D>): string {
  return `${t.dtype} ${t.shape.join("x")}`;
}

class Layer {
  readonly weight: Tensor<"f32">;
  constructor(inputs: number, outputs: number, g = random.generator(1)) {
    this.weight = g.normal([inputs, outputs]);
  }
}

const options: fft.FftOptions = { norm: "ortho" };
let code: string | undefined;
try {
  view.matmul(arange(3));
} catch (error) {
  if (error instanceof TensorError) code = error.code;
}
const parts = [
  JSON.stringify(made.toArray()),
  big,
  data.length,
  norms(view),
  new Layer(3, 2).weight.shape.join(),
  fft.rfft(arange(4), options).shape.join(),
  linalg
    .det(
      tensor([
        [2, 0],
        [0, 3],
      ]).to("f64"),
    )
    .item(),
  arange(3).flip().sort().toArray(),
  made instanceof Tensor,
  code,
];
console.log(parts.join(" "));
