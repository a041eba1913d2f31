/**
 * Three small programs as a new user would write them, and a look at the threads. Every project that bundles or loads the
 * package runs them, and what they give is compared with what plain Node gives.
 */
import { arange, complexAbs, conv2d, explain, fft, kernel, random, ready, scope, tensor, zip } from "strided";

/** Canvas pixels (RGBA bytes) → grey → blurred → edges: the mean and the greatest of them. */
export function image(width = 320, height = 200) {
  const rgba = new Uint8ClampedArray(4 * width * height);
  for (let i = 0; i < rgba.length; i++) rgba[i] = (i * 7919 + (i >> 7) * 104729) % 256;
  return scope(() => {
    const pixels = tensor(rgba).reshape(height, width, 4).to("f32");
    const grey = kernel((r, g, b) => 0.2126 * r + 0.7152 * g + 0.0722 * b)(
      pixels.slice("...", 0),
      pixels.slice("...", 1),
      pixels.slice("...", 2),
    );
    const blur = tensor([1, 2, 1, 2, 4, 2, 1, 2, 1]).div(16).reshape(1, 1, 3, 3);
    const soft = conv2d(grey.reshape(1, 1, height, width), blur, { padding: 1 }).reshape(height, width);
    const dx = soft.slice(":-1", "1:").sub(soft.slice(":-1", ":-1"));
    const dy = soft.slice("1:", ":-1").sub(soft.slice(":-1", ":-1"));
    const edges = zip([dx, dy], (x, y) => Math.hypot(x, y));
    return [edges.mean().item(), edges.max().item()];
  });
}

/** Two tones, cut into frames under a window: the loudest bin of each half. */
export function spectrogram(rate = 8192, frame = 256) {
  return scope(() => {
    const wave = kernel(
      (i, { rate, low, high }) => {
        const tone = i < rate / 2 ? low : high;
        return Math.sin((2 * Math.PI * tone * i) / rate);
      },
      { rate, low: 512, high: 1024 },
    );
    const hann = kernel((i, { frame }) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / frame), { frame });
    const frames = wave(arange(rate))
      .reshape(rate / frame, frame)
      .mul(hann(arange(frame)));
    const loud = complexAbs(fft.rfft(frames));
    return loud.argmax({ axis: 1 }).slice("::8").toArray().map(Number);
  });
}

/** A perceptron with one hidden layer learns which points lie in a ring, by gradients written by hand. */
export function perceptron(steps = 60) {
  const g = random.generator(7);
  const x = g.uniform([256, 2]).sub(0.5).mul(2);
  const inside = kernel((a, b) => (a * a + b * b < 0.5 ? 1 : 0));
  const y = inside(x.slice(":", "0:1"), x.slice(":", "1:2"));
  let w1 = g.normal([2, 16]);
  let b1 = g.normal([16]);
  let w2 = g.normal([16, 1]).mul(0.5);
  let b2 = g.normal([1]).mul(0);
  const sigmoid = kernel((v) => 1 / (1 + Math.exp(-v)));
  const losses = [];
  for (let step = 0; step < steps; step++) {
    [w1, b1, w2, b2] = scope(() => {
      const h = x
        .matmul(w1)
        .add(b1)
        .map((v) => Math.tanh(v));
      const p = sigmoid(h.matmul(w2).add(b2));
      const loss = zip([p, y], (p, y) => -(y * Math.log(p + 1e-7) + (1 - y) * Math.log(1 - p + 1e-7))).mean();
      losses.push(loss.item());
      const dz = p.sub(y).div(256);
      const dh = dz.matmul(w2.T).mul(h.map((v) => 1 - v * v));
      const down = (t, d) => t.sub(d.mul(4));
      return [
        down(w1, x.T.matmul(dh)),
        down(b1, dh.sum({ axis: 0 })),
        down(w2, h.T.matmul(dz)),
        down(b2, dz.sum({ axis: 0 })),
      ];
    });
  }
  return [losses[0], losses[steps - 1]];
}

/** How many threads share a large kernel here; why it is one, if it is. */
export async function threads() {
  await ready();
  const until = performance.now() + 10_000;
  for (;;) {
    const report = explain(() => arange(1 << 20).map((x) => Math.sqrt(x * x + 1)));
    const { threads, why, shared } = report.kernels[0].threads;
    // Beside other programs workers may have come late: then one thread works for a while.
    const isLate = why?.startsWith("workers came late") && performance.now() < until;
    if (!isLate) return { threads, why, shared, backend: report.kernels[0].backend };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** All of it, as plain data. */
export async function all() {
  return { image: image(), bins: spectrogram(), losses: perceptron(), ...(await threads()) };
}
