"""Writes references.json.gz: for each function, arguments and the exact value as two doubles (high + low), from mpmath.

    python3 tests/accuracy/make_references.py

A row is [x, high, low] or [x, y, high, low]. Points cover the whole range of doubles, with more of them where the
decompositions change branch or where functions are known to be hard. Values that overflow or are not numbers are left
to the table of special values in src/optimize/math/math.test.ts.
"""
import gzip
import json
import math
import os
import random
from mpmath import mp, mpf
import mpmath as m

mp.prec = 1400  # sin(1e308) needs more than a thousand bits of pi
random.seed(20)


def any_double(lo=-1074.0, hi=1023.9, signed=True):
    x = 2.0 ** random.uniform(max(lo, -1022), hi) if random.random() < 0.95 or lo > -1022 else random.randrange(1, 2**52) * 5e-324
    return -x if signed and random.random() < 0.5 else x


def near(points, n=4):
    out = []
    for p in points:
        x = float(p)
        up = down = x
        out.append(x)
        for _ in range(n // 2):
            up = math.nextafter(up, math.inf)
            down = math.nextafter(down, -math.inf)
            out += [up, down]
    return out


def uniform(lo, hi, n):
    return [random.uniform(lo, hi) for _ in range(n)]


def powers(lo, hi, n, signed=True):
    return [any_double(lo, hi, signed) for _ in range(n)]


LN2 = m.log(2)
exp_points = uniform(-745, 709.7, 120) + uniform(-2, 2, 120) + powers(-60, 9, 60) + near([(k + 0.5) * LN2 for k in range(-4, 5)]) + near([709.78271289338, -708.396, -744.4, -745.1])
trig_points = uniform(-10, 10, 100) + uniform(-2e6, 2e6, 60) + powers(-1074, 1023, 90) + near([k * m.pi / 4 for k in [*range(1, 13), 100, 1001, 65536, 1000001, 1048575]], 2) + [float(6381956970095103 * mpf(2) ** 797), 5.319372648326541e255, 1e22]
unit = uniform(-1, 1, 200) + powers(-1074, -1, 60) + [s * (1 - 2.0**-k) for k in range(1, 53) for s in (1, -1)] + near([0.5, -0.5], 8)
log_points = powers(-1074, 1023, 160, False) + uniform(0.5, 2, 120) + [1 + s * 2.0**-k for k in range(1, 53) for s in (1, -1)] + near([m.sqrt(2), m.sqrt(0.5), 2, 0.25, 1000, 1e15])
hyper = uniform(-710, 710, 80) + uniform(-3, 3, 160) + powers(-1074, 8, 80) + near([1, -1, 0.34657, 0.17, 22], 6)


def sigmoid(x):
    return 1 / (1 + m.exp(-x))


one = {
    "exp": (m.exp, exp_points),
    "exp2": (lambda x: mpf(2) ** x, uniform(-1075, 1023.9, 160) + uniform(-2, 2, 120) + powers(-60, 9, 40) + [float(k) for k in range(-20, 20)]),
    "expm1": (m.expm1, uniform(-40, 709, 80) + uniform(-2, 2, 160) + powers(-1074, 9, 100) + near([(k + 0.5) * LN2 for k in range(-4, 5)])),
    "log": (m.log, log_points),
    "log2": (lambda x: m.log(x) / LN2, log_points + [2.0**k for k in range(-30, 30)]),
    "log10": (lambda x: m.log(x) / m.log(10), log_points + [float(10**k) for k in range(23)]),
    "log1p": (m.log1p, powers(-1074, 1023, 100, False) + uniform(-0.999, 3, 160) + powers(-60, -1, 100) + near([m.sqrt(2) - 1, m.sqrt(0.5) - 1, 1])),
    "sin": (m.sin, trig_points),
    "cos": (m.cos, trig_points),
    "tan": (m.tan, trig_points),
    "asin": (m.asin, unit),
    "acos": (m.acos, unit),
    "atan": (m.atan, uniform(-4, 4, 200) + powers(-1074, 1023, 120) + near([m.sqrt(2) - 1, m.sqrt(2) + 1, 1], 8)),
    "sinh": (m.sinh, hyper),
    "cosh": (m.cosh, hyper),
    "tanh": (m.tanh, hyper + uniform(0.02, 0.7, 200) + [-0.06055028038412624] + near([0.625], 6)),
    "asinh": (m.asinh, powers(-1074, 1023, 120) + uniform(-4, 4, 200) + powers(-30, 30, 60)),
    "acosh": (m.acosh, [1 + abs(x) for x in powers(-52, 30, 160)] + powers(0, 1023, 100, False) + uniform(1, 4, 120) + uniform(1, 1.2, 100) + [1.0281013397197587]),
    "atanh": (m.atanh, unit),
    "cbrt": (lambda x: m.sign(x) * abs(x) ** (mpf(1) / 3), powers(-1074, 1023, 300) + uniform(0.4, 5, 60) + [float(k**3) for k in range(1, 20)]),
    "sigmoid": (sigmoid, uniform(-745, 40, 160) + uniform(-4, 4, 160) + powers(-60, 9, 60)),
}

pairs = [(any_double(), any_double()) for _ in range(120)]
close = [(x, x * 2 ** random.uniform(-3, 3) * random.choice([1, -1])) for x in powers(-1000, 1000, 200)]
small = [(random.uniform(-4, 4), random.uniform(-4, 4)) for _ in range(120)]


def pow_points():
    out = []
    for _ in range(160):  # any base, a result within range
        x = any_double(-1000, 1000, False)
        e = random.uniform(-1070, 1020)
        if abs(math.log2(x)) > 1e-3:
            out.append((x, e / math.log2(x)))
    for k in range(120):  # bases next to 1, large exponents
        x = 1 + random.choice([1, -1]) * 2.0 ** random.uniform(-50, -2)
        out.append((x, random.uniform(-700, 700) / math.log(x)))
    out += [(random.uniform(0.3, 3), random.uniform(-5, 5)) for _ in range(80)]
    out += [(float(random.randint(-12, 12)), float(random.randint(-9, 12))) for _ in range(60)]
    return [(x, y) for x, y in out if x != 0]


two = {
    "atan2": (lambda y, x: m.atan2(y, x), [p for p in pairs + close + small]),
    "hypot": (lambda x, y: m.sqrt(mpf(x) ** 2 + mpf(y) ** 2), pairs + close + small + [(3.0, 4.0), (5.0, 12.0), (8.0, 15.0)]),
    "pow": (lambda x, y: mpf(x) ** mpf(y), pow_points()),
}


def parts(v):
    if not isinstance(v, mpf):
        v = mpf(v.real)
    high = float(v)
    if math.isinf(high) or math.isnan(high):
        return None
    return [high, float(v - mpf(high))]


out = {}
for name, (f, points) in one.items():
    rows = []
    mp.prec = 1400 if name in ("sin", "cos", "tan") else 320
    for x in points:
        p = parts(f(mpf(x)))
        if p is not None:
            rows.append([x, *p])
    out[name] = rows
for name, (f, points) in two.items():
    rows = []
    for x, y in points:
        if math.isinf(x) or math.isinf(y):
            continue
        mp.prec = 2400 if name == "hypot" else 320
        p = parts(f(mpf(x), mpf(y)))
        if p is not None:
            rows.append([x, y, *p])
    out[name] = rows

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "references.json.gz")
text = json.dumps(out, separators=(",", ":"))
with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as z:
    z.write(text.encode())
print({k: len(v) for k, v in out.items()}, os.path.getsize(path), "bytes")
