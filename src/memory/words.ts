/** A view as the words by which compiled code finds its elements: how a function of an element reads a captured tensor. */
import { sizeOf } from "../view/layout.ts";
import type { View } from "../view/view.ts";
import type { Storage } from "./storage.ts";

/** Which of the words is what. */
export const viewWord = {
  address: 0,
  size: (axis: number) => 1 + 2 * axis,
  stride: (axis: number) => 2 + 2 * axis,
  count: (rank: number) => 1 + 2 * rank,
} as const;

/** [address, then per axis: size, stride in bytes], modulo 2^32; then how many elements there are. They hold while it lives. */
export function viewWords({ address }: Storage, { shape, strides, offset }: View): readonly number[] {
  const axes = shape.flatMap((n, d) => [n, Number(BigInt.asUintN(32, BigInt(strides[d])))]);
  return [address + offset, ...axes, sizeOf(shape)];
}
