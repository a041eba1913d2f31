/** A user's own module, which coverage tools instrument. */
const { kernel, tensor, zip } = require("strided");

const relu = kernel((x) => (x > 0 ? x : 0));

const clamp = kernel(
  (x, { low, high }) => {
    if (x < low) return low;
    if (x > high) return high;
    return x;
  },
  { low: -1, high: 1 },
);

const helper = (x) => x * x + 1;
const viaHelper = kernel((x, { helper }) => Math.sqrt(helper(x)), { helper });

function layer(x, w, b) {
  return x
    .matmul(w)
    .add(b)
    .map((v) => Math.tanh(v));
}

function mix(a, b) {
  return zip([a, b], (x, y) => {
    let sum = 0;
    for (let i = 0; i < 3; i++) sum += x * y;
    return sum;
  });
}

const total = (t) => t.reduce((acc, x) => acc + x, { init: 0 });
const running = (t) => t.scan((acc, x) => Math.max(acc, x));
const unused = () => tensor([1]);

module.exports = { relu, clamp, viaHelper, layer, mix, total, running, unused };
