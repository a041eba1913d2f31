/**
 * The classic programs of bench/njit.ts as one would write them for speed without a library: typed arrays, flat indices, rows'
 * offsets kept in variables, everything local. Each is given its arrays and the shapes they had, and is called again and again.
 */
type Numbers = Float64Array;
type Shapes = readonly (readonly number[])[];
type Loop = (args: never, shapes: Shapes) => () => void;

function matmulIjk(out: Numbers, a: Numbers, b: Numbers, n: number, k: number, m: number): void {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) {
      let acc = 0;
      for (let p = 0, at = i * k, bt = j; p < k; p++, bt += m) acc += a[at + p] * b[bt];
      out[i * m + j] = acc;
    }
  }
}

function matmulIkj(out: Numbers, a: Numbers, b: Numbers, n: number, k: number, m: number): void {
  for (let i = 0; i < n; i++) {
    const row = i * m;
    for (let j = 0; j < m; j++) out[row + j] = 0;
    for (let p = 0; p < k; p++) {
      const x = a[i * k + p];
      const from = p * m;
      for (let j = 0; j < m; j++) out[row + j] += x * b[from + j];
    }
  }
}

function matmulIkj32(
  out: Float32Array,
  a: Float32Array,
  b: Float32Array,
  n: number,
  k: number,
  m: number,
): void {
  for (let i = 0; i < n; i++) {
    const row = i * m;
    for (let j = 0; j < m; j++) out[row + j] = 0;
    for (let p = 0; p < k; p++) {
      const x = a[i * k + p];
      const from = p * m;
      for (let j = 0; j < m; j++) out[row + j] = out[row + j] + Math.fround(x * b[from + j]);
    }
  }
}

function matmulKij(out: Numbers, a: Numbers, b: Numbers, n: number, k: number, m: number): void {
  for (let p = 0; p < k; p++) {
    const from = p * m;
    for (let i = 0; i < n; i++) {
      const row = i * m;
      const x = a[i * k + p];
      for (let j = 0; j < m; j++) out[row + j] += x * b[from + j];
    }
  }
}

function heat(u: Numbers, v: Numbers, steps: number, n: number, m: number): void {
  for (let t = 0; t < steps; t++) {
    for (let i = 1; i < n - 1; i++) {
      const row = i * m;
      for (let j = row + 1; j < row + m - 1; j++) {
        const here = u[j];
        v[j] = here + 0.1 * (u[j - m] + u[j + m] + u[j - 1] + u[j + 1] - 4 * here);
      }
    }
    for (let i = 1; i < n - 1; i++) {
      const row = i * m;
      for (let j = row + 1; j < row + m - 1; j++) u[j] = v[j];
    }
  }
}

function floyd(d: Numbers, n: number): void {
  for (let k = 0; k < n; k++) {
    const via = k * n;
    for (let i = 0; i < n; i++) {
      const row = i * n;
      const through = d[row + k];
      for (let j = 0; j < n; j++) {
        const other = through + d[via + j];
        if (other < d[row + j]) d[row + j] = other;
      }
    }
  }
}

function lu(a: Numbers, perm: Int32Array, n: number): number {
  let swaps = 0;
  for (let i = 0; i < n; i++) perm[i] = i;
  for (let k = 0; k < n; k++) {
    let p = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[i * n + k]) > Math.abs(a[p * n + k])) p = i;
    if (a[p * n + k] === 0) return -1;
    const top = k * n;
    if (p !== k) {
      const other = p * n;
      for (let j = 0; j < n; j++) {
        const t = a[top + j];
        a[top + j] = a[other + j];
        a[other + j] = t;
      }
      const t = perm[k];
      perm[k] = perm[p];
      perm[p] = t;
      swaps++;
    }
    for (let i = k + 1; i < n; i++) {
      const row = i * n;
      const f = a[row + k] / a[top + k];
      a[row + k] = f;
      for (let j = k + 1; j < n; j++) a[row + j] -= f * a[top + j];
    }
  }
  return swaps;
}

function life(next: Uint8Array, now: Uint8Array, n: number, m: number): number {
  let alive = 0;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) {
      let count = 0;
      for (let di = -1; di <= 1; di++) {
        const row = ((i + di + n) % n) * m;
        for (let dj = -1; dj <= 1; dj++) {
          if (di === 0 && dj === 0) continue;
          count += now[row + ((j + dj + m) % m)];
        }
      }
      const lives = count === 3 || (count === 2 && now[i * m + j] === 1);
      next[i * m + j] = lives ? 1 : 0;
      if (lives) alive++;
    }
  }
  return alive;
}

