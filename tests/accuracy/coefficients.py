"""Derives the polynomial coefficients of src/optimize/math/*.ts.

    python3 tests/accuracy/coefficients.py [name ...]

Each row approximates g(z) by sum c[j] z^j on [lo, hi], with the largest w(z) * |error| as small as possible
(Remez exchange in 60 digits). Coefficients are then rounded to the working precision one at a time, lowest
first, the others being fitted again after each, so that the rounded polynomial is nearly minimax too.
Prints the coefficients, lowest power first, and log2 of the largest weighted error.
"""
import struct
import sys
from mpmath import mp, mpf, matrix, lu_solve, cos, pi, exp, expm1, log, log1p, sin, tan, tanh, atan, asin, sinh, sqrt

mp.dps = 60
ONE = mpf(1)
LN2 = log(mpf(2))


def f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def f64(x):
    return mpf(float(x))


def remez(g, w, powers, lo, hi, points=1200, rounds=30):
    """Minimax over span{z^p} of g with weight w. Returns (coefficients, largest weighted error)."""
    n = len(powers)
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * (i + mpf(1) / 2) / points) for i in range(points)]
    if lo not in grid:
        grid = [lo] + grid + [hi]
    grid = [z for z in grid if w(z) != 0]
    G = [g(z) for z in grid]
    W = [w(z) for z in grid]
    ref = [round((len(grid) - 1) * (1 - float(cos(pi * i / n))) / 2) for i in range(n + 1)]
    best = None
    for _ in range(rounds):
        A = matrix(n + 1, n + 1)
        B = matrix(n + 1, 1)
        for i, k in enumerate(ref):
            for j, p in enumerate(powers):
                A[i, j] = grid[k] ** p
            A[i, n] = (-1) ** i / W[k]
            B[i] = G[k]
        s = lu_solve(A, B)
        c = [s[j] for j in range(n)]
        err = []
        for k, z in enumerate(grid):
            v = sum(c[j] * z ** powers[j] for j in range(n))
            err.append((G[k] - v) * W[k])
        worst = max(abs(e) for e in err)
        if best is None or worst < best[1]:
            best = (c, worst)
        # new reference: the largest error of each run of one sign, then the best alternating n + 1 of them
        ext = []
        for k, e in enumerate(err):
            if ext and (err[ext[-1]] > 0) == (e > 0):
                if abs(e) > abs(err[ext[-1]]):
                    ext[-1] = k
            else:
                ext.append(k)
        while len(ext) > n + 1:
            if len(ext) == n + 2:
                ext.pop(0 if abs(err[ext[0]]) < abs(err[ext[-1]]) else -1)
            else:
                k = min(range(len(ext)), key=lambda i: abs(err[ext[i]]))
                if 0 < k < len(ext) - 1:
                    ext.pop(k)
                    ext.pop(k if abs(err[ext[k]]) < abs(err[ext[k - 1]]) else k - 1)
                else:
                    ext.pop(k)
        if len(ext) < n + 1:
            break
        if abs(worst / abs(s[n]) - 1) < 1e-4 or ext == ref:
            break
        ref = ext
    return best


def fit(g, w, powers, lo, hi, cast, fixed=()):
    """`fixed`: {power: value} given beforehand."""
    fixed = dict(fixed)
    todo = [p for p in powers if p not in fixed]
    c, worst = remez(lambda z: g(z) - sum(v * z**p for p, v in fixed.items()), w, todo, lo, hi)
    ideal = worst
    while todo:
        fixed[todo[0]] = cast(c[0])
        todo = todo[1:]
        if todo:
            c, worst = remez(lambda z: g(z) - sum(v * z**p for p, v in fixed.items()), w, todo, lo, hi, points=400)
    k = 2000
    worst = mpf(0)
    for i in range(k + 1):
        z = lo + (hi - lo) * i / k
        if w(z) != 0:
            worst = max(worst, abs(w(z) * (g(z) - sum(v * z**p for p, v in fixed.items()))))
    return [fixed[p] for p in powers], worst, ideal


def series(f, z, tiny=mpf("1e-12")):
    """f(z), taking the limit at 0 by a small step where the formula is 0/0 (only used for weights near 0)."""
    return f(z) if abs(z) > tiny else f(tiny)


def odd(f, k=1):
    """z = x^2 -> (f(x)/x - k) / z, the tail of an odd function f(x) = k x + ..."""
    return lambda z: series(lambda y: (f(sqrt(y)) / sqrt(y) - k) / y, z, mpf("1e-20"))


def odd_weight(f):
    """Relative error of f(x) when the tail is off by 1."""
    return lambda z: series(lambda y: y * sqrt(y) / f(sqrt(y)), z, mpf("1e-20"))


def log_tail(f):
    return series(lambda y: (log1p(y) - y + y * y / 2) / y**3, f, mpf("1e-15"))


rows = {}


def row(name, *args, **kw):
    rows[name] = (args, kw)


