"""Reference values of the named elementwise functions, over dtypes, ranks, layouts and special values.

Where a function leaves the integers our result is f64, whatever their width; NumPy chooses narrower floats for narrow
integers, so there the values are NumPy's on f64. Transcendental functions of f16 and f32 are NumPy's on f64, rounded.
"""
import numpy as np

from reference import DTYPES, LAYOUTS, Reference, coded, laid, plain

np.seterr(all="ignore")
rng = np.random.default_rng(7)
out = Reference("elementwise")
FLOATS = ("f16", "f32", "f64")
INTEGERS = ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64")
SHAPES = ((), (1,), (7,), (3, 5), (2, 3, 4), (0,), (2, 0, 3), (17,), (1, 6), (4, 1, 3))
RTOL = {"f16": 1.1e-3, "f32": 3e-7, "f64": 2e-15}
ATOL = {"f16": 1.2e-7, "f32": 3e-45, "f64": 1e-323}
turn = 0


def following(seq):
    global turn
    turn += 1
    return seq[turn % len(seq)]


def specials(d):
    t = DTYPES[d]
    if d == "bool":
        return np.array([True, False, True, True, False])
    if d in INTEGERS:
        i = np.iinfo(t)
        some = [0, 1, 2, 3, 7, 10, 100, i.max, i.min, i.max - 1, i.min + 1] + ([-1, -2, -7, -100] if i.min < 0 else [5])
        return np.array(some, t)
    f = np.finfo(t)
    return np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.75, -0.1, 3, 10, 100.25, -7.75, np.nan, np.inf,
                     -np.inf, f.smallest_subnormal, -f.smallest_subnormal, f.tiny, f.max, -f.max, 1 + f.eps], t)


def drawn(d, shape):
    t = DTYPES[d]
    if d == "bool":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if d in INTEGERS:
        i = np.iinfo(t)
        return np.asarray(rng.integers(max(i.min, -50), min(i.max, 50), shape)).astype(t)
    return np.asarray(rng.normal(0, 3, shape)).astype(t)


def floating(*dtypes):
    d = np.result_type(*dtypes)
    return d if d.kind == "f" else np.dtype("f8")


def in_doubles(f):
    """f of operands as f64, rounded to the float dtype they meet in."""
    def apply(*xs):
        return np.asarray(f(*[x.astype("f8") for x in xs])).astype(floating(*[x.dtype for x in xs]))
    return apply


def kept(f):
    """f in the operands' own dtype, which NumPy computes exactly as we do; bool counts in i32."""
    def apply(*xs):
        r = np.asarray(f(*xs))
        allbool = all(x.dtype == bool for x in xs)
        return r.astype("i4") if allbool and r.dtype != bool else r
    return apply


def tolerance(d):
    name = {"f2": "f16", "f4": "f32"}.get(np.dtype(d).str[1:], "f64")
    return {"rtol": RTOL[name], "atol": ATOL[name]}


def attempt(f, *xs):
    try:
        return f(*xs)
    except TypeError as error:
        return {"error": str(error)[:60]}


# One operand -------------------------------------------------------------------------------------------------------

approximate = {n: n for n in "cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh".split()}
approximate |= {f"a{n}": f"arc{n}" for n in "sin cos tan sinh cosh tanh".split()}
approximate |= {"deg2rad": "deg2rad", "rad2deg": "rad2deg"}
exact = {"neg": "negative", "negative": "negative", "positive": "positive", "abs": "absolute", "sign": "sign",
         "floor": "floor", "ceil": "ceil", "trunc": "trunc", "isnan": "isnan", "isfinite": "isfinite",
         "isinf": "isinf", "signbit": "signbit", "logicalNot": "logical_not", "bitwiseNot": "invert",
         "bitwiseInvert": "invert"}


def square(x):
    return x if x.dtype == bool else np.square(x)


def positive_sign(x):
    # NumPy keeps the sign of no zero, but -0 on f16 may come through.
    return np.sign(x) + 0 if x.dtype != bool else np.sign(x)


def sinc(x):
    return np.where(x == 0, 1.0, np.sin(np.pi * (x - np.rint(x))) * (1 - 2 * (np.rint(x) % 2)) / (np.pi * x))


