"""Reference cases for statistics: python3 make_statistics.py."""
import warnings

import numpy as np

from reference import DTYPES, LAYOUTS, Reference, laid, plain

warnings.simplefilter("ignore")
rng = np.random.default_rng(20260703)
ref = Reference("statistics")
LOOSE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-13}
CAMEL = {
    "inverted_cdf": "invertedCdf", "averaged_inverted_cdf": "averagedInvertedCdf",
    "closest_observation": "closestObservation", "interpolated_inverted_cdf": "interpolatedInvertedCdf",
    "hazen": "hazen", "weibull": "weibull", "linear": "linear", "median_unbiased": "medianUnbiased",
    "normal_unbiased": "normalUnbiased", "lower": "lower", "higher": "higher", "midpoint": "midpoint",
    "nearest": "nearest",
}
CHOOSING = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


def near(expected):
    """As exact as the result's dtype lets two ways of computing be."""
    name = np.asarray(expected).dtype.name
    return {"rtol": LOOSE[name], "atol": LOOSE[name] / 10} if name in LOOSE else None


def draw(dtype, shape, special=()):
    d = np.dtype(dtype)
    if d.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if d.kind in "iu":
        return rng.integers(0 if d.kind == "u" else -50, 50, shape).astype(d)
    a = (rng.integers(-64, 64, shape) / 8).astype(d)
    return np.where(rng.random(shape) < 0.1, rng.choice(np.array(special)), a).astype(d) if len(special) else a


def layout():
    return LAYOUTS[len(ref.cases) % len(LAYOUTS)]


AXES = [((7,), None), ((6,), 0), ((3, 4), 0), ((3, 4), -1), ((3, 4), None), ((2, 3, 4), (0, 2)),
        ((2, 3, 4), (2, 0)), ((2, 3, 4), 1), ((2, 3, 4), (-1, -2, -3)), ((2, 3, 4), ())]


def options(axis, keepdims=False):
    o = {} if axis is None else {"axis": list(axis) if isinstance(axis, tuple) else axis}
    return {**o, "keepdims": True} if keepdims else o


# median and ptp
for name, dtype in DTYPES.items():
    for shape, axis in AXES:
        for keepdims in (False, True):
            a = draw(dtype, shape, (np.nan,) if keepdims else ())
            if axis == ():
                continue
            want = np.asarray(np.median(a, axis=axis, keepdims=keepdims))
            ref.add("median", [laid(a, layout())], options(axis, keepdims), want, near(want))
            if dtype.kind != "b":
                want = np.asarray(np.ptp(a, axis=axis, keepdims=keepdims))
                ref.add("ptp", [laid(a, layout())], options(axis, keepdims), want, near(want))
for special in ([1, np.inf], [np.inf, np.inf], [-np.inf, np.inf], [1, 2, np.inf], [-0.0, 0.0], [-0.0], [np.nan, 1]):
    a = np.array(special)
    ref.add("median", [plain(a)], {}, np.asarray(np.median(a)), {"rtol": 0, "atol": 0, "zero_sign": "any"})
ref.add("median", [plain(np.zeros((0, 3), np.float32))], {"axis": 0}, np.median(np.zeros((0, 3), np.float32), axis=0))
ref.add("median", [plain(np.zeros((3, 0), np.float32))], {"axis": 0}, np.median(np.zeros((3, 0), np.float32), axis=0))
ref.add("median", [plain(np.zeros(0, np.float32))], {}, np.asarray(np.median(np.zeros(0, np.float32))))
ref.add("median", [plain(np.float32(3))], {}, np.asarray(np.median(np.float32(3))))

