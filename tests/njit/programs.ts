/**
 * Classic programs as njit functions, each with arguments: the compiled one must do what the function itself does. Written
 * as one would write them: no program is bent to suit the compiler.
 */
import { arange, type DType, kernel, type Tensor, tensor, zeros } from "../../src/index.ts";
import { type Njit, type NjitValue, njit } from "../../src/njit/njit.ts";

export interface ClassicProgram {
  readonly name: string;
  readonly fn: Njit;
  /** New arguments, the same each time. */
  readonly make: () => NjitValue[];
  /** Ulps that results may differ by: functions such as exp are the library's own. 0 where it is not given. */
  readonly ulps?: number;
}

/** Numbers from 0 to 1, always the same. */
export function draws(seed: number): () => number {
  let x = (seed * 2654435761) >>> 0 || 1;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    x >>>= 0;
    return x / 2 ** 32;
  };
}

export function randomTensor(shape: number[], dtype: DType, seed: number, scale = 1): Tensor {
  const draw = draws(seed);
  const size = shape.reduce((a, b) => a * b, 1);
  const values = Array.from({ length: size }, () => draw() * scale);
  return tensor(values, { dtype: "f64" }).reshape(shape).to(dtype);
}

export const f64 = (...shape: number[]) => zeros(shape, { dtype: "f64" });

const mandelbrot = njit((out, x0, y0, step, most, { prange }) => {
  const [h, w] = out.shape;
  for (const i of prange(h)) {
    for (let j = 0; j < w; j++) {
      const cx = x0 + j * step;
      const cy = y0 + i * step;
      let x = 0;
      let y = 0;
      let n = 0;
      while (n < most && x * x + y * y <= 4) {
        const t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        n++;
      }
      out.set([i, j], n);
    }
  }
});

const newton = njit((out, n, { prange }) => {
  const rootX = [1, -0.5, -0.5];
  const rootY = [0, 0.8660254037844386, -0.8660254037844386];
  for (const i of prange(n)) {
    for (let j = 0; j < n; j++) {
      let x = -2 + (4 * j) / n;
      let y = -2 + (4 * i) / n;
      let found = -1;
      search: for (let k = 0; k < 30; k++) {
        for (let r = 0; r < rootX.length; r++) {
          const dx = x - rootX[r];
          const dy = y - rootY[r];
          if (dx * dx + dy * dy < 1e-6) {
            found = r;
            break search;
          }
        }
        const a = x * x - y * y;
        const b = 2 * x * y;
        const d = 3 * (a * a + b * b);
        if (d === 0) break;
        const [p, q] = [x * a - y * b - 1, x * b + y * a];
        x -= (p * a + q * b) / d;
        y -= (q * a - p * b) / d;
      }
      out.set([i, j], found);
    }
  }
});

const matmulIjk = njit((out, a, b, { prange }) => {
  const [n, k] = a.shape;
  for (const i of prange(n)) {
    for (let j = 0; j < b.shape[1]; j++) {
      let acc = 0;
      for (let p = 0; p < k; p++) acc += a.get(i, p) * b.get(p, j);
      out.set([i, j], acc);
    }
  }
});

const matmulIkj = njit((out, a, b, { prange }) => {
  const [n, k] = a.shape;
  const m = b.shape[1];
  for (const i of prange(n)) {
    for (let j = 0; j < m; j++) out.set([i, j], 0);
    for (let p = 0; p < k; p++) {
      const x = a.get(i, p);
      for (let j = 0; j < m; j++) out.set([i, j], out.get(i, j) + x * b.get(p, j));
    }
  }
});

const matmulKij = njit((out, a, b) => {
  const [n, k] = a.shape;
  const m = b.shape[1];
  for (let p = 0; p < k; p++)
    for (let i = 0; i < n; i++)
      for (let j = 0; j < m; j++) out.set([i, j], out.get(i, j) + a.get(i, p) * b.get(p, j));
});