unary = {ours: (in_doubles(getattr(np, theirs)), True) for ours, theirs in approximate.items()}
unary |= {ours: (kept(getattr(np, theirs)), False) for ours, theirs in exact.items()}
unary |= {
    "sign": (positive_sign, False),
    "square": (square, False),
    "sqrt": (in_doubles(np.sqrt), False),
    "reciprocal": (in_doubles(lambda x: 1 / x), False),
    "sinc": (in_doubles(sinc), True),
    "round": (lambda x: x if x.dtype == bool else np.round(x), False),
}
for name, (f, loose) in unary.items():
    for d in DTYPES:
        for x in (specials(d), drawn(d, following(SHAPES)), drawn(d, following(SHAPES))):
            want = attempt(f, x)
            check = tolerance(want.dtype) if loose and not isinstance(want, dict) else None
            if name == "sinc":
                check["atol"] = max(check["atol"], {"f2": 1e-4, "f4": 3e-8}.get(x.dtype.str[1:], 1e-16))
            out.add(name, [laid(x, following(LAYOUTS))], {}, want, check)

for d in ("f32", "f64", "i8", "u16", "i32", "i64", "bool"):
    for decimals in (-3, -2, -1, 0, 1, 2, 5):
        if d == "bool" and decimals != 0:
            continue
        x = drawn(d, (3, 4)) if d == "bool" else (rng.normal(0, 60, (3, 4))).astype(DTYPES[d])
        if d in FLOATS:
            x = np.concatenate([x.ravel(), specials(d)])
            x = x[np.abs(x) < 1e9 if decimals > 0 else np.ones(x.shape, bool)]
        want = x if d == "bool" else np.round(x, decimals)
        out.add("round", [laid(x, following(LAYOUTS))], {"decimals": decimals}, want)

# Two operands ------------------------------------------------------------------------------------------------------

BROADCASTS = (((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 5)), ((), (2, 3)), ((2, 3, 4), ()), ((0,), (1,)),
              ((2, 1, 3), (4, 1)), ((13,), (13,)))


def logical(f):
    return lambda a, b: np.asarray(f(a, b))


def bools(f, on_bool):
    """NumPy's arithmetic on bool is logic, or refused."""
    def apply(a, b):
        if a.dtype == bool and b.dtype == bool:
            return on_bool(a, b)
        return np.asarray(f(a, b))
    return apply


def shifted(f):
    def apply(a, b):
        r = np.asarray(f(a, b))
        return r.astype("i4") if a.dtype == bool and b.dtype == bool else r
    return apply


def heaviside(x, h):
    return np.where(np.isnan(x), x, np.heaviside(x, h))


def refused(a, b):
    raise TypeError("not on bool")


binary = {
    "add": (bools(np.add, np.logical_or), False),
    "sub": (bools(np.subtract, refused), False),
    "mul": (bools(np.multiply, np.logical_and), False),
    "subtract": (bools(np.subtract, refused), False),
    "multiply": (bools(np.multiply, np.logical_and), False),
    "div": (in_doubles(np.divide), False),
    "divide": (in_doubles(np.divide), False),
    "remainder": (kept(np.remainder), False),
    "fmod": (kept(np.fmod), False),
    "floorDivide": (kept(np.floor_divide), False),
    "fmax": (kept(np.fmax), False),
    "fmin": (kept(np.fmin), False),
    "maximum": (kept(np.maximum), False),
    "minimum": (kept(np.minimum), False),
    "atan2": (in_doubles(np.arctan2), True),
    "hypot": (in_doubles(np.hypot), True),
    "copysign": (in_doubles(np.copysign), False),
    "logaddexp": (in_doubles(np.logaddexp), True),
    "logaddexp2": (in_doubles(np.logaddexp2), True),
    "heaviside": (in_doubles(heaviside), False),
    "gcd": (kept(np.gcd), False),
    "lcm": (kept(np.lcm), False),
    "bitwiseAnd": (kept(np.bitwise_and), False),
    "bitwiseOr": (kept(np.bitwise_or), False),
    "bitwiseXor": (kept(np.bitwise_xor), False),
    "leftShift": (shifted(np.left_shift), False),
    "rightShift": (shifted(np.right_shift), False),
    "bitwiseLeftShift": (shifted(np.left_shift), False),
    "bitwiseRightShift": (shifted(np.right_shift), False),
    **{n: (logical(getattr(np, n.lower())), False) for n in ("equal", "less", "greater")},
    "notEqual": (logical(np.not_equal), False),
    "lessEqual": (logical(np.less_equal), False),
    "greaterEqual": (logical(np.greater_equal), False),
    "logicalAnd": (logical(np.logical_and), False),
    "logicalOr": (logical(np.logical_or), False),
    "logicalXor": (logical(np.logical_xor), False),
}
MIXED = (("i8", "u8"), ("u8", "f16"), ("i32", "f32"), ("u64", "i64"), ("bool", "i16"), ("f16", "f32"), ("f64", "f32"),
         ("u16", "i32"), ("i64", "f16"), ("f32", "bool"))


