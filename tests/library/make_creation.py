"""Reference values for what is made after a model or a rule."""
import itertools

import numpy as np
from reference import DTYPES, LAYOUTS, Reference, laid, plain

ref = Reference("creation")
rng = np.random.default_rng(13)
lay = itertools.cycle(LAYOUTS)
NAMES = list(DTYPES)


def some(shape, dtype="f32"):
    d = DTYPES[dtype]
    if d.kind == "b":
        return rng.integers(0, 2, shape).astype(d)
    if d.kind in "iu":
        info = np.iinfo(d)
        return rng.integers(info.min, info.max, shape, dtype=d, endpoint=True)
    a = rng.integers(-50, 50, shape).astype(np.float64) / 4
    flat = a.reshape(-1)
    for k in range(0, flat.size, 5):
        flat[k] = [np.nan, -0.0, np.inf, -np.inf][(k // 5) % 4]
    return a.astype(d)


def lay_of(a):
    return laid(a, next(lay) if np.size(a) else "plain")


# tril, triu
for shape in [(3, 3), (2, 5), (5, 2), (1, 1), (2, 3, 4), (2, 1, 3, 3), (0, 3), (3, 0), (7, 17)]:
    for k in (-9, -2, -1, 0, 1, 2, 9):
        for op, fn in (("tril", np.tril), ("triu", np.triu)):
            a = some(shape, NAMES[rng.integers(len(NAMES))])
            ref.add(op, [lay_of(a)], {"k": k}, fn(a, k))
for dtype in NAMES:
    for layout in LAYOUTS:
        a = some((4, 6), dtype)
        ref.add("tril", [laid(a, layout)], {"k": 1}, np.tril(a, 1))
        ref.add("triu", [laid(a, layout)], {"k": -1}, np.triu(a, -1))
ref.add("tril", [plain(some(3))], {"k": 0}, {"error": "a vector"})
ref.add("triu", [plain(some((3, 3)))], {"k": 0.5}, {"error": "k"})

# diag
for dtype in NAMES:
    for k in (-2, 0, 1):
        v, m = some(3, dtype), some((3, 4), dtype)
        ref.add("diag", [lay_of(v)], {"k": k}, np.diag(v, k))
        ref.add("diag", [lay_of(m)], {"k": k}, np.diag(m, k))
ref.add("diag", [plain(some(0))], {"k": 2}, np.zeros((2, 2), np.float32))
ref.add("diag", [plain(some((2, 2, 2)))], {"k": 0}, {"error": "rank 3"})

# full_like and the like
for dtype in NAMES:
    for other in NAMES:
        a = some((2, 3), dtype)
        ref.add("zerosLike", [lay_of(a)], {"dtype": other}, np.zeros_like(a, dtype=DTYPES[other]))
        ref.add("onesLike", [lay_of(a)], {"dtype": other}, np.ones_like(a, dtype=DTYPES[other]))
    ref.add("fullLike", [lay_of(a)], {"value": 7}, np.full_like(a, 7))
    ref.add("zerosLike", [lay_of(a)], {}, np.zeros_like(a))
    ref.add("zerosLike", [plain(a)], {"shape": [4]}, np.zeros_like(a, shape=(4,)))
for shape in [(), (0,), (2, 0, 3), (5,), (2, 3, 4)]:
    a = some(shape)
    ref.add("onesLike", [lay_of(a)], {}, np.ones_like(a))
ref.add("fullLike", [plain(some(2))], {"value": "NaN"}, np.full(2, np.nan, np.float32))

# meshgrid
for count in (1, 2, 3, 4):
    for indexing in ("xy", "ij"):
        for sparse in (False, True):
            vs = [some(n, NAMES[rng.integers(len(NAMES))]) for n in [3, 2, 4, 1][:count]]
            ref.add("meshgrid", [lay_of(v) for v in vs], {"indexing": indexing, "sparse": sparse},
                    list(np.meshgrid(*vs, indexing=indexing, sparse=sparse)))
v = some(())
ref.add("meshgrid", [plain(v), plain(some(0))], {"indexing": "xy", "sparse": False}, list(np.meshgrid(v, some(0))))
ref.add("meshgrid", [plain(some(2))], {"indexing": "yx", "sparse": False}, {"error": "indexing"})
ref.add("meshgrid", [plain(some((2, 2)))], {"indexing": "xy", "sparse": False}, {"error": "matrix"})

# fromFunction: the functions are in the test, under these names
FUNCTIONS = {
    "sum": (lambda *i: sum(i) + 0.0, [(4,), (3, 4), (2, 3, 4), (0, 3), (3, 0)]),
    "table": (lambda i, j: 10 * i + j, [(3, 4), (1, 7)]),
    "equal": (lambda i, j: i == j, [(3, 4), (5, 5)]),
    "first": (lambda i, j: i * 2, [(3, 4)]),
}
for name, (fn, shapes) in FUNCTIONS.items():
    for shape in shapes:
        full = np.broadcast_to(np.fromfunction(fn, shape), shape)
        for dtype in ("f32", "f64", "i32", "i64", "u8", "f16", "bool"):
            ref.add("fromFunction", [], {"name": name, "shape": shape, "dtype": dtype}, full.astype(DTYPES[dtype]))
        ref.add("fromFunction", [], {"name": name, "shape": shape}, full if full.dtype == bool else full.astype(np.float32))

# oneHot
for shape in [(), (4,), (2, 3), (0,)]:
    for itype in ("i64", "i32", "i8", "u8", "u16", "u32", "u64", "i16"):
        i = rng.integers(0, 6, shape).astype(DTYPES[itype])
        for axis in range(-len(shape) - 1, len(shape) + 1):
            hot = np.moveaxis(np.asarray(i)[..., None] == np.arange(5), -1, axis)
            dtype = NAMES[rng.integers(len(NAMES))]
            ref.add("oneHot", [lay_of(i)], {"depth": 5, "axis": axis, "dtype": dtype}, hot.astype(DTYPES[dtype]))
i = np.array([-1, 0, 1, 7])
ref.add("oneHot", [plain(i)], {"depth": 3}, (i[:, None] == np.arange(3)).astype(np.float32))
ref.add("oneHot", [plain(i)], {"depth": 3, "on": 2.5, "off": -1, "dtype": "f64"},
        np.where(i[:, None] == np.arange(3), 2.5, -1.0))
ref.add("oneHot", [plain(i)], {"depth": 0}, np.zeros((4, 0), np.float32))
ref.add("oneHot", [plain(i)], {"depth": -1}, {"error": "depth"})
ref.add("oneHot", [plain(i * 1.0)], {"depth": 3}, {"error": "floats"})

# arange, linspace, eye, full
for dtype in NAMES:
    if dtype == "bool":
        continue
    d = DTYPES[dtype]
    for start, stop, step in ((0, 7, 1), (2, 20, 3), (10, 0, -1), (5, 5, 1), (3, 1, 1)):
        if step < 0 and d.kind == "u":
            continue
        ref.add("arange", [], {"args": [start, stop, step], "dtype": dtype}, np.arange(start, stop, step, dtype=d))
    for count in (0, 1, 2, 5, 50):
        ref.add("linspace", [], {"args": [0, 100, count], "dtype": dtype, "endpoint": True},
                np.linspace(0, 100, count).astype(d))
        ref.add("linspace", [], {"args": [1, 9, count], "dtype": dtype, "endpoint": False},
                np.linspace(1, 9, count, endpoint=False).astype(d))
    for n, m, k in ((3, 3, 0), (2, 4, 1), (4, 2, -1), (0, 3, 0), (3, 3, 5)):
        ref.add("eye", [], {"n": n, "columns": m, "k": k, "dtype": dtype}, np.eye(n, m, k, dtype=d))
    for shape in ([], [3], [0, 2], [2, 3]):
        ref.add("full", [], {"shape": shape, "value": 3, "dtype": dtype}, np.full(shape, 3, d))
ref.add("arange", [], {"args": [0, 1, 0.1], "dtype": "f64"}, np.arange(10) * 0.1)

ref.save()