const heat = njit((u, v, steps, { prange }) => {
  const [n, m] = u.shape;
  for (let t = 0; t < steps; t++) {
    for (const i of prange(1, n - 1)) {
      for (let j = 1; j < m - 1; j++) {
        const around = u.get(i - 1, j) + u.get(i + 1, j) + u.get(i, j - 1) + u.get(i, j + 1);
        v.set([i, j], u.get(i, j) + 0.1 * (around - 4 * u.get(i, j)));
      }
    }
    for (const i of prange(1, n - 1)) for (let j = 1; j < m - 1; j++) u.set([i, j], v.get(i, j));
  }
  return u;
});

const life = njit((next, now, { prange }) => {
  const [n, m] = now.shape;
  let alive = 0;
  for (const i of prange(n)) {
    for (let j = 0; j < m; j++) {
      let count = 0;
      for (let di = -1; di <= 1; di++) {
        for (let dj = -1; dj <= 1; dj++) {
          if (di === 0 && dj === 0) continue;
          count += now.get((i + di + n) % n, (j + dj + m) % m);
        }
      }
      const lives = count === 3 || (count === 2 && now.get(i, j) === 1);
      next.set([i, j], lives ? 1 : 0);
      if (lives) alive++;
    }
  }
  return alive;
});

const nbody = njit((pos, vel, mass, dt, steps, { prange }) => {
  const n = mass.shape[0];
  for (let s = 0; s < steps; s++) {
    for (const i of prange(n)) {
      let [ax, ay, az] = [0, 0, 0];
      for (let j = 0; j < n; j++) {
        if (i === j) continue;
        const dx = pos.get(j, 0) - pos.get(i, 0);
        const dy = pos.get(j, 1) - pos.get(i, 1);
        const dz = pos.get(j, 2) - pos.get(i, 2);
        const d2 = dx * dx + dy * dy + dz * dz + 0.01;
        const k = mass.get(j) / (d2 * Math.sqrt(d2));
        ax += k * dx;
        ay += k * dy;
        az += k * dz;
      }
      vel.set([i, 0], vel.get(i, 0) + dt * ax);
      vel.set([i, 1], vel.get(i, 1) + dt * ay);
      vel.set([i, 2], vel.get(i, 2) + dt * az);
    }
    for (const i of prange(n))
      for (let k = 0; k < 3; k++) pos.set([i, k], pos.get(i, k) + dt * vel.get(i, k));
  }
});

const floydWarshall = njit((d) => {
  const n = d.shape[0];
  for (let k = 0; k < n; k++) {
    for (let i = 0; i < n; i++) {
      const through = d.get(i, k);
      for (let j = 0; j < n; j++) {
        const other = through + d.get(k, j);
        if (other < d.get(i, j)) d.set([i, j], other);
      }
    }
  }
});

const editDistance = njit((a: Uint8Array, b: Uint8Array, row: Int32Array) => {
  for (let j = 0; j <= b.length; j++) row[j] = j;
  for (let i = 1; i <= a.length; i++) {
    let diagonal = row[0];
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const above = row[j];
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(above + 1, row[j - 1] + 1, diagonal + cost);
      diagonal = above;
    }
  }
  return row[b.length];
});

const biquad = njit((out, x, b0, b1, b2, a1, a2) => {
  let [z1, z2] = [0, 0];
  for (let i = 0; i < x.shape[0]; i++) {
    const v = x.get(i);
    const y = b0 * v + z1;
    z1 = b1 * v - a1 * y + z2;
    z2 = b2 * v - a2 * y;
    out.set([i], y);
  }
});

const nearest = njit((out, points, queries, { prange }) => {
  const [n, d] = points.shape;
  for (const q of prange(queries.shape[0])) {
    const best = [Infinity, Infinity, Infinity];
    const who = [-1, -1, -1];
    for (let i = 0; i < n; i++) {
      let dist = 0;
      for (let k = 0; k < d; k++) {
        const t = points.get(i, k) - queries.get(q, k);
        dist += t * t;
      }
      if (dist >= best[2]) continue;
      let at = 2;
      while (at > 0 && dist < best[at - 1]) {
        best[at] = best[at - 1];
        who[at] = who[at - 1];
        at--;
      }
      best[at] = dist;
      who[at] = i;
    }
    for (let k = 0; k < 3; k++) out.set([q, k], who[k]);
  }
});

