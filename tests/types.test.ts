/** What TypeScript infers: a dtype given as a literal is known to the type, so `.data` and `get` have the right type. */
import { describe, expectTypeOf, it } from "vitest";
import {
  add,
  arange,
  cross,
  type DType,
  div,
  dot,
  einsum,
  empty,
  eye,
  fft,
  fromBuffer,
  full,
  inner,
  type Kernel,
  kernel,
  kron,
  less,
  linalg,
  linspace,
  type MemoryReport,
  matmul,
  max,
  mean,
  memory,
  min,
  mul,
  type Njit,
  type NjitContext,
  type NjitTensor,
  njit,
  ones,
  outer,
  scope,
  sub,
  sum,
  type Tensor,
  tensor,
  tensordot,
  trace,
  vecdot,
  where,
  zeros,
  zip,
} from "../src/index.ts";
import type { Elements } from "../src/tensor.ts";

describe("inferred types", () => {
  it("a typed array brings its dtype", () => {
    expectTypeOf(tensor(new Float64Array(1))).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(tensor(new Float32Array(1))).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(tensor(new Uint8Array(1))).toEqualTypeOf<Tensor<"u8">>();
    expectTypeOf(tensor(new Uint8ClampedArray(1))).toEqualTypeOf<Tensor<"u8">>();
    expectTypeOf(tensor(new Int8Array(1))).toEqualTypeOf<Tensor<"i8">>();
    expectTypeOf(tensor(new Int16Array(1))).toEqualTypeOf<Tensor<"i16">>();
    expectTypeOf(tensor(new Uint16Array(1))).toEqualTypeOf<Tensor<"u16">>();
    expectTypeOf(tensor(new Int32Array(1))).toEqualTypeOf<Tensor<"i32">>();
    expectTypeOf(tensor(new Uint32Array(1))).toEqualTypeOf<Tensor<"u32">>();
    expectTypeOf(tensor(new BigInt64Array(1))).toEqualTypeOf<Tensor<"i64">>();
    expectTypeOf(tensor(new BigUint64Array(1))).toEqualTypeOf<Tensor<"u64">>();
  });

  it("the kind of the scalars decides, and a given dtype wins", () => {
    expectTypeOf(tensor(1)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(tensor(true)).toEqualTypeOf<Tensor<"bool">>();
    expectTypeOf(tensor(1n)).toEqualTypeOf<Tensor<"i64">>();
    expectTypeOf(tensor([1, 2], { dtype: "i8" })).toEqualTypeOf<Tensor<"i8">>();
    expectTypeOf(tensor(new Float64Array(1), { dtype: "f16" })).toEqualTypeOf<Tensor<"f16">>();
    expectTypeOf(tensor([[1, 2]])).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(tensor([1n])).toEqualTypeOf<Tensor<"i64">>();
    expectTypeOf(tensor([[true]])).toEqualTypeOf<Tensor<"bool">>();
  });

  it("creation is f32 unless told otherwise", () => {
    expectTypeOf(zeros([2])).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(ones(2, { dtype: "i32" })).toEqualTypeOf<Tensor<"i32">>();
    expectTypeOf(empty([2], { dtype: "bf16" })).toEqualTypeOf<Tensor<"bf16">>();
    expectTypeOf(full([2], 1, { dtype: "u16" })).toEqualTypeOf<Tensor<"u16">>();
    expectTypeOf(arange(3)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(arange(0, 3, { dtype: "f64" })).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(linspace(0, 1, 3, { dtype: "f64" })).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(fromBuffer(new ArrayBuffer(4), { dtype: "i16", shape: [2] })).toEqualTypeOf<Tensor<"i16">>();
  });

  it("views keep the dtype, to() changes it", () => {
    const t = zeros([2, 2], { dtype: "f64" });
    expectTypeOf(t.slice(0)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(t.T).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(t.reshape(4)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(t.contiguous()).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(t.to("f16")).toEqualTypeOf<Tensor<"f16">>();
    expectTypeOf(t.argmax()).toEqualTypeOf<Tensor<"i64">>();
    expectTypeOf(t.map((x) => x + 1, { dtype: "i32" })).toEqualTypeOf<Tensor<"i32">>();
    expectTypeOf(t.map((x) => x + 1)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(t.map((x) => x > 1)).toEqualTypeOf<Tensor<"bool">>();
    expectTypeOf(t.to("i32").map((x) => x / 2)).toEqualTypeOf<Tensor<"i32" | "f64">>();
  });

  it("results are known where they follow from the operands", () => {
    const [f, i] = [zeros(2), zeros(2, { dtype: "i16" })];
    expectTypeOf(f.add(1).mul(f).exp().sum().item()).toEqualTypeOf<number>();
    expectTypeOf(i.sum().item()).toEqualTypeOf<number>();
    expectTypeOf(i.sum({ dtype: "i32" }).item()).toEqualTypeOf<number>();
    expectTypeOf(i.mean()).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(i.max()).toEqualTypeOf<Tensor<"i16">>();
    expectTypeOf(add(mul(f, 2), f)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(sub(1, f)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(add(f, i)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(div(i, i)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(add(f, i, { dtype: "f64" })).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(where(f.greater(0), f, 0)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(less(f, i)).toEqualTypeOf<Tensor<"bool">>();
    expectTypeOf(sum(i)).toEqualTypeOf<Tensor<"i64">>();
    expectTypeOf(sum(i, { dtype: "i32" })).toEqualTypeOf<Tensor<"i32">>();
    expectTypeOf(mean(i)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(max(i)).toEqualTypeOf<Tensor<"i16">>();
    expectTypeOf(min(f, { axis: 0 })).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(matmul(f, f)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(f.greater(0).all().item()).toEqualTypeOf<boolean>();
    expectTypeOf(f.add(i)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(f.add(i, { dtype: "f64" })).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(f.reshape(1, 2).matmul(f)).toEqualTypeOf<Tensor<"f32">>();
  });

  it("linear algebra is f32 where every operand is, else f64", () => {
    const [f, d, i] = [eye(2), eye(2, { dtype: "f64" }), eye(2, { dtype: "i32" })];
    const some: Tensor = f;
    expectTypeOf(linalg.solve(f, f)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(linalg.solve(f, d)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(linalg.solve(i, f)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(linalg.solve(some, f)).toEqualTypeOf<Tensor<"f32" | "f64">>();
    expectTypeOf(linalg.solve(some, d)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(linalg.solve(some, some)).toExtend<Tensor>();
    expectTypeOf(linalg.cholesky(f)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(linalg.inv(i)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(linalg.pinv(f, { rtol: 0.1 })).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(linalg.det(f).item()).toEqualTypeOf<number>();
    expectTypeOf(linalg.slogdet(d).logabsdet).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(linalg.qr(f)).toEqualTypeOf<linalg.QrResult<Tensor<"f32">>>();
    expectTypeOf(linalg.qr(some)).toExtend<linalg.QrResult>();
    expectTypeOf(linalg.svd(f).vh.data).toEqualTypeOf<Float32Array>();
    expectTypeOf(linalg.svdvals(i)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(linalg.eigh(f).eigenvectors).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(linalg.eigvalsh(d)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(linalg.lstsq(f, f).x).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(linalg.lstsq(f, i).residuals).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(linalg.matrixNorm(f, { ord: 1 })).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(linalg.cond(i)).toEqualTypeOf<Tensor<"f64">>();
  });

  it("norms, powers and diagonals have rules of their own", () => {
    const [f, h, i] = [eye(2), eye(2, { dtype: "f16" }), eye(2, { dtype: "i32" })];
    expectTypeOf(linalg.vectorNorm(h)).toEqualTypeOf<Tensor<"f16">>();
    expectTypeOf(linalg.vectorNorm(i)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(linalg.matrixPower(f, -1)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(linalg.matrixPower(i, 2)).toEqualTypeOf<Tensor<"i32" | "f64">>();
    expectTypeOf(linalg.trace(i)).toEqualTypeOf<Tensor<"i64">>();
    expectTypeOf(linalg.trace(i, { dtype: "i32" })).toEqualTypeOf<Tensor<"i32">>();
    expectTypeOf(trace(h, { offset: 1 })).toEqualTypeOf<Tensor<"f16">>();
    expectTypeOf(linalg.diagonal(i)).toEqualTypeOf<Tensor<"i32">>();
    expectTypeOf(linalg.matrixTranspose(h)).toEqualTypeOf<Tensor<"f16">>();
  });

  it("transforms are f32 or f64", () => {
    const [f, h, i] = [eye(2), eye(2, { dtype: "bf16" }), eye(2, { dtype: "u8" })];
    const some: Tensor = f;
    expectTypeOf(fft.fft(f)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(fft.ifft(h)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(fft.rfft(i)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(fft.irfft(some)).toEqualTypeOf<Tensor<"f32" | "f64">>();
    expectTypeOf(fft.hfft(f)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(fft.ihfft(i)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(fft.fftn(f)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(fft.ifft2(f.reshape(1, 2, 2), { norm: "ortho" })).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(fft.rfft2(i)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(fft.irfftn(f)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(fft.fftshift(i)).toEqualTypeOf<Tensor<"u8">>();
    expectTypeOf(fft.fftfreq(4)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(fft.rfftfreq(4, { dtype: "f32" })).toEqualTypeOf<Tensor<"f32">>();
  });

  it("products have the dtype that the operands agree on", () => {
    const [m, f, i] = [eye(2), zeros(3), zeros(3, { dtype: "i16" })];
    const some: Tensor = f;
    expectTypeOf(einsum("i,i", f, f)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(einsum("i,j,k->ijk", i, i, i)).toEqualTypeOf<Tensor<"i16">>();
    expectTypeOf(einsum("i,i", f, i)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(einsum("i,i", f, some)).toEqualTypeOf<Tensor>();
    expectTypeOf(einsum("i,i", ...[f, f])).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(einsum("i,i", ...[f, i])).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(linalg.multiDot([m, m])).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(linalg.multiDot([m, m.to("i8")])).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(tensordot(f, f, { axes: 1 })).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(vecdot(i, i)).toEqualTypeOf<Tensor<"i16">>();
    expectTypeOf(dot(f, i)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(inner(f, f).item()).toEqualTypeOf<number>();
    expectTypeOf(outer(i, i)).toEqualTypeOf<Tensor<"i16">>();
    expectTypeOf(kron(f, f)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(cross(f, some)).toEqualTypeOf<Tensor>();
  });

  it("data is the typed array of the dtype; f16 and bf16 show their bits", () => {
    expectTypeOf(zeros(1).data).toEqualTypeOf<Float32Array>();
    expectTypeOf(zeros(1, { dtype: "f64" }).toTypedArray()).toEqualTypeOf<Float64Array<ArrayBuffer>>();
    expectTypeOf(zeros(1, { dtype: "i64" }).data).toEqualTypeOf<BigInt64Array>();
    expectTypeOf(zeros(1, { dtype: "f16" }).data).toEqualTypeOf<Uint16Array>();
    expectTypeOf(zeros(1, { dtype: "bool" }).data).toEqualTypeOf<Uint8Array>();
  });

  it("scalars are numbers, booleans or bigints by dtype", () => {
    expectTypeOf(zeros(1).get(0)).toEqualTypeOf<number>();
    expectTypeOf(zeros(1, { dtype: "bool" }).item()).toEqualTypeOf<boolean>();
    expectTypeOf(zeros(1, { dtype: "u64" }).item()).toEqualTypeOf<number>();
    expectTypeOf(zeros(1).toArray()).toEqualTypeOf<Elements<number>>();
    expectTypeOf(zeros(1, { dtype: "i64" }).toArray()).toEqualTypeOf<Elements<bigint>>();
  });

  it("njit functions: parameters without types, with types, captured values, results", () => {
    const sum = njit(
      (a, n, { k }) => {
        let s = 0;
        for (let i = 0; i < n; i++) s += a.get(i) * k;
        return s;
      },
      { k: 2 },
    );
    expectTypeOf(sum).toEqualTypeOf<Njit<number>>();
    expectTypeOf(sum.plain).returns.toBeNumber();
    const fill = njit((a: Float64Array, x: number) => {
      for (let i = 0; i < a.length; i++) a[i] = x;
    });
    expectTypeOf(fill).toEqualTypeOf<Njit<void>>();
    const looked = njit((i, { table }) => table.get(i), { table: zeros(3) });
    expectTypeOf(looked).returns.toBeNumber();
    const same = njit((out: NjitTensor, { prange }: NjitContext) => {
      for (const i of prange(3)) out.set([i], i);
      return out;
    });
    expectTypeOf(same).toEqualTypeOf<Njit<Tensor>>();
  });

  it("kernels and scopes", () => {
    expectTypeOf(kernel((x) => x + 1)).toEqualTypeOf<Kernel<[x: number], number>>();
    expectTypeOf(kernel((x) => x + 1)).toExtend<Kernel>();
    expectTypeOf(kernel((x) => [x, -x]).as<"u8">).returns.toBeNever();
    expectTypeOf(kernel((x) => x + 1).as<"u8">).returns.toEqualTypeOf<Kernel<[x: number], "u8">>();
    expectTypeOf(kernel((x: number) => x + 1)(zeros(1))).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(zip([zeros(1), zeros(1)], (a, b) => a + b)).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(scope(() => zeros(1))).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(scope(() => 3)).toEqualTypeOf<number>();
    expectTypeOf(memory()).toEqualTypeOf<MemoryReport>();
  });

  it("any tensor goes where a tensor of unknown dtype is asked for", () => {
    expectTypeOf<Tensor<"f32">>().toExtend<Tensor>();
    expectTypeOf<Tensor<"i64">>().toExtend<Tensor<DType>>();
    expectTypeOf<Tensor<"i64">>().not.toExtend<Tensor<"f32">>();
  });

  it("what makes no sense does not compile", () => {
    const notRun = () => {
      // @ts-expect-error an unknown dtype
      zeros([2], { dtype: "float32" });
      // @ts-expect-error a string is no value
      zeros([2]).set([0], "1");
      // @ts-expect-error a tensor is no shape
      zeros(zeros(2));
      // @ts-expect-error no boolean in second place
      zeros([2]).sum(0, true);
    };
    expectTypeOf(notRun).toBeFunction();
  });
});
