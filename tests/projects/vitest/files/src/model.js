/** A user's own module, which coverage tools instrument. */
import { kernel, tensor, zip } from "strided";

export const relu = kernel((x) => (x > 0 ? x : 0));

export const clamp = kernel(
  (x, { low, high }) => {
    if (x < low) return low;
    if (x > high) return high;
    return x;
  },
  { low: -1, high: 1 },
);

export const helper = (x) => x * x + 1;
export const viaHelper = kernel((x, { helper }) => Math.sqrt(helper(x)), { helper });

export function layer(x, w, b) {
  return x
    .matmul(w)
    .add(b)
    .map((v) => Math.tanh(v));
}

export function mix(a, b) {
  return zip([a, b], (x, y) => {
    let sum = 0;
    for (let i = 0; i < 3; i++) sum += x * y;
    return sum;
  });
}

export const total = (t) => t.reduce((acc, x) => acc + x, { init: 0 });
export const running = (t) => t.scan((acc, x) => Math.max(acc, x));
export const unused = () => tensor([1]);