const histogram = njit((counts, x, lo, hi) => {
  const bins = counts.shape[0];
  let outside = 0;
  for (let i = 0; i < x.shape[0]; i++) {
    const at = Math.floor(((x.get(i) - lo) / (hi - lo)) * bins);
    if (at >= 0 && at < bins) counts.set([at], counts.get(at) + 1);
    else outside++;
  }
  return outside;
});

const bilateral = njit(
  (out, image, radius, { weight, prange }) => {
    const [h, w] = image.shape;
    for (const i of prange(h)) {
      for (let j = 0; j < w; j++) {
        let [sum, total] = [0, 0];
        const here = image.get(i, j);
        for (let y = Math.max(0, i - radius); y <= Math.min(h - 1, i + radius); y++) {
          for (let x = Math.max(0, j - radius); x <= Math.min(w - 1, j + radius); x++) {
            const v = image.get(y, x);
            const k = weight((y - i) * (y - i) + (x - j) * (x - j), v - here);
            sum += k * v;
            total += k;
          }
        }
        out.set([i, j], sum / total);
      }
    }
  },
  { weight: (d2: number, dv: number) => Math.exp(-d2 / 8 - (dv * dv) / 0.02) },
);

const cdf = kernel((x) => 1 / (1 + Math.exp(-1.5976 * x - 0.07056 * x * x * x)));
const blackScholes = njit(
  (call, put, price, strike, time, { cdf, rate, vol, prange }) => {
    for (const i of prange(price.shape[0])) {
      const [s, k, t] = [price.get(i), strike.get(i), time.get(i)];
      const root = vol * Math.sqrt(t);
      const d1 = (Math.log(s / k) + (rate + 0.5 * vol * vol) * t) / root;
      const d2 = d1 - root;
      const discount = Math.exp(-rate * t);
      const c = s * cdf(d1) - k * discount * cdf(d2);
      call.set([i], c);
      put.set([i], c - s + k * discount);
    }
  },
  { cdf, rate: 0.02, vol: 0.3 },
);

const lu = njit((a, perm) => {
  const n = a.shape[0];
  let swaps = 0;
  for (let i = 0; i < n; i++) perm.set([i], i);
  for (let k = 0; k < n; k++) {
    let p = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a.get(i, k)) > Math.abs(a.get(p, k))) p = i;
    if (a.get(p, k) === 0) return -1;
    if (p !== k) {
      for (let j = 0; j < n; j++) {
        const t = a.get(k, j);
        a.set([k, j], a.get(p, j));
        a.set([p, j], t);
      }
      const t = perm.get(k);
      perm.set([k], perm.get(p));
      perm.set([p], t);
      swaps++;
    }
    for (let i = k + 1; i < n; i++) {
      const f = a.get(i, k) / a.get(k, k);
      a.set([i, k], f);
      for (let j = k + 1; j < n; j++) a.set([i, j], a.get(i, j) - f * a.get(k, j));
    }
  }
  return swaps;
});

const compaction = njit((out: Int32Array, x: Float64Array, limit: number) => {
  let k = 0;
  for (let i = 0; i < x.length; i++) if (x[i] > limit) out[k++] = i;
  return k;
});

const prefixSum = njit((out, x) => {
  let sum = 0n;
  for (let i = 0; i < x.shape[0]; i++) {
    sum += x.get(i) as unknown as bigint;
    out.set([i], sum);
  }
  return sum;
});

const sieve = njit((prime: Uint8Array) => {
  const n = prime.length;
  for (let i = 2; i < n; i++) prime[i] = 1;
  for (let i = 2; i * i < n; i++) {
    if (!prime[i]) continue;
    for (let j = i * i; j < n; j += i) prime[j] = 0;
  }
  let count = 0;
  for (let i = 0; i < n; i++) count += prime[i];
  return count;
});