def pairs(d, e):
    """Every special value beside every other would be many: each beside three others."""
    a, b = specials(d), specials(e)
    n = max(len(a), len(b))
    p = np.concatenate([np.resize(a, n) for _ in range(3)])
    q = np.concatenate([np.resize(np.roll(b, k), n) for k in (0, 1, 5)])
    return p, q


def is_plain(name, a, b):
    """Left out: sums that no one computes alike. Which zero wins is open, and so is x / 0 on integers of NumPy's."""
    keep = np.ones(np.broadcast_shapes(a.shape, b.shape), bool)
    if name in ("maximum", "minimum", "fmax", "fmin"):
        keep &= ~((a == 0) & (b == 0))
    if name == "floorDivide" and a.dtype.kind == "f" or b.dtype.kind == "f":
        keep &= ~(np.isinf(a) & np.isinf(b)) if name == "floorDivide" else keep
    if name in ("gcd", "lcm") and a.dtype.kind == "i":
        keep &= (a != np.iinfo(a.dtype).min)
    if name in ("gcd", "lcm") and b.dtype.kind == "i":
        keep &= (b != np.iinfo(b.dtype).min)
    return keep


def check_of(want, loose, name):
    if not loose or isinstance(want, dict):
        return None
    check = tolerance(want.dtype)
    if name.startswith("logadd"):
        check["atol"] = {"f2": 1e-3, "f4": 2e-7}.get(want.dtype.str[1:], 4e-16)
        check["rtol"] *= 2
    return check


for name, (f, loose) in binary.items():
    for d, e in [(d, d) for d in DTYPES] + list(MIXED):
        a, b = pairs(d, e)
        keep = is_plain(name, a, b)
        a, b = a[keep], b[keep]
        for x, y in ((a, b), [drawn(t, s) for t, s in zip((d, e), following(BROADCASTS))]):
            if name in ("maximum", "minimum", "fmax", "fmin") and x is not a:
                x = x if x.dtype == bool else x + (x == 0).astype(x.dtype)
            want = attempt(f, x, y)
            out.add(name, [laid(x, following(LAYOUTS)), laid(y, following(LAYOUTS))], {}, want,
                    check_of(want, loose, name))

for d in DTYPES:
    base = drawn(d, (40,)) if d not in FLOATS else np.abs(drawn(d, (40,)))
    e = drawn(d, (40,))
    if d in INTEGERS:
        e = (np.abs(e.astype("i8")) % 7).astype(DTYPES[d])
    want = np.power(base, e)
    want = want.astype("i4") if d == "bool" else want
    if d in FLOATS:
        want = in_doubles(np.power)(base, e)
    out.add("pow", [laid(base, following(LAYOUTS)), laid(e, following(LAYOUTS))], {}, want,
            tolerance(want.dtype) if d in FLOATS else None)
    if d in FLOATS:
        x, y = pairs(d, d)
        out.add("pow", [laid(x), laid(y, "reversed")], {}, in_doubles(np.power)(x, y), tolerance(x.dtype))

# Beside a scalar the tensor keeps its dtype ------------------------------------------------------------------------

for d in DTYPES:
    if d == "bool":
        continue
    for name in ("add", "sub", "mul", "remainder", "floorDivide", "maximum", "less", "equal", "fmod", "fmin"):
        x = drawn(d, following(SHAPES))
        if name in ("maximum", "fmin"):
            x = x + (x == 0).astype(x.dtype)
        f = binary[name][0]
        for scalar in (3,) if d in INTEGERS else (3, -2.5):
            theirs = getattr(np, {"sub": "subtract", "mul": "multiply", "floorDivide": "floor_divide"}.get(name, name))
            want = np.asarray(theirs(x, scalar))
            out.add(name, [laid(x, following(LAYOUTS))], {"right": scalar}, want)
            want = np.asarray(theirs(scalar, x))
            out.add(name, [laid(x, following(LAYOUTS))], {"left": scalar}, want)
    for name in ("logaddexp", "hypot", "heaviside", "atan2"):
        x = drawn(d, (2, 3))
        theirs = in_doubles(getattr(np, {"atan2": "arctan2"}.get(name, name)))
        want = theirs(x, np.asarray(0.5, floating(x.dtype)))
        out.add(name, [laid(x, following(LAYOUTS))], {"right": 0.5}, want, check_of(want, True, name))