# quantile and percentile
QS = (0, 0.1, 0.25, 0.5, 0.75, 0.875, 1)
for theirs, ours in CAMEL.items():
    for name, dtype in DTYPES.items():
        if dtype.kind == "b":
            continue
        shape, axis = AXES[len(ref.cases) % (len(AXES) - 1)]
        a = draw(dtype, shape, (np.nan,) if len(ref.cases) % 2 else ())
        for q in (QS[len(ref.cases) % len(QS)], list(QS)):
            # A list of quantiles keeps the tensor's dtype, as one quantile does.
            want = np.asarray(np.quantile(a.astype(np.float64), q, axis=axis, method=theirs))
            keeps = dtype.kind == "f" or theirs in CHOOSING
            want = want.astype(dtype) if keeps else want
            ref.add("quantile", [laid(a, layout())], {"q": q, **options(axis), "method": ours}, want, near(want))
    for n in (1, 2, 3, 4, 5, 10):
        a = draw("float64", n)
        q = np.array([[0, 0.05, 0.3], [1 / 3, 0.5, 0.95]])
        want = np.quantile(a, q, method=theirs)
        ref.add("quantile", [plain(a), plain(q)], {"method": ours}, want, near(want))
        want = np.percentile(a, 30, method=theirs)
        ref.add("percentile", [plain(a)], {"q": 30, "method": ours}, np.asarray(want), near(want))
for keepdims in (False, True):
    for q in (0.3, [0.3, 0.6]):
        a = draw("float64", (2, 3, 4))
        want = np.quantile(a, q, axis=(0, 2), keepdims=keepdims)
        ref.add("quantile", [plain(a)], {"q": q, **options((0, 2), keepdims)}, want, near(want))
ref.add("quantile", [plain(np.arange(3.0)), ], {"q": 1.5}, {"error": "not from 0 to 1"})
ref.add("quantile", [plain(np.arange(3.0)), ], {"q": -0.5}, {"error": "not from 0 to 1"})
ref.add("quantile", [plain(np.arange(3.0)), ], {"q": 0.5, "method": "none"}, {"error": "no such method"})
ref.add("quantile", [plain(np.zeros(0))], {"q": 0.5}, {"error": "nothing there"})
for op in ("quantile", "median"):
    a = np.zeros((0, 3), np.float32)
    o = {"q": [0.5, 0.25]} if op == "quantile" else {}
    want = np.quantile(a, [0.5, 0.25], axis=1).astype("float32") if op == "quantile" else np.median(a, axis=1)
    ref.add(op, [plain(a)], {**o, "axis": 1}, want)
a32, q64 = draw("float32", 9), np.array([0.2, 0.7])
ref.add("quantile", [plain(a32), plain(q64)], {}, np.quantile(a32, q64), {"rtol": 1e-6, "atol": 1e-7})

# bincount
for name, dtype in DTYPES.items():
    if dtype.kind in "iu" and name != "u64":
        x = rng.integers(0, 9, 20).astype(dtype)
        for minlength in (0, 5, 12):
            ref.add("bincount", [laid(x, layout())], {"minlength": minlength}, np.bincount(x, minlength=minlength))
    w = draw(dtype, 6)
    x = np.array([0, 3, 3, 1, 0, 5], np.int32)
    ref.add("bincount", [laid(x, layout()), laid(w, layout())], {}, np.bincount(x, weights=w))
ref.add("bincount", [plain(np.zeros(0, np.int64))], {}, np.bincount(np.zeros(0, np.int64)))
ref.add("bincount", [plain(np.zeros(0, np.int64))], {"minlength": 3}, np.bincount(np.zeros(0, np.int64), minlength=3))
ref.add("bincount", [plain(np.array([1, -1]))], {}, {"error": "negative"})
ref.add("bincount", [plain(np.array([1.0]))], {}, {"error": "not integers"})
ref.add("bincount", [plain(np.array([[1]]))], {}, {"error": "not a vector"})
ref.add("bincount", [plain(np.array([1])), plain(np.array([1.0, 2.0]))], {}, {"error": "sizes differ"})