const labels = njit((label, image) => {
  const [h, w] = image.shape;
  const find = (x: number) => {
    let root = x;
    while (label.get(root) !== root) root = label.get(root);
    return root;
  };
  const join = (x: number, y: number) => {
    const a = find(x);
    const b = find(y);
    if (a < b) label.set([b], a);
    else label.set([a], b);
  };
  for (let i = 0; i < h * w; i++) label.set([i], i);
  for (let i = 0; i < h; i++) {
    for (let j = 0; j < w; j++) {
      if (!image.get(i, j)) continue;
      if (i > 0 && image.get(i - 1, j)) join(i * w + j, (i - 1) * w + j);
      if (j > 0 && image.get(i, j - 1)) join(i * w + j, i * w + j - 1);
    }
  }
  let count = 0;
  for (let i = 0; i < h * w; i++) {
    label.set([i], find(i));
    if (image.get(Math.floor(i / w), i % w) && label.get(i) === i) count++;
  }
  return count;
});

const smithWaterman = njit((score, a, b, gap) => {
  let [best, bi, bj] = [0, 0, 0];
  for (let i = 1; i < score.shape[0]; i++) {
    for (let j = 1; j < score.shape[1]; j++) {
      const same = a.get(i - 1) === b.get(j - 1) ? 3 : -2;
      const s = Math.max(
        0,
        score.get(i - 1, j - 1) + same,
        score.get(i - 1, j) - gap,
        score.get(i, j - 1) - gap,
      );
      score.set([i, j], s);
      if (s > best) {
        best = s;
        bi = i;
        bj = j;
      }
    }
  }
  return [best, bi, bj];
});

const kmeans = njit((centres, sums, counts, points, owner) => {
  const [n, d] = points.shape;
  const k = centres.shape[0];
  let moved = 0;
  for (let c = 0; c < k; c++) {
    counts.set([c], 0);
    for (let e = 0; e < d; e++) sums.set([c, e], 0);
  }
  for (let i = 0; i < n; i++) {
    let [best, at] = [Infinity, 0];
    for (let c = 0; c < k; c++) {
      let dist = 0;
      for (let e = 0; e < d; e++) dist += (points.get(i, e) - centres.get(c, e)) ** 2;
      if (dist < best) [best, at] = [dist, c];
    }
    if (owner.get(i) !== at) moved += 1;
    owner.set([i], at);
    counts.set([at], counts.get(at) + 1);
    for (let e = 0; e < d; e++) sums.set([at, e], sums.get(at, e) + points.get(i, e));
  }
  for (let c = 0; c < k; c++) {
    const m = counts.get(c);
    if (m > 0) for (let e = 0; e < d; e++) centres.set([c, e], sums.get(c, e) / m);
  }
  return moved;
});

const perlin = njit((out, table, scale, { prange }) => {
  const fade = (t: number) => t * t * t * (t * (t * 6 - 15) + 10);
  const grad = (hash: number, x: number, y: number) => {
    const u = hash & 1 ? x : -x;
    return (hash & 2 ? y : -y) + u;
  };
  const mix = (t: number, a: number, b: number) => a + t * (b - a);
  for (const i of prange(out.shape[0])) {
    for (let j = 0; j < out.shape[1]; j++) {
      const [x, y] = [j * scale, i * scale];
      const [xi, yi] = [Math.floor(x) & 255, Math.floor(y) & 255];
      const [xf, yf] = [x - Math.floor(x), y - Math.floor(y)];
      const aa = table.get((table.get(xi) + yi) & 255);
      const ab = table.get((table.get(xi) + yi + 1) & 255);
      const ba = table.get((table.get((xi + 1) & 255) + yi) & 255);
      const bb = table.get((table.get((xi + 1) & 255) + yi + 1) & 255);
      const [u, v] = [fade(xf), fade(yf)];
      const low = mix(u, grad(aa, xf, yf), grad(ba, xf - 1, yf));
      out.set([i, j], mix(v, low, mix(u, grad(ab, xf, yf - 1), grad(bb, xf - 1, yf - 1))));
    }
  }
});

const bytes = (n: number, seed: number, kinds = 4) => {
  const draw = draws(seed);
  return Uint8Array.from({ length: n }, () => Math.floor(draw() * kinds));
};
const floats = (n: number, seed: number) => {
  const draw = draws(seed);
  return Float64Array.from({ length: n }, () => draw() - 0.5);
};
const i32 = (...shape: number[]) => zeros(shape, { dtype: "i32" });

