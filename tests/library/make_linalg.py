"""Reference values of linear algebra where they are unique: python3 tests/library/make_linalg.py"""
import warnings

import numpy as np

from reference import DTYPES, LAYOUTS, Reference, laid

warnings.simplefilter("ignore")
rng = np.random.default_rng(21)
ref = Reference("linalg")
CHECK = {"f32": {"rtol": 2e-4, "atol": 2e-5}, "f64": {"rtol": 1e-10, "atol": 1e-11}}
EXACT = {"rtol": 0, "atol": 0, "zero_sign": "any"}
BATCHES = [(), (3,), (2, 2), (0,), (1,)]
TYPES = ["f32", "f64", "i32", "u8", "i64"]


def floats(dtype):
    return "f32" if dtype == "f32" else "f64"


def some_layout():
    return LAYOUTS[rng.integers(len(LAYOUTS))]


def make(shape, dtype="f64"):
    if dtype in ("f32", "f64"):
        return (np.round(rng.uniform(-1, 1, shape) * 64) / 64).astype(DTYPES[dtype])
    return rng.integers(0 if dtype == "u8" else -4, 5, shape).astype(DTYPES[dtype])


def regular(batch, n, dtype="f64"):
    """Well conditioned: the answer is unique to nearly all digits."""
    a = make((*batch, n, n), dtype)
    return (a + np.eye(n) * (2 * n if dtype in ("f32", "f64") else 9 * n)).astype(DTYPES[dtype])


def definite(batch, n, dtype="f64"):
    a = make((*batch, n, n), dtype).astype(np.float64)
    s = a @ np.swapaxes(a, -1, -2) + np.eye(n) * (n + 1)
    return (np.round(s) if dtype not in ("f32", "f64") else s).astype(DTYPES[dtype])


def symmetric(batch, n, dtype="f64"):
    a = make((*batch, n, n), dtype)
    return (a + np.swapaxes(a, -1, -2)).astype(DTYPES[dtype])


def case(op, arrays, params, expected, dtype="f64", check=None):
    layouts = [some_layout() if a.size else "plain" for a in arrays]
    ref.add(op, [laid(a, l) for a, l in zip(arrays, layouts)], params, expected, check or CHECK[floats(dtype)])


SIZES = [0, 1, 2, 3, 5, 8]
LARGE = [17, 33]

for dtype in TYPES:
    for batch in BATCHES:
        many = dtype in ("f32", "f64")
        for n in SIZES if many and batch in ((), (3,)) else [0, 1, 3] if many else [0, 3]:
            a = regular(batch, n, dtype)
            case("inv", [a], {}, np.linalg.inv(a), dtype)
            case("det", [a], {}, np.linalg.det(a), dtype)
            case("slogdet", [a], {}, list(np.linalg.slogdet(a)), dtype)
            b = make((*batch, n, 2), dtype)
            case("solve", [a, b], {}, np.linalg.solve(a, b), dtype)
            d = definite(batch, n, dtype)
            case("cholesky", [d], {}, np.linalg.cholesky(d), dtype)
            case("cholesky", [d], {"upper": True}, np.linalg.cholesky(d, upper=True), dtype)
            s = symmetric(batch, n, dtype) if dtype != "u8" else definite(batch, n, dtype)
            case("eigvalsh", [s], {}, np.linalg.eigvalsh(s), dtype)
            case("eigenvalues", [s], {}, np.linalg.eigh(s)[0], dtype)
        for m, n in [(3, 3), (4, 2), (2, 4), (1, 3), (3, 1), (0, 2), (2, 0), (0, 0)] if dtype in ("f32", "f64") else [(3, 2)]:
            a = make((*batch, m, n), dtype)
            if dtype not in ("f32", "f64") and a.size:
                a = a + 5 * np.eye(m, n).astype(a.dtype)
                a = a.astype(DTYPES[dtype])
            for mode in ("reduced", "complete"):
                q, r = np.linalg.qr(a, mode=mode)
                k = min(m, n)
                sign = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0).astype(r.dtype)
                case("qr", [a], {"mode": mode}, [q[..., :k] * sign[..., None, :], r[..., :k, :] * sign[..., :, None]], dtype)
            case("svdvals", [a], {}, np.linalg.svd(a, compute_uv=False), dtype)
            if a.size:
                case("pinv", [a], {}, np.linalg.pinv(a.astype(DTYPES[floats(dtype)]), rtol=None), dtype)
                case("matrixRank", [a], {}, np.linalg.matrix_rank(a), dtype)
            else:
                case("pinv", [a], {}, np.linalg.pinv(a), dtype)