# histogram
EDGES = {"rtol": 2e-6, "atol": 1e-7}
for name, dtype in DTYPES.items():
    if dtype.kind == "b" or name == "f16":
        continue
    for bins in (1, 4, 10):
        a = draw(dtype, (3, 9))
        counts, edges = np.histogram(a, bins)
        ref.add("histogram", [laid(a, layout())], {"bins": bins}, [counts, edges], EDGES)
        counts, edges = np.histogram(a, bins, range=(-3, 3))
        ref.add("histogram", [laid(a, layout())], {"bins": bins, "range": [-3, 3]}, [counts, edges], EDGES)
        counts, edges = np.histogram(a, bins, density=True)
        ref.add("histogram", [laid(a, layout())], {"bins": bins, "density": True}, [counts, edges], EDGES)
    w = draw("float64", (3, 9))
    counts, edges = np.histogram(a, [-5.0, -1.0, 0.0, 2.5, 2.5, 20.0], weights=w)
    ref.add("histogram", [laid(a, layout()), plain(w)], {"bins": [-5, -1, 0, 2.5, 2.5, 20]}, [counts, edges], EDGES)
nans = np.array([np.nan, 1, 2, np.inf, 3, -np.inf])
counts, edges = np.histogram(nans, 3, range=(0, 3))
ref.add("histogram", [plain(nans)], {"bins": 3, "range": [0, 3]}, [counts, edges])
for a in (np.zeros(0), np.full(3, 2.0)):
    ref.add("histogram", [plain(a)], {}, list(np.histogram(a)), EDGES)
w32 = draw("float32", 5)
counts, edges = np.histogram(np.arange(5.0), 2, weights=w32)
ref.add("histogram", [plain(np.arange(5.0)), plain(w32)], {"bins": 2}, [counts, edges], EDGES)
ref.add("histogram", [plain(nans)], {}, {"error": "no finite range"})
ref.add("histogram", [plain(np.arange(3.0))], {"bins": 0}, {"error": "no intervals"})
ref.add("histogram", [plain(np.arange(3.0))], {"bins": [1, 0]}, {"error": "edges fall"})
ref.add("histogram", [plain(np.arange(3.0))], {"range": [1, 0]}, {"error": "a range that falls"})

# average, cov, corrcoef
for name, dtype in DTYPES.items():
    for shape, axis in AXES[:-1]:
        a = draw(dtype, shape)
        want = np.asarray(np.average(a, axis=axis))
        ref.add("average", [laid(a, layout())], options(axis), want, near(want))
        w = rng.integers(1, 5, shape).astype("float64")
        want = np.asarray(np.average(a, axis=axis, weights=w, keepdims=True))
        ref.add("average", [laid(a, layout()), laid(w, layout())], options(axis, True), want, near(want))
for axis, shape in ((0, (2,)), (1, (3,)), (-1, (4,)), ((0, 2), (2, 4)), ((2, 0), (4, 2))):
    a, w = draw("float64", (2, 3, 4)), rng.integers(1, 5, shape).astype("float64")
    want = np.average(a, axis=axis, weights=w)
    ref.add("average", [plain(a), plain(w)], options(axis), want, near(want))