export const programs: readonly ClassicProgram[] = [
  { name: "Mandelbrot", fn: mandelbrot, make: () => [i32(20, 30), -2.1, -1.2, 0.1, 60] },
  { name: "Newton fractal", fn: newton, make: () => [zeros([24, 24], { dtype: "i8" }), 24] },
  {
    name: "matmul ijk",
    fn: matmulIjk,
    make: () => [f64(7, 9), randomTensor([5, 7], "f64", 1).T, randomTensor([10, 9], "f64", 2).slice("::2")],
  },
  {
    name: "matmul ikj",
    fn: matmulIkj,
    make: () => [f64(8, 9), randomTensor([8, 6], "f64", 3), randomTensor([6, 9], "f64", 4).flip(0)],
  },
  {
    name: "matmul kij",
    fn: matmulKij,
    make: () => [f64(9, 8).T, randomTensor([8, 6], "i16", 5, 100), randomTensor([6, 9], "f64", 6)],
  },
  { name: "heat equation", fn: heat, make: () => [randomTensor([12, 13], "f64", 7), f64(12, 13), 5] },
  {
    name: "game of life",
    fn: life,
    make: () => [zeros([9, 11], { dtype: "u8" }), randomTensor([9, 11], "u8", 8, 2)],
  },
  {
    name: "n-body",
    fn: nbody,
    make: () => [randomTensor([6, 3], "f64", 9), f64(6, 3), randomTensor([6], "f64", 10), 0.01, 7],
  },
  { name: "Floyd–Warshall", fn: floydWarshall, make: () => [randomTensor([15, 15], "f64", 11, 10)] },
  { name: "edit distance", fn: editDistance, make: () => [bytes(20, 12), bytes(25, 13), new Int32Array(26)] },
  {
    name: "biquad filter",
    fn: biquad,
    make: () => [f64(50), randomTensor([100], "f64", 14).slice("::-2"), 0.2, 0.4, 0.2, -0.3, 0.1],
  },
  {
    name: "k nearest neighbours",
    fn: nearest,
    make: () => [i32(7, 3), randomTensor([40, 3], "f64", 15), randomTensor([7, 3], "f64", 16)],
  },
  {
    name: "histogram",
    fn: histogram,
    make: () => [zeros([10], { dtype: "u32" }), randomTensor([200], "f64", 17, 1.2), 0, 1],
  },
  {
    name: "bilateral filter",
    fn: bilateral,
    make: () => [f64(9, 10), randomTensor([9, 10], "f64", 18), 2],
    ulps: 2,
  },
  {
    name: "Black–Scholes",
    fn: blackScholes,
    make: () => [
      f64(30),
      f64(30),
      randomTensor([30], "f64", 19).add(0.5).to("f64"),
      randomTensor([30], "f64", 20).add(0.5).to("f64"),
      randomTensor([30], "f64", 21).add(0.1).to("f64"),
    ],
  },
  { name: "LU", fn: lu, make: () => [randomTensor([9, 9], "f64", 22), i32(9)] },
  { name: "compaction", fn: compaction, make: () => [new Int32Array(60), floats(60, 23), 0.1] },
  {
    name: "prefix sum of i64",
    fn: prefixSum,
    make: () => [zeros([40], { dtype: "i64" }), arange(40, { dtype: "i64" } as never).flip(0) as Tensor],
  },
  { name: "sieve", fn: sieve, make: () => [new Uint8Array(500)] },
  {
    name: "union-find labelling",
    fn: labels,
    make: () => [i32(120), randomTensor([10, 12], "bool", 24, 1).map((x) => x !== 0) as Tensor],
  },
  {
    name: "Smith–Waterman",
    fn: smithWaterman,
    make: () => [i32(21, 16), randomTensor([20], "u8", 25, 4), randomTensor([15], "u8", 26, 4), 1],
  },
  {
    name: "k-means step",
    fn: kmeans,
    make: () => [
      randomTensor([4, 2], "f64", 27),
      f64(4, 2),
      i32(4),
      randomTensor([50, 2], "f64", 28),
      zeros([50], { dtype: "u8" }),
    ],
  },
  {
    name: "Perlin noise",
    fn: perlin,
    make: () => [f64(14, 15), randomTensor([256], "u8", 29, 256), 0.17],
  },
];

export const classic = (name: string): ClassicProgram => programs.find((p) => p.name === name)!;