for dtype in ("f32", "f64"):
    for n in LARGE:
        a, b, d = regular((), n, dtype), make((n, 3), dtype), definite((), n, dtype)
        case("solve", [a, b], {}, np.linalg.solve(a, b), dtype)
        v = make((n,), dtype)
        case("solve", [a, v], {}, np.linalg.solve(a, v), dtype)
        case("inv", [a], {}, np.linalg.inv(a), dtype)
        case("slogdet", [a], {}, list(np.linalg.slogdet(a)), dtype)
        case("cholesky", [d], {}, np.linalg.cholesky(d), dtype)
        s = symmetric((), n, dtype)
        case("eigvalsh", [s], {}, np.linalg.eigvalsh(s), dtype)
        t = make((n, n - 7), dtype)
        case("svdvals", [t], {}, np.linalg.svd(t, compute_uv=False), dtype)

# Which triangle is read; broadcasting of solve; dtypes that meet.
for n in (2, 5):
    for uplo in "LU":
        a = make((2, n, n))
        case("eigvalsh", [a], {"uplo": uplo}, np.linalg.eigvalsh(a, UPLO=uplo))
    d = definite((), n)
    case("cholesky", [np.tril(d) + np.triu(make((n, n)), 1)], {}, np.linalg.cholesky(d))
    case("cholesky", [np.triu(d) + np.tril(make((n, n)), -1)], {"upper": True}, np.linalg.cholesky(d, upper=True))
for sa, sb in (((), (3,)), ((2,), ()), ((2,), (2,)), ((2, 1), (3,)), ((2, 3), (3,)), ((1,), (4,)), ((2, 1), (1, 3))):
    a, b = regular(sa, 3), make((*sb, 3, 2))
    case("solve", [a, b], {}, np.linalg.solve(a, b))
a = regular((2, 2), 3)
case("solve", [a, v := make((3,))], {}, np.linalg.solve(a, v))
for ta, tb in (("f32", "f64"), ("f32", "i32"), ("i32", "f32"), ("i8", "u8"), ("bool", "f32")):
    a = regular((), 3, ta) if ta != "bool" else np.eye(3, dtype=bool)
    b = make((3, 2), tb)
    case("solve", [a, b], {}, np.linalg.solve(a, b))

# Singular and ill-conditioned; over- and underflow of what lies between.
case("det", [np.ones((3, 3))], {}, np.linalg.det(np.ones((3, 3))))
case("det", [np.zeros((2, 2))], {}, np.linalg.det(np.zeros((2, 2))))
case("slogdet", [np.zeros((2, 2))], {}, list(np.linalg.slogdet(np.zeros((2, 2)))))
case("det", [np.diag([1e200, 1e200, 1e-200, 1e-200])], {}, np.array(1.0))
case("det", [np.diag([1e-200, 1e-200, 1e200, 1e200])], {}, np.array(1.0))
case("slogdet", [np.diag([1e-300] * 5)], {}, list(np.linalg.slogdet(np.diag([1e-300] * 5))))
case("slogdet", [np.diag([-1e300] * 5)], {}, list(np.linalg.slogdet(np.diag([-1e300] * 5))))
for scale in (1e-150, 1e150):
    loose = {"rtol": 1e-10, "atol": 0}
    a = make((5, 5)) * scale
    case("svdvals", [a], {}, np.linalg.svd(a, compute_uv=False), check=loose)
    case("eigvalsh", [a + a.T], {}, np.linalg.eigvalsh(a + a.T), check=loose)
    a = regular((), 4) * scale
    case("inv", [a], {}, np.linalg.inv(a), check={"rtol": 1e-10, "atol": 1e-12 / scale})