function bilateral(out: Numbers, image: Numbers, radius: number, h: number, w: number): void {
  for (let i = 0; i < h; i++) {
    for (let j = 0; j < w; j++) {
      let sum = 0;
      let total = 0;
      const here = image[i * w + j];
      const [y0, y1] = [Math.max(0, i - radius), Math.min(h - 1, i + radius)];
      const [x0, x1] = [Math.max(0, j - radius), Math.min(w - 1, j + radius)];
      for (let y = y0; y <= y1; y++) {
        const row = y * w;
        const dy = (y - i) * (y - i);
        for (let x = x0; x <= x1; x++) {
          const v = image[row + x];
          const dv = v - here;
          const k = Math.exp(-(dy + (x - j) * (x - j)) / 8 - (dv * dv) / 0.02);
          sum += k * v;
          total += k;
        }
      }
      out[i * w + j] = sum / total;
    }
  }
}

const cdf = (x: number): number => 1 / (1 + Math.exp(-1.5976 * x - 0.07056 * x * x * x));

function blackScholes(call: Numbers, put: Numbers, price: Numbers, strike: Numbers, time: Numbers): void {
  const [rate, vol] = [0.02, 0.3];
  for (let i = 0; i < price.length; i++) {
    const s = price[i];
    const k = strike[i];
    const t = time[i];
    const root = vol * Math.sqrt(t);
    const d1 = (Math.log(s / k) + (rate + 0.5 * vol * vol) * t) / root;
    const d2 = d1 - root;
    const discount = Math.exp(-rate * t);
    const c = s * cdf(d1) - k * discount * cdf(d2);
    call[i] = c;
    put[i] = c - s + k * discount;
  }
}

function mandelbrot(
  out: Int32Array,
  x0: number,
  y0: number,
  step: number,
  most: number,
  h: number,
  w: number,
): void {
  for (let i = 0; i < h; i++) {
    const cy = y0 + i * step;
    for (let j = 0; j < w; j++) {
      const cx = x0 + j * step;
      let x = 0;
      let y = 0;
      let n = 0;
      while (n < most && x * x + y * y <= 4) {
        const t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        n++;
      }
      out[i * w + j] = n;
    }
  }
}

const rootX = Float64Array.of(1, -0.5, -0.5);
const rootY = Float64Array.of(0, 0.8660254037844386, -0.8660254037844386);

function newtonRoot(startX: number, startY: number): number {
  let x = startX;
  let y = startY;
  for (let k = 0; k < 30; k++) {
    for (let r = 0; r < 3; r++) {
      const dx = x - rootX[r];
      const dy = y - rootY[r];
      if (dx * dx + dy * dy < 1e-6) return r;
    }
    const a = x * x - y * y;
    const b = 2 * x * y;
    const d = 3 * (a * a + b * b);
    if (d === 0) return -1;
    const p = x * a - y * b - 1;
    const q = x * b + y * a;
    x -= (p * a + q * b) / d;
    y -= (q * a - p * b) / d;
  }
  return -1;
}

function nbody(pos: Numbers, vel: Numbers, mass: Numbers, dt: number, steps: number): void {
  const n = mass.length;
  for (let s = 0; s < steps; s++) {
    for (let i = 0; i < n; i++) {
      let ax = 0;
      let ay = 0;
      let az = 0;
      const px = pos[3 * i];
      const py = pos[3 * i + 1];
      const pz = pos[3 * i + 2];
      for (let j = 0; j < n; j++) {
        if (i === j) continue;
        const dx = pos[3 * j] - px;
        const dy = pos[3 * j + 1] - py;
        const dz = pos[3 * j + 2] - pz;
        const d2 = dx * dx + dy * dy + dz * dz + 0.01;
        const k = mass[j] / (d2 * Math.sqrt(d2));
        ax += k * dx;
        ay += k * dy;
        az += k * dz;
      }
      vel[3 * i] += dt * ax;
      vel[3 * i + 1] += dt * ay;
      vel[3 * i + 2] += dt * az;
    }
    for (let i = 0; i < 3 * n; i++) pos[i] += dt * vel[i];
  }
}

function editDistance(a: Uint8Array, b: Uint8Array, row: Int32Array): number {
  for (let j = 0; j <= b.length; j++) row[j] = j;
  for (let i = 1; i <= a.length; i++) {
    let diagonal = row[0];
    row[0] = i;
    const letter = a[i - 1];
    let left = i;
    for (let j = 1; j <= b.length; j++) {
      const above = row[j];
      const change = letter === b[j - 1] ? diagonal : diagonal + 1;
      const insert = (above < left ? above : left) + 1;
      left = change < insert ? change : insert;
      row[j] = left;
      diagonal = above;
    }
  }
  return row[b.length];
}