# Neighbours, NaN, choices -------------------------------------------------------------------------------------------

for d in FLOATS:
    for k in range(3):
        a, b = pairs(d, d)
        differ = ~((a == 0) & (b == 0))  # between zeros NumPy's f16 stays where the others go
        a, b = a[differ], b[differ]
        out.add("nextafter", [laid(a, following(LAYOUTS)), laid(b, following(LAYOUTS))], {}, np.nextafter(a, b))
        x, y = [drawn(d, s) for s in following(BROADCASTS)]
        out.add("nextafter", [laid(x, following(LAYOUTS)), laid(y, following(LAYOUTS))], {}, np.nextafter(x, y))
    out.add("nextafter", [laid(a)], {"right": 1}, np.nextafter(a, DTYPES[d].type(1)))
    for params in ({}, {"nan": 7}, {"nan": -1.5, "posinf": 9, "neginf": -9}):
        x = specials(d)
        out.add("nanToNum", [laid(x, following(LAYOUTS))], params, np.nan_to_num(x, **params))
for d in ("i16", "u64", "bool"):
    x = drawn(d, (2, 3))
    out.add("nanToNum", [laid(x, following(LAYOUTS))], {"nan": 0.5}, np.nan_to_num(x, nan=0.5))

for d in ("f32", "f64", "i32", "i64", "u8", "bool"):
    for params in ({}, {"rtol": 0.1}, {"atol": 0.3, "rtol": 0}, {"equalNan": True}):
        theirs = {"equal_nan" if k == "equalNan" else k: v for k, v in params.items()}
        x = np.concatenate([specials(d), drawn(d, 12)])
        y = np.concatenate([specials(d), drawn(d, 12)])
        if d in FLOATS:
            y = y * DTYPES[d].type(1.00001) if "rtol" in params else y
            y[:3] = x[:3] + DTYPES[d].type(1e-7)
        out.add("isclose", [laid(x, following(LAYOUTS)), laid(y, following(LAYOUTS))], params,
                np.isclose(x, y, **theirs))
        out.add("allclose", [laid(x), laid(x)], params, np.asarray(np.allclose(x, x, **theirs)))
        out.add("arrayEqual", [laid(x), laid(x, following(LAYOUTS))], {"equalNan": params.get("equalNan", False)},
                np.asarray(np.array_equal(x, x, equal_nan=params.get("equalNan", False))))
        out.add("arrayEqual", [laid(x), laid(y)], {}, np.asarray(np.array_equal(x, y)))
out.add("arrayEqual", [laid(np.zeros((2, 3))), laid(np.zeros((3, 2)))], {}, np.asarray(False))
out.add("arrayEqual", [laid(np.zeros((0, 3))), laid(np.zeros((0, 3)))], {}, np.asarray(True))

for d in DTYPES:
    for k in range(3):
        shape, other = following(BROADCASTS)
        c, a, b = drawn("bool", shape), drawn(d, other), drawn(d, shape)
        out.add("where", [laid(c, following(LAYOUTS)), laid(a, following(LAYOUTS)), laid(b, following(LAYOUTS))], {},
                np.where(c, a, b))
    if d == "bool":
        continue
    x = drawn(d, following(SHAPES))
    x = x + (x == 0).astype(x.dtype)
    low, high = DTYPES[d].type(2), DTYPES[d].type(20)
    out.add("clip", [laid(x, following(LAYOUTS))], {"low": 2, "high": 20}, np.clip(x, low, high))
    out.add("clip", [laid(x, following(LAYOUTS))], {"low": None, "high": 20}, np.clip(x, None, high))
    out.add("clip", [laid(x, following(LAYOUTS))], {"low": 2, "high": None}, np.clip(x, low, None))

out.save()