for n in (3, 5):
    hilbert = 1 / (np.arange(n)[:, None] + np.arange(n) + 1)
    case("svdvals", [hilbert], {}, np.linalg.svd(hilbert, compute_uv=False))
    case("eigvalsh", [hilbert], {}, np.linalg.eigvalsh(hilbert))
    case("cholesky", [hilbert], {}, np.linalg.cholesky(hilbert), check={"rtol": 1e-8, "atol": 1e-9})
    case("cond", [hilbert], {}, np.linalg.cond(hilbert), check={"rtol": 1e-6, "atol": 0})
low = make((6, 2)) @ make((2, 5))
case("matrixRank", [low], {}, np.linalg.matrix_rank(low))
case("matrixRank", [np.stack([np.eye(3), np.diag([1.0, 0, 0]), np.zeros((3, 3))])], {},
     np.linalg.matrix_rank(np.stack([np.eye(3), np.diag([1.0, 0, 0]), np.zeros((3, 3))])))
case("matrixRank", [np.diag([1, 1e-3, 1e-9])], {"rtol": 1e-6}, np.linalg.matrix_rank(np.diag([1, 1e-3, 1e-9]), rtol=1e-6))
case("matrixRank", [np.array([0.0, 0.0])], {}, np.linalg.matrix_rank(np.array([0.0, 0.0])))
case("matrixRank", [np.array([0.0, 2.0])], {}, np.linalg.matrix_rank(np.array([0.0, 2.0])))
case("pinv", [low], {"rtol": 1e-10}, np.linalg.pinv(low, rtol=1e-10))
case("pinv", [np.diag([1, 1e-3, 1e-9])], {"rtol": 1e-6}, np.linalg.pinv(np.diag([1, 1e-3, 1e-9]), rtol=1e-6))
case("pinv", [np.zeros((2, 3))], {}, np.linalg.pinv(np.zeros((2, 3))))

# Least squares: tall, wide, square, short of rank.
for dtype in ("f32", "f64", "i32"):
    for m, n, k in ((5, 3, 2), (5, 3, None), (3, 5, 2), (4, 4, 1), (6, 2, 0), (1, 1, None)):
        a = make((m, n), dtype) if dtype != "i32" else (make((m, n), dtype) + 7 * np.eye(m, n, dtype=np.int32)).astype(np.int32)
        b = make((m,) if k is None else (m, k), dtype)
        x, res, rank, s = np.linalg.lstsq(a, b)
        case("lstsq", [a, b], {}, [x, res, np.array(float(rank)), s], dtype)
x, res, rank, s = np.linalg.lstsq(low, make((6, 2)), rcond=1e-10)
b = make((6, 2))
x, res, rank, s = np.linalg.lstsq(low, b, rcond=1e-10)
case("lstsq", [low, b], {"rtol": 1e-10}, [x, res, np.array(float(rank)), s])

# Norms and condition numbers.
ORDERS = ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]
coded = {np.inf: "Infinity", -np.inf: "-Infinity"}
for dtype in ("f32", "f64", "i32"):
    for ord in ORDERS:
        for shape in ((3, 3), (2, 4), (2, 3, 2), (2, 2, 3, 3)):
            a = make(shape, dtype)
            for keep in (False, True):
                e = np.linalg.matrix_norm(a, ord=ord, keepdims=keep)
                case("matrixNorm", [a], {"ord": coded.get(ord, ord), "keepdims": keep}, e.astype(DTYPES[floats(dtype)]), dtype)
        a = regular((2,), 3, dtype)
        case("cond", [a], {"ord": coded.get(ord, ord)}, np.linalg.cond(a, ord).astype(DTYPES[floats(dtype)]), dtype)
    for ord in (0, 1, 2, 3, 2.5, -1, -2, 0.5, np.inf, -np.inf):
        for shape, axis in (((4,), None), ((3, 4), None), ((3, 4), 0), ((3, 4), -1), ((2, 3, 4), [0, 2]), ((), None)):
            a = make(shape, dtype)
            if ord in (-1, -2):
                a = np.where(a == 0, 1, a).astype(a.dtype)
            for keep in (False, True):
                e = np.linalg.vector_norm(a, ord=ord, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keep)
                params = {"ord": coded.get(ord, ord), "keepdims": keep}
                if axis is not None:
                    params["axis"] = axis
                case("vectorNorm", [a], params, np.asarray(e).astype(DTYPES[floats(dtype)]), dtype)