function biquad(out: Numbers, x: Numbers, b0: number, b1: number, b2: number, a1: number, a2: number): void {
  let z1 = 0;
  let z2 = 0;
  for (let i = 0; i < x.length; i++) {
    const v = x[i];
    const y = b0 * v + z1;
    z1 = b1 * v - a1 * y + z2;
    z2 = b2 * v - a2 * y;
    out[i] = y;
  }
}

function nearest(out: Int32Array, points: Numbers, queries: Numbers, n: number, d: number): void {
  const best = new Float64Array(3);
  const who = new Int32Array(3);
  for (let q = 0; q < queries.length / d; q++) {
    best.fill(Infinity);
    who.fill(-1);
    for (let i = 0; i < n; i++) {
      let dist = 0;
      for (let k = 0; k < d; k++) {
        const t = points[i * d + k] - queries[q * d + k];
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
    for (let k = 0; k < 3; k++) out[q * 3 + k] = who[k];
  }
}

function histogram(counts: Uint32Array, x: Numbers, lo: number, hi: number): number {
  const bins = counts.length;
  let outside = 0;
  for (let i = 0; i < x.length; i++) {
    const at = Math.floor(((x[i] - lo) / (hi - lo)) * bins);
    if (at >= 0 && at < bins) counts[at]++;
    else outside++;
  }
  return outside;
}

function compaction(out: Int32Array, x: Numbers, limit: number): number {
  let k = 0;
  for (let i = 0; i < x.length; i++) if (x[i] > limit) out[k++] = i;
  return k;
}

function prefixSum(out: BigInt64Array, x: BigInt64Array): bigint {
  let sum = 0n;
  for (let i = 0; i < x.length; i++) {
    sum = BigInt.asIntN(64, sum + x[i]);
    out[i] = sum;
  }
  return sum;
}

function sieve(prime: Uint8Array): number {
  const n = prime.length;
  for (let i = 2; i < n; i++) prime[i] = 1;
  for (let i = 2; i * i < n; i++) {
    if (!prime[i]) continue;
    for (let j = i * i; j < n; j += i) prime[j] = 0;
  }
  let count = 0;
  for (let i = 0; i < n; i++) count += prime[i];
  return count;
}

function find(label: Int32Array, x: number): number {
  let root = x;
  while (label[root] !== root) root = label[root];
  return root;
}

function join(label: Int32Array, x: number, y: number): void {
  const a = find(label, x);
  const b = find(label, y);
  if (a < b) label[b] = a;
  else label[a] = b;
}

function labelling(label: Int32Array, image: Uint8Array, h: number, w: number): number {
  for (let i = 0; i < h * w; i++) label[i] = i;
  for (let i = 0; i < h; i++) {
    for (let j = 0; j < w; j++) {
      const at = i * w + j;
      if (!image[at]) continue;
      if (i > 0 && image[at - w]) join(label, at, at - w);
      if (j > 0 && image[at - 1]) join(label, at, at - 1);
    }
  }
  let count = 0;
  for (let i = 0; i < h * w; i++) {
    label[i] = find(label, i);
    if (image[i] && label[i] === i) count++;
  }
  return count;
}

function smithWaterman(
  score: Int32Array,
  a: Uint8Array,
  b: Uint8Array,
  gap: number,
  h: number,
  w: number,
): number {
  let best = 0;
  for (let i = 1; i < h; i++) {
    const row = i * w;
    for (let j = 1; j < w; j++) {
      const same = a[i - 1] === b[j - 1] ? 3 : -2;
      const s = Math.max(
        0,
        score[row - w + j - 1] + same,
        score[row - w + j] - gap,
        score[row + j - 1] - gap,
      );
      score[row + j] = s;
      if (s > best) best = s;
    }
  }
  return best;
}

function kmeans(
  centres: Numbers,
  sums: Numbers,
  counts: Int32Array,
  points: Numbers,
  owner: Uint8Array,
  d: number,
): number {
  const k = counts.length;
  let moved = 0;
  counts.fill(0);
  sums.fill(0);
  for (let i = 0; i < owner.length; i++) {
    let best = Infinity;
    let at = 0;
    for (let c = 0; c < k; c++) {
      let dist = 0;
      for (let e = 0; e < d; e++) {
        const t = points[i * d + e] - centres[c * d + e];
        dist += t * t;
      }
      if (dist < best) {
        best = dist;
        at = c;
      }
    }
    if (owner[i] !== at) moved++;
    owner[i] = at;
    counts[at]++;
    for (let e = 0; e < d; e++) sums[at * d + e] += points[i * d + e];
  }
  for (let c = 0; c < k; c++) {
    if (counts[c] > 0) for (let e = 0; e < d; e++) centres[c * d + e] = sums[c * d + e] / counts[c];
  }
  return moved;
}

const fade = (t: number): number => t * t * t * (t * (t * 6 - 15) + 10);
const grad = (hash: number, x: number, y: number): number => (hash & 2 ? y : -y) + (hash & 1 ? x : -x);
const mix = (t: number, a: number, b: number): number => a + t * (b - a);

function perlin(out: Numbers, table: Uint8Array, scale: number, h: number, w: number): void {
  for (let i = 0; i < h; i++) {
    const y = i * scale;
    const yi = Math.floor(y) & 255;
    const yf = y - Math.floor(y);
    const v = fade(yf);
    for (let j = 0; j < w; j++) {
      const x = j * scale;
      const xi = Math.floor(x) & 255;
      const xf = x - Math.floor(x);
      const aa = table[(table[xi] + yi) & 255];
      const ab = table[(table[xi] + yi + 1) & 255];
      const ba = table[(table[(xi + 1) & 255] + yi) & 255];
      const bb = table[(table[(xi + 1) & 255] + yi + 1) & 255];
      const u = fade(xf);
      const low = mix(u, grad(aa, xf, yf), grad(ba, xf - 1, yf));
      out[i * w + j] = mix(v, low, mix(u, grad(ab, xf, yf - 1), grad(bb, xf - 1, yf - 1)));
    }
  }
}

type A = readonly Numbers[];
type Mixed = readonly never[];

export const loops: Readonly<Record<string, Loop>> = {
  "matmul ijk":
    ([out, a, b]: A, [, [n, k], [, m]]) =>
    () =>
      matmulIjk(out, a, b, n, k, m),
  "matmul ikj": ([out, a, b]: Mixed, [, [n, k], [, m]]) => {
    const run = (out as unknown) instanceof Float32Array ? matmulIkj32 : matmulIkj;
    return () => run(out, a, b, n, k, m);
  },
  "matmul kij":
    ([out, a, b]: A, [, [n, k], [, m]]) =>
    () =>
      matmulKij(out, a, b, n, k, m),
  "heat equation":
    ([u, v, steps]: Mixed, [[n, m]]) =>
    () =>
      heat(u, v, steps, n, m),
  "Floyd–Warshall":
    ([d]: A, [[n]]) =>
    () =>
      floyd(d, n),
  LU:
    ([a, perm]: Mixed, [[n]]) =>
    () =>
      lu(a, perm, n),
  "game of life":
    ([next, now]: Mixed, [[n, m]]) =>
    () =>
      life(next, now, n, m),
  "bilateral filter":
    ([out, image, radius]: Mixed, [[h, w]]) =>
    () =>
      bilateral(out, image, radius, h, w),
  "Black–Scholes":
    ([call, put, price, strike, time]: A) =>
    () =>
      blackScholes(call, put, price, strike, time),
  Mandelbrot:
    ([out, x0, y0, step, most]: Mixed, [[h, w]]) =>
    () =>
      mandelbrot(out, x0, y0, step, most, h, w),
  "Newton fractal":
    ([out, n]: readonly [Int8Array, number]) =>
    () => {
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) out[i * n + j] = newtonRoot(-2 + (4 * j) / n, -2 + (4 * i) / n);
      }
    },
  "n-body":
    ([pos, vel, mass, dt, steps]: Mixed) =>
    () =>
      nbody(pos, vel, mass, dt, steps),
  "edit distance":
    ([a, b, row]: Mixed) =>
    () =>
      editDistance(a, b, row),
  "biquad filter":
    ([out, x, b0, b1, b2, a1, a2]: Mixed) =>
    () =>
      biquad(out, x, b0, b1, b2, a1, a2),
  "k nearest neighbours":
    ([out, points, queries]: Mixed, [, [n, d]]) =>
    () =>
      nearest(out, points, queries, n, d),
  histogram:
    ([counts, x, lo, hi]: Mixed) =>
    () =>
      histogram(counts, x, lo, hi),
  compaction:
    ([out, x, limit]: Mixed) =>
    () =>
      compaction(out, x, limit),
  "prefix sum of i64":
    ([out, x]: Mixed) =>
    () =>
      prefixSum(out, x),
  sieve:
    ([prime]: Mixed) =>
    () =>
      sieve(prime),
  "union-find labelling":
    ([label, image]: Mixed, [, [h, w]]) =>
    () =>
      labelling(label, image, h, w),
  "Smith–Waterman":
    ([score, a, b, gap]: Mixed, [[h, w]]) =>
    () =>
      smithWaterman(score, a, b, gap, h, w),
  "k-means step":
    ([centres, sums, counts, points, owner]: Mixed, [[, d]]) =>
    () =>
      kmeans(centres, sums, counts, points, owner, d),
  "Perlin noise":
    ([out, t, scale]: Mixed, [[h, w]]) =>
    () =>
      perlin(out, t, scale, h, w),
};
