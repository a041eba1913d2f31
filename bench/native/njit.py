"""Numba's side of `npm run bench -- njit`: a line of JSON in, a line out. {"prepare": name} compiles a program, runs it once
and answers with samples of its results; {"run": times, "cpu": …} answers with milliseconds a call. `name:best` is the form
that suits LLVM best, where one was found that is faster than the program as written."""
import json
import math
import sys
import time

import numba
import numpy as np

njit = numba.njit(error_model="numpy", boundscheck=False)
clocks = {False: time.perf_counter, True: time.process_time}


def values(*shape, scale=1.0, seed=0):
    bits = (np.arange(int(np.prod(shape)), dtype=np.uint32) + np.uint32(seed * 7919 + 1)) * np.uint32(0x9E3779B1)
    bits = (bits ^ (bits >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    bits = (bits ^ (bits >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return ((bits ^ (bits >> np.uint32(16))) >> np.uint32(12)).reshape(shape) / 2.0**20 * scale


@njit
def mandelbrot(out, x0, y0, step, most):
    h, w = out.shape
    for i in range(h):
        for j in range(w):
            cx = x0 + j * step
            cy = y0 + i * step
            x = 0.0
            y = 0.0
            n = 0
            while n < most and x * x + y * y <= 4:
                t = x * x - y * y + cx
                y = 2 * x * y + cy
                x = t
                n += 1
            out[i, j] = n


@njit
def newton(out, n):
    root_x = np.array([1.0, -0.5, -0.5])
    root_y = np.array([0.0, 0.8660254037844386, -0.8660254037844386])
    for i in range(n):
        for j in range(n):
            x = -2 + (4 * j) / n
            y = -2 + (4 * i) / n
            found = -1
            for _ in range(30):
                for r in range(3):
                    dx = x - root_x[r]
                    dy = y - root_y[r]
                    if dx * dx + dy * dy < 1e-6:
                        found = r
                        break
                if found >= 0:
                    break
                a = x * x - y * y
                b = 2 * x * y
                d = 3 * (a * a + b * b)
                if d == 0:
                    break
                p = x * a - y * b - 1
                q = x * b + y * a
                x -= (p * a + q * b) / d
                y -= (q * a - p * b) / d
            out[i, j] = found


@njit
def matmul_ijk(out, a, b):
    n, k = a.shape
    for i in range(n):
        for j in range(b.shape[1]):
            acc = 0.0
            for p in range(k):
                acc += a[i, p] * b[p, j]
            out[i, j] = acc


@njit
def matmul_ikj(out, a, b):
    n, k = a.shape
    m = b.shape[1]
    for i in range(n):
        for j in range(m):
            out[i, j] = 0
        for p in range(k):
            x = a[i, p]
            for j in range(m):
                out[i, j] = out[i, j] + x * b[p, j]


@njit
def axpy(y, x, b):
    for j in range(b.shape[0]):
        y[j] = y[j] + x * b[j]


@njit
def matmul_ikj_best(out, a, b):
    n, k = a.shape
    for i in range(n):
        out[i, :] = 0
        for p in range(k):
            axpy(out[i], a[i, p], b[p])


@njit
def matmul_kij(out, a, b):
    n, k = a.shape
    m = b.shape[1]
    for p in range(k):
        for i in range(n):
            for j in range(m):
                out[i, j] = out[i, j] + a[i, p] * b[p, j]


@njit
def heat(u, v, steps):
    n, m = u.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                v[i, j] = u[i, j] + 0.1 * (around - 4 * u[i, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = v[i, j]


@njit
def heat_row(v, above, here, below):
    for j in range(1, here.shape[0] - 1):
        around = above[j] + below[j] + here[j - 1] + here[j + 1]
        v[j] = here[j] + 0.1 * (around - 4 * here[j])


@njit
def copy_row(u, v):
    for j in range(1, u.shape[0] - 1):
        u[j] = v[j]


@njit
def heat_best(u, v, steps):
    n = u.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            heat_row(v[i], u[i - 1], u[i], u[i + 1])
        for i in range(1, n - 1):
            copy_row(u[i], v[i])


@njit
def life(after, now):
    n, m = now.shape
    alive = 0
    for i in range(n):
        for j in range(m):
            count = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di == 0 and dj == 0:
                        continue
                    count += now[(i + di + n) % n, (j + dj + m) % m]
            lives = count == 3 or (count == 2 and now[i, j] == 1)
            after[i, j] = 1 if lives else 0
            if lives:
                alive += 1
    return alive


@njit
def nbody(pos, vel, mass, dt, steps):
    n = mass.shape[0]
    for _ in range(steps):
        for i in range(n):
            ax = 0.0
            ay = 0.0
            az = 0.0
            for j in range(n):
                if i == j:
                    continue
                dx = pos[j, 0] - pos[i, 0]
                dy = pos[j, 1] - pos[i, 1]
                dz = pos[j, 2] - pos[i, 2]
                d2 = dx * dx + dy * dy + dz * dz + 0.01
                k = mass[j] / (d2 * math.sqrt(d2))
                ax += k * dx
                ay += k * dy
                az += k * dz
            vel[i, 0] += dt * ax
            vel[i, 1] += dt * ay
            vel[i, 2] += dt * az
        for i in range(n):
            for k in range(3):
                pos[i, k] += dt * vel[i, k]


@njit
def floyd(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            through = d[i, k]
            for j in range(n):
                other = through + d[k, j]
                if other < d[i, j]:
                    d[i, j] = other


@njit
def floyd_row(row, through, via):
    for j in range(row.shape[0]):
        row[j] = min(row[j], through + via[j])


@njit
def floyd_best(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            floyd_row(d[i], d[i, k], d[k])


@njit
def edit(a, b, row):
    for j in range(b.shape[0] + 1):
        row[j] = j
    for i in range(1, a.shape[0] + 1):
        diagonal = row[0]
        row[0] = i
        for j in range(1, b.shape[0] + 1):
            above = row[j]
            cost = 0 if a[i - 1] == b[j - 1] else 1
            row[j] = min(above + 1, row[j - 1] + 1, diagonal + cost)
            diagonal = above
    return row[b.shape[0]]


@njit
def biquad(out, x, b0, b1, b2, a1, a2):
    z1 = 0.0
    z2 = 0.0
    for i in range(x.shape[0]):
        v = x[i]
        y = b0 * v + z1
        z1 = b1 * v - a1 * y + z2
        z2 = b2 * v - a2 * y
        out[i] = y


@njit
def nearest(out, points, queries):
    n, d = points.shape
    best = np.empty(3)
    who = np.empty(3, np.int64)
    for q in range(queries.shape[0]):
        for k in range(3):
            best[k] = np.inf
            who[k] = -1
        for i in range(n):
            dist = 0.0
            for k in range(d):
                t = points[i, k] - queries[q, k]
                dist += t * t
            if dist >= best[2]:
                continue
            at = 2
            while at > 0 and dist < best[at - 1]:
                best[at] = best[at - 1]
                who[at] = who[at - 1]
                at -= 1
            best[at] = dist
            who[at] = i
        for k in range(3):
            out[q, k] = who[k]


@njit
def histogram(counts, x, lo, hi):
    bins = counts.shape[0]
    outside = 0
    for i in range(x.shape[0]):
        at = math.floor((x[i] - lo) / (hi - lo) * bins)
        if at >= 0 and at < bins:
            counts[at] += 1
        else:
            outside += 1
    return outside


@njit
def bilateral(out, image, radius):
    h, w = image.shape
    for i in range(h):
        for j in range(w):
            total = 0.0
            weight = 0.0
            here = image[i, j]
            for y in range(max(0, i - radius), min(h - 1, i + radius) + 1):
                for x in range(max(0, j - radius), min(w - 1, j + radius) + 1):
                    v = image[y, x]
                    d2 = (y - i) * (y - i) + (x - j) * (x - j)
                    dv = v - here
                    k = math.exp(-d2 / 8 - (dv * dv) / 0.02)
                    total += k * v
                    weight += k
            out[i, j] = total / weight


@njit
def cdf(x):
    return 1 / (1 + math.exp(-1.5976 * x - 0.07056 * x * x * x))


@njit
def black_scholes(call, put, price, strike, years, rate, vol):
    for i in range(price.shape[0]):
        s = price[i]
        k = strike[i]
        t = years[i]
        root = vol * math.sqrt(t)
        d1 = (math.log(s / k) + (rate + 0.5 * vol * vol) * t) / root
        d2 = d1 - root
        discount = math.exp(-rate * t)
        c = s * cdf(d1) - k * discount * cdf(d2)
        call[i] = c
        put[i] = c - s + k * discount


@njit
def lu(a, perm):
    n = a.shape[0]
    swaps = 0
    for i in range(n):
        perm[i] = i
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if a[p, k] == 0:
            return -1
        if p != k:
            for j in range(n):
                t = a[k, j]
                a[k, j] = a[p, j]
                a[p, j] = t
            s = perm[k]
            perm[k] = perm[p]
            perm[p] = s
            swaps += 1
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k] = f
            for j in range(k + 1, n):
                a[i, j] = a[i, j] - f * a[k, j]
    return swaps


@njit
def compaction(out, x, limit):
    k = 0
    for i in range(x.shape[0]):
        if x[i] > limit:
            out[k] = i
            k += 1
    return k


@njit
def prefix_sum(out, x):
    total = 0
    for i in range(x.shape[0]):
        total += x[i]
        out[i] = total
    return total


@njit
def sieve(prime):
    n = prime.shape[0]
    for i in range(2, n):
        prime[i] = 1
    i = 2
    while i * i < n:
        if prime[i]:
            for j in range(i * i, n, i):
                prime[j] = 0
        i += 1
    count = 0
    for i in range(n):
        count += prime[i]
    return count


@njit
def find(label, x):
    while label[x] != x:
        x = label[x]
    return x


@njit
def join(label, x, y):
    a = find(label, x)
    b = find(label, y)
    if a < b:
        label[b] = a
    else:
        label[a] = b


@njit
def labelling(label, image):
    h, w = image.shape
    for i in range(h * w):
        label[i] = i
    for i in range(h):
        for j in range(w):
            if not image[i, j]:
                continue
            if i > 0 and image[i - 1, j]:
                join(label, i * w + j, (i - 1) * w + j)
            if j > 0 and image[i, j - 1]:
                join(label, i * w + j, i * w + j - 1)
    count = 0
    for i in range(h * w):
        label[i] = find(label, i)
        if image[i // w, i % w] and label[i] == i:
            count += 1
    return count


@njit
def smith_waterman(score, a, b, gap):
    best = 0
    bi = 0
    bj = 0
    for i in range(1, score.shape[0]):
        for j in range(1, score.shape[1]):
            same = 3 if a[i - 1] == b[j - 1] else -2
            s = max(0, score[i - 1, j - 1] + same, score[i - 1, j] - gap, score[i, j - 1] - gap)
            score[i, j] = s
            if s > best:
                best = s
                bi = i
                bj = j
    return best, bi, bj


@njit
def kmeans(centres, sums, counts, points, owner):
    n, d = points.shape
    k = centres.shape[0]
    moved = 0
    for c in range(k):
        counts[c] = 0
        for e in range(d):
            sums[c, e] = 0
    for i in range(n):
        best = np.inf
        at = 0
        for c in range(k):
            dist = 0.0
            for e in range(d):
                dist += (points[i, e] - centres[c, e]) ** 2
            if dist < best:
                best = dist
                at = c
        if owner[i] != at:
            moved += 1
        owner[i] = at
        counts[at] += 1
        for e in range(d):
            sums[at, e] += points[i, e]
    for c in range(k):
        if counts[c] > 0:
            for e in range(d):
                centres[c, e] = sums[c, e] / counts[c]
    return moved


@njit
def fade(t):
    return t * t * t * (t * (t * 6 - 15) + 10)


@njit
def grad(h, x, y):
    u = x if h & 1 else -x
    return (y if h & 2 else -y) + u


@njit
def mix(t, a, b):
    return a + t * (b - a)


@njit
def perlin(out, table, scale):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            x = j * scale
            y = i * scale
            xi = int(math.floor(x)) & 255
            yi = int(math.floor(y)) & 255
            xf = x - math.floor(x)
            yf = y - math.floor(y)
            aa = table[(int(table[xi]) + yi) & 255]
            ab = table[(int(table[xi]) + yi + 1) & 255]
            ba = table[(int(table[(xi + 1) & 255]) + yi) & 255]
            bb = table[(int(table[(xi + 1) & 255]) + yi + 1) & 255]
            u = fade(xf)
            v = fade(yf)
            low = mix(u, grad(aa, xf, yf), grad(ba, xf - 1, yf))
            out[i, j] = mix(v, low, mix(u, grad(ab, xf, yf - 1), grad(bb, xf - 1, yf - 1)))


def f64(*shape):
    return np.zeros(shape)


def i32(*shape):
    return np.zeros(shape, np.int32)


def products(fn, dtype=np.float64):
    a, b = values(400, 400, seed=1).astype(dtype), values(400, 400, seed=2).astype(dtype)
    out = np.zeros((400, 400), dtype)

    def run():
        out[:] = 0
        fn(out, a, b)

    return run, out


def inPlace(fn, make, *args):
    first = make()
    work = first.copy()

    def run():
        work[:] = first
        fn(work, *args)

    return run, work


def simple(fn, out, *args):
    return (lambda: fn(out, *args)), out


def edits():
    a = np.floor(values(3000, scale=4, seed=3)).astype(np.uint8)
    b = np.floor(values(3000, scale=4, seed=4)).astype(np.uint8)
    row = i32(3001)
    return (lambda: edit(a, b, row)), row


def histograms():
    counts = np.zeros(256, np.uint32)
    x = values(4_000_000, scale=1.2, seed=5)

    def run():
        counts[:] = 0
        histogram(counts, x, 0.0, 1.0)

    return run, counts


def bodies():
    first, mass = values(1000, 3, seed=6), values(1000, seed=7)
    pos, vel = first.copy(), f64(1000, 3)

    def run():
        pos[:] = first
        vel[:] = 0
        nbody(pos, vel, mass, 0.01, 1)

    return run, pos


def clusters():
    first = values(16, 4, seed=8)
    centres, sums, counts = first.copy(), f64(16, 4), i32(16)
    points, owner = values(50_000, 4, seed=9), np.zeros(50_000, np.uint8)

    def run():
        centres[:] = first
        owner[:] = 0
        kmeans(centres, sums, counts, points, owner)

    return run, centres


def heats(fn):
    first = values(512, 512, seed=10)
    u, v = first.copy(), f64(512, 512)

    def run():
        u[:] = first
        fn(u, v, 50)

    return run, u


def options():
    n = 500_000
    call, put = f64(n), f64(n)
    args = [values(n, seed=s) + 0.5 for s in (11, 12)] + [values(n, seed=13) + 0.1]
    return (lambda: black_scholes(call, put, *args, 0.02, 0.3)), call


workloads = {
    "Mandelbrot": lambda: simple(mandelbrot, i32(300, 400), -2.1, -1.2, 0.0078, 200),
    "Newton fractal": lambda: simple(newton, np.zeros((200, 200), np.int8), 200),
    "matmul ijk": lambda: products(matmul_ijk),
    "matmul ikj": lambda: products(matmul_ikj),
    "matmul ikj:best": lambda: products(matmul_ikj_best),
    "matmul ikj, f32": lambda: products(matmul_ikj, np.float32),
    "matmul ikj, f32:best": lambda: products(matmul_ikj_best, np.float32),
    "matmul kij": lambda: products(matmul_kij),
    "heat equation": lambda: heats(heat),
    "heat equation:best": lambda: heats(heat_best),
    "game of life": lambda: simple(life, np.zeros((700, 700), np.uint8), np.floor(values(700, 700, scale=2, seed=14)).astype(np.uint8)),
    "n-body": bodies,
    "Floyd–Warshall": lambda: inPlace(floyd, lambda: values(400, 400, scale=10, seed=15)),
    "Floyd–Warshall:best": lambda: inPlace(floyd_best, lambda: values(400, 400, scale=10, seed=15)),
    "edit distance": edits,
    "biquad filter": lambda: simple(biquad, f64(2_000_000), values(2_000_000, seed=16), 0.2, 0.4, 0.2, -0.3, 0.1),
    "k nearest neighbours": lambda: simple(nearest, i32(100, 3), values(20_000, 3, seed=17), values(100, 3, seed=18)),
    "histogram": histograms,
    "bilateral filter": lambda: simple(bilateral, f64(200, 200), values(200, 200, seed=19), 3),
    "Black–Scholes": options,
    "LU": lambda: inPlace(lu, lambda: values(400, 400, seed=20), i32(400)),
    "compaction": lambda: simple(compaction, i32(4_000_000), values(4_000_000, seed=21), 0.6),
    "prefix sum of i64": lambda: simple(prefix_sum, np.zeros(2_000_000, np.int64), np.arange(2_000_000)),
    "sieve": lambda: simple(sieve, np.zeros(5_000_000, np.uint8)),
    "union-find labelling": lambda: simple(labelling, i32(700 * 700), values(700, 700, seed=22) < 0.55),
    "Smith–Waterman": lambda: simple(smith_waterman, i32(2001, 2001), np.floor(values(2000, scale=4, seed=23)).astype(np.uint8), np.floor(values(2000, scale=4, seed=24)).astype(np.uint8), 1),
    "k-means step": clusters,
    "Perlin noise": lambda: simple(perlin, f64(500, 500), np.floor(values(256, scale=256, seed=25)).astype(np.uint8), 0.017),
}

for line in sys.stdin:
    request = json.loads(line)
    if "prepare" in request:
        made = workloads.get(request["prepare"])
        answer = None
        if made is not None:
            run, out = made()
            run()
            flat = np.asarray(out).ravel()
            answer = [float(flat[(k * 7919) % flat.size]) for k in range(64)]
    else:
        clock = clocks[request["cpu"]]
        start = clock()
        for _ in range(request["run"]):
            run()
        answer = (clock() - start) * 1000 / request["run"]
    print(json.dumps(answer), flush=True)