for a in (np.zeros(3), np.array([np.inf, 1]), np.array([np.nan, 1]), np.zeros((0,)), np.array([-0.0])):
    case("vectorNorm", [a], {}, np.linalg.vector_norm(a))
for scale in (1e-200, 1e200):
    a = make((4,)) * scale
    case("vectorNorm", [a], {}, np.array(np.linalg.norm(a / scale) * scale), check={"rtol": 1e-12, "atol": 0})
case("vectorNorm", [np.array([3e30, 4e30], np.float32)], {}, np.array(5e30, np.float32), "f32")
case("cond", [np.ones((3, 3))], {"ord": 1}, np.linalg.cond(np.array([[1.0, 0], [0, 0]]), 1))
case("cond", [np.array([[1.0, 0], [0, 0]])], {}, np.linalg.cond(np.array([[1.0, 0], [0, 0]])))
case("cond", [np.zeros((2, 2))], {}, np.linalg.cond(np.zeros((2, 2))))

# Powers, traces, diagonals.
for dtype in ("f32", "f64", "i32", "i64", "u8"):
    for batch in ((), (2,)):
        for n in (0, 1, 2, 3, 5, -1, -2):
            a = regular(batch, 3, dtype)
            e = np.linalg.matrix_power(a, n)
            case("matrixPower", [a], {"n": n}, e, dtype, EXACT if dtype[0] in "iu" and n >= 0 else None)
        a = make((*batch, 3, 4), dtype)
        for offset in (0, 1, -2):
            case("trace", [a], {"offset": offset}, np.linalg.trace(a, offset=offset), dtype)
            case("diagonal", [a], {"offset": offset}, np.linalg.diagonal(a, offset=offset), dtype)

# Mistakes.
def wrong(op, arrays, params=None):
    ref.add(op, [laid(a) for a in arrays], params or {}, {"error": op})


for op in ("inv", "det", "slogdet", "cholesky", "eigvalsh"):
    wrong(op, [make((2, 3))])
    wrong(op, [make((3,))])
    wrong(op, [make((2, 2)).astype(np.float16)])
wrong("inv", [np.zeros((2, 2))])
wrong("inv", [np.stack([np.eye(2), np.zeros((2, 2))])])
wrong("inv", [np.array([[1.0, 2], [2, 4]])])
wrong("solve", [np.zeros((2, 2)), make((2,))])
wrong("solve", [make((2, 2)), make((3,))])
wrong("solve", [make((2, 2)), make((3, 2))])
wrong("solve", [make((3, 2, 2)), make((2, 2, 2))])
wrong("solve", [make((2, 2)), np.array(1.0)])
wrong("cholesky", [-np.eye(3)])
wrong("cholesky", [np.diag([1.0, 0, 1])])
wrong("cholesky", [np.diag([1.0, np.nan, 1])])
wrong("eigvalsh", [np.array([[np.nan, 0], [0, 1]])])
wrong("svdvals", [np.array([[np.inf, 0], [0, 1]])])
wrong("svdvals", [make((3,))])
wrong("qr", [make((3,))], {"mode": "reduced"})
wrong("qr", [make((3, 3))], {"mode": "raw"})
wrong("matrixNorm", [make((3, 3))], {"ord": 3})
wrong("matrixNorm", [make((3,))], {"ord": "fro"})
wrong("matrixPower", [make((2, 3))], {"n": 2})
wrong("matrixPower", [make((2, 2))], {"n": 1.5})
wrong("matrixPower", [np.zeros((2, 2))], {"n": -1})
wrong("lstsq", [make((3, 2)), make((4,))])
wrong("cond", [make((2, 3))], {"ord": 1})
wrong("cond", [make((0, 0))], {})

ref.save()