ref.add("average", [plain(np.arange(2.0)), plain(np.array([1.0, -1.0]))], {}, {"error": "weights sum to zero"})
ref.add("average", [plain(np.zeros((2, 3))), plain(np.ones(3))], {}, {"error": "which axis"})
for dtype in ("float32", "float64", "int32", "uint8"):
    for rowvar in (True, False):
        a = draw(dtype, (3, 5))
        for o in ({}, {"bias": True}, {"ddof": 2}):
            want = np.cov(a, rowvar=rowvar, **o)
            ref.add("cov", [laid(a, layout())], {"rowvar": rowvar, **o}, want, {"rtol": 1e-12, "atol": 1e-12})
        want = np.corrcoef(a, rowvar=rowvar)
        ref.add("corrcoef", [laid(a, layout())], {"rowvar": rowvar}, want, {"rtol": 1e-12, "atol": 1e-12})
    x, y = draw(dtype, 6), draw(dtype, 6)
    ref.add("cov", [plain(x)], {}, np.cov(x), {"rtol": 1e-12, "atol": 1e-12})
    ref.add("cov", [plain(x), plain(y)], {"with": ["y"]}, np.cov(x, y), {"rtol": 1e-12, "atol": 1e-12})
    ref.add("corrcoef", [plain(x), plain(y)], {"with": ["y"]}, np.corrcoef(x, y), {"rtol": 1e-12, "atol": 1e-12})
    f, w = rng.integers(1, 4, 5), rng.integers(1, 9, 5) / 4
    for given, o in ((["fweights"], {"fweights": f}), (["aweights"], {"aweights": w}),
                     (["fweights", "aweights"], {"fweights": f, "aweights": w})):
        want = np.cov(a, **o)
        ref.add("cov", [plain(a), *(plain(o[k]) for k in given)], {"with": given}, want,
                {"rtol": 1e-12, "atol": 1e-12})

# diff
for name, dtype in DTYPES.items():
    for shape, axis in (((6,), -1), ((3, 4), 0), ((3, 4), -1), ((2, 3, 4), 1)):
        for n in (0, 1, 2, 5):
            a = draw(dtype, shape)
            ref.add("diff", [laid(a, layout())], {"n": n, "axis": axis}, np.diff(a, n=n, axis=axis))
    a, p, q = draw(dtype, (2, 3)), draw(dtype, (2, 1)), draw(dtype, (2, 2))
    ref.add("diff", [plain(a), plain(p), plain(q)], {"with": ["prepend", "append"]}, np.diff(a, prepend=p, append=q))
    ref.add("diff", [plain(a), plain(a[0, 0])], {"with": ["append"], "axis": 0}, np.diff(a, append=a[0, 0], axis=0))
ref.add("diff", [plain(np.float32(3))], {}, {"error": "a scalar has no axis"})
ref.add("diff", [plain(np.zeros(3))], {"n": -1}, {"error": "a negative order"})
ref.add("diff", [plain(np.zeros((0, 2)))], {"axis": 0}, np.diff(np.zeros((0, 2)), axis=0))

# cumulative sums and products
for name, dtype in DTYPES.items():
    for shape, axis in (((5,), None), ((3, 4), 0), ((3, 4), -1), ((2, 3, 2), 1), ((0,), None), ((2, 0), 1)):
        for initial in (False, True):
            # Powers of two multiply exactly, and eighths add exactly.
            a = draw(dtype, shape)
            sign = np.ones(shape) if dtype.kind in "ub" else rng.choice(np.array([-1.0, 1.0]), shape)
            b = (sign * 2 ** rng.integers(0, 2, shape)).astype(dtype)
            o = {**options(axis), "includeInitial": initial}
            out = None if dtype.kind == "f" else (np.uint64 if dtype.kind == "u" else np.int64)
            ref.add("cumulativeSum", [laid(a, layout())], o,
                    np.cumulative_sum(a, axis=axis, include_initial=initial, dtype=out))
            ref.add("cumulativeProd", [laid(b, layout())], o,
                    np.cumulative_prod(b, axis=axis, include_initial=initial, dtype=out))

# interp
xp, fp = np.array([-2.0, 0.0, 0.5, 3.0]), np.array([1.0, 4.0, -2.0, 8.0])
for dtype in ("float32", "float64", "int32"):
    x = np.concatenate([draw(dtype, 9).ravel(), np.array([-2, 0, 3]).astype(dtype)]).reshape(3, 4)
    for o in ({}, {"left": -1.0}, {"right": 99.0}, {"left": 0.0, "right": 1.0}, {"period": 2.5}, {"period": -7.0}):
        want = np.interp(x, xp, fp, **o)
        ref.add("interp", [laid(x, layout()), plain(xp), plain(fp)], o, want, near(want))