# name, g, w, powers, lo, hi, cast, fixed
half = LN2 / 2
row("exp32", exp, lambda r: exp(-r), range(7), -half * mpf("1.001"), half * mpf("1.001"), f32, {0: ONE, 1: ONE})
row("exp2_32", lambda r: mpf(2) ** r, lambda r: mpf(2) ** -r, range(7), -mpf("0.5"), mpf("0.5"), f32, {0: ONE})
row("log32", log_tail, lambda f: abs(f**3 / log1p(f)) if f else 0, range(8), sqrt(mpf("0.5")) - 1, sqrt(mpf(2)) - 1, f32)
tanh_bend = lambda z: series(lambda y: y / (tanh(sqrt(y)) / sqrt(y) - 1), z, mpf("1e-15"))
tanh_weight = lambda z: series(lambda y: y * sqrt(y) / (tanh_bend(y) ** 2 * tanh(sqrt(y))), z, mpf("1e-15"))
row("tanh32", tanh_bend, tanh_weight, range(4), mpf("1e-12"), mpf("0.9") ** 2, f32)


half_pi_tail = (pi / 4 * mpf("1.0005")) ** 2
row("sin32_quarter", odd(sin), odd_weight(sin), range(3), mpf(0), half_pi_tail, f32)
cos_tail = lambda z: series(lambda y: (cos(sqrt(y)) - 1 + y / 2) / y**2, z, mpf("1e-12"))
cos_weight = lambda z: z * z / cos(sqrt(z))
row("cos32_quarter", cos_tail, cos_weight, range(3), mpf(0), half_pi_tail, f32)
row("sin32", odd(sin), odd_weight(sin), range(4), mpf(0), (pi / 2 * mpf("1.001")) ** 2, f32)
row("asin32", odd(asin), odd_weight(asin), range(5), mpf(0), mpf("0.25"), f32)
row("atan32", odd(atan), odd_weight(atan), range(9), mpf(0), ONE, f32)
row("tan32", odd(tan), odd_weight(tan), range(7), mpf(0), (pi / 4 * mpf("1.001")) ** 2, f64)
row("atan64_steps", odd(atan), odd_weight(atan), range(11), mpf(0), (sqrt(mpf(2)) - 1) ** 2, f64)

# f64; "short" rows serve f32 functions that compute in f64 and need about 34 bits
exp_tail = lambda r: series(lambda y: (expm1(y) - y) / y**2, r, mpf("1e-18"))
for name, n in ("exp64", 10), ("exp64_short", 6):
    row(name, exp_tail, lambda r: r * r * exp(-r), range(n), -half * mpf("1.001"), half * mpf("1.001"), f64)
row("exp2_64", lambda r: mpf(2) ** r, lambda r: mpf(2) ** -r, range(13), -mpf("0.5"), mpf("0.5"), f64, {0: ONE})
exp2_tail = lambda r: series(lambda y: (mpf(2) ** y - 1) / y, r, mpf("1e-18"))
row("exp2_64_short", exp2_tail, lambda r: abs(r) * mpf(2) ** -r, range(7), -mpf("0.5"), mpf("0.5"), f64)
log_max = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2 * mpf("1.001")
log_ratio = lambda s: log((1 + s) / (1 - s))
for name, n in ("log64", 7), ("log64_short", 4):
    row(name, odd(log_ratio, 2), odd_weight(log_ratio), range(n), mpf(0), log_max, f64)
pow_tail = lambda z: series(lambda y: (log_ratio(sqrt(y)) / sqrt(y) - 2 - 2 * y / 3) / y**2, z, mpf("1e-12"))
row("pow64", pow_tail, lambda z: z * z, range(8), mpf(0), log_max, f64)
for name, n in ("sin64", 6), ("sin64_short", 4):
    row(name, odd(sin), odd_weight(sin), range(n), mpf(0), half_pi_tail, f64)
for name, n in ("cos64", 6), ("cos64_short", 4):
    row(name, cos_tail, cos_weight, range(n), mpf(0), half_pi_tail, f64)
for name, n in ("atan64", 13), ("atan64_short", 7):
    row(name, odd(atan), odd_weight(atan), range(n), mpf(0), mpf("0.25"), f64)
for name, n in ("asin64", 13), ("asin64_short", 7):
    row(name, odd(asin), odd_weight(asin), range(n), mpf(0), mpf("0.25"), f64)
for name, n in ("sinh64", 8), ("sinh64_short", 4):
    row(name, odd(sinh), odd_weight(sinh), range(n), mpf(0), ONE, f64)
cbrt = lambda m: m ** (ONE / 3)
row("cbrt64_start", cbrt, lambda m: 1 / cbrt(m), range(5), mpf("0.5"), mpf(4), f64)


def show(name):
    args, kw = rows[name]
    powers = list(args[2])
    c, worst, ideal = fit(*args[:2], powers, *args[3:], **kw)
    print(f"{name}: 2^{float(log(worst, 2)):.2f} (ideal 2^{float(log(ideal, 2)):.2f})")
    print("  [" + ", ".join(repr(float(x)) for x in c) + "]", flush=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or rows:
        show(name)