wild = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, 2.0, 2.5])
for xs, ys in (([0, 1, 2], [np.inf, 1, np.nan]), ([0, 1, np.inf], [0, 1, 2]), ([1, 1, 2], [3, 4, 5]), ([1], [7])):
    xs, ys = np.array(xs, float), np.array(ys, float)
    # Of a single point NumPy makes a value even at NaN; here NaN stays NaN.
    x = wild[len(xs) == 1 :]
    ref.add("interp", [plain(x), plain(xs), plain(ys)], {}, np.interp(x, xs, ys))
ref.add("interp", [plain(np.float64(0.25)), plain(xp), plain(fp)], {}, np.asarray(np.interp(0.25, xp, fp)))
ref.add("interp", [plain(wild), plain(xp), plain(fp[1:])], {}, {"error": "sizes differ"})

# Without NaNs
for name, dtype in DTYPES.items():
    for shape, axis in AXES[:-1]:
        for keepdims in (False, True):
            a = draw(dtype, shape, (np.nan, np.nan, np.inf))
            if dtype.kind == "f" and a.ndim > 1 and keepdims:
                a[:, 0] = np.nan
            o = {"axis": axis, "keepdims": keepdims}
            for op in ("nansum", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanmedian"):
                if dtype.kind == "b" and op in ("nanmax", "nanmin", "nanvar", "nanstd"):
                    continue
                # In f16 NumPy's sums of squares overflow.
                x = a.astype("float64") if dtype == np.float16 else a
                want = np.asarray(getattr(np, op)(x, **o))
                want = want.astype(dtype) if dtype == np.float16 else want
                check = {"rtol": 1e-5, "atol": 1e-6} if dtype == np.float32 else near(want)
                ref.add(op, [laid(a, layout())], options(axis, keepdims), want, check)
    b = np.where(rng.random((3, 4)) < 0.5, 2, 1).astype(dtype)
    if dtype.kind == "f":
        b[1, 2] = np.nan
    want = np.nanprod(b, axis=1)
    ref.add("nanprod", [plain(b)], {"axis": 1}, want)
for theirs, ours in CAMEL.items():
    for dtype in ("float32", "float64", "int32"):
        a = draw(dtype, (3, 4, 3), (np.nan, np.nan, np.nan))
        if dtype != "int32":
            a[0, 1] = np.nan
        for axis in (None, 0, -1, (0, 2)):
            for q in (0.3, [0, 0.25, 0.5, 1]):
                want = np.asarray(np.nanquantile(a.astype("float64"), q, axis=axis, method=theirs))
                want = want.astype(dtype) if dtype != "int32" or theirs in CHOOSING else want
                ref.add("nanquantile", [laid(a, layout())], {"q": q, **options(axis), "method": ours}, want, near(want))
ref.add("nanpercentile", [plain(np.array([1, np.nan, 4.0]))], {"q": 50}, np.asarray(2.5))
for ddof in (1, 2, 4):
    a = np.array([[1, 2, np.nan, 4], [np.nan, np.nan, np.nan, 5], [np.nan] * 4])
    ref.add("nanvar", [plain(a)], {"axis": 1, "ddof": ddof}, np.nanvar(a, axis=1, ddof=ddof), near(a))
    ref.add("nanstd", [plain(a)], {"axis": 1, "ddof": ddof}, np.nanstd(a, axis=1, ddof=ddof), near(a))
for op in ("nansum", "nanmean", "nanmedian"):
    a = np.zeros((2, 0))
    ref.add(op, [plain(a)], {"axis": 1}, getattr(np, op)(a, axis=1))
for dtype in ("float32", "int16"):
    a, w = draw(dtype, 5), np.arange(1, 6).astype("float32")
    want = np.asarray(np.average(a, weights=w))
    ref.add("average", [plain(a), plain(w)], {}, want, {"rtol": 1e-6, "atol": 1e-7})

ref.save()
