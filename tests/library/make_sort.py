"""Reference cases for sorting and searching: python3 make_sort.py."""
import numpy as np

from reference import DTYPES, LAYOUTS, Reference, laid, plain

rng = np.random.default_rng(20260701)
ref = Reference("sort")
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45]


def draw(dtype, shape, kind="wide"):
    """Values of the dtype: over its whole range, few distinct ones, or (floats) with every special one."""
    d = np.dtype(dtype)
    if d.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if d.kind in "iu":
        info = np.iinfo(d)
        if kind == "few":
            return rng.integers(0, 4, shape).astype(d)
        return rng.integers(info.min, info.max, shape, dtype=d, endpoint=True)
    if kind == "few":
        return rng.integers(-2, 2, shape).astype(d)
    a = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(d)
    if kind == "special":
        with np.errstate(all="ignore"):
            a = np.where(rng.random(shape) < 0.7, rng.choice(np.array(SPECIAL), shape), a).astype(d)
    return a


def kinds(dtype):
    return ("wide", "few", "special") if np.dtype(dtype).kind == "f" else ("wide", "few")


def descending(a, axis):
    """Downwards and stable: the reverse of the stable order of the reverse."""
    n = a.shape[axis]
    return np.flip(n - 1 - np.argsort(np.flip(a, axis), axis=axis, kind="stable"), axis)


def add_sorts(a, axis, layout):
    ref.add("sort", [laid(a, layout)], {"axis": axis}, np.sort(a, axis=axis, kind="stable"))
    ref.add("argsort", [laid(a, layout)], {"axis": axis}, np.argsort(a, axis=axis, kind="stable"))
    down = descending(a, axis)
    ref.add("argsort", [laid(a, layout)], {"axis": axis, "descending": True}, down)
    ref.add("sort", [laid(a, layout)], {"axis": axis, "descending": True}, np.take_along_axis(a, down, axis))


for name, dtype in DTYPES.items():
    for kind in kinds(dtype):
        for n in (1, 2, 7, 45, 130):
            add_sorts(draw(dtype, n, kind), -1, "plain")
    for i, shape in enumerate([(3, 5), (4, 1), (2, 3, 4)]):
        for axis in range(-len(shape), len(shape)):
            kind = kinds(dtype)[(i + axis) % len(kinds(dtype))]
            add_sorts(draw(dtype, shape, kind), axis, LAYOUTS[(i + axis) % len(LAYOUTS)])
for layout in LAYOUTS:
    for dtype in ("float32", "int16", "float64", "uint8"):
        add_sorts(draw(dtype, (5, 6), "few"), 0, layout)
        add_sorts(draw(dtype, 9), -1, layout)
for shape, axis in (((0,), -1), ((0, 3), 0), ((0, 3), 1), ((3, 0), -1), ((3, 0), 0)):
    add_sorts(np.zeros(shape, np.float32), axis, "plain")
for n in (3100, 5000):
    for dtype in ("float32", "uint16"):
        add_sorts(draw(dtype, n, "few"), 0, "plain")
ref.add("sort", [plain(np.float32(3))], {}, {"error": "a scalar has no axis"})
ref.add("sort", [plain(np.zeros((2, 3)))], {"axis": 2}, {"error": "no such axis"})

# lexsort
for name, dtype in DTYPES.items():
    for rows in (1, 2, 4):
        a = draw(dtype, (rows, 15), "few")
        ref.add("lexsort", [laid(a, LAYOUTS[rows])], {}, np.lexsort(a))
        ref.add("lexsort", [plain(r) for r in a], {"list": True}, np.lexsort(a))
ref.add("lexsort", [plain(np.zeros(3)), plain(np.zeros(4))], {"list": True}, {"error": "lengths differ"})

# topk: the first k of the stable order.
for name, dtype in DTYPES.items():
    for largest in (True, False):
        for shape, axis in (((9,), -1), ((4, 6), 0), ((3, 4, 5), 1), ((700,), 0)):
            a = draw(dtype, shape, kinds(dtype)[-1] if len(shape) == 1 else "few")
            size = a.shape[axis]
            for k in (0, 1, 3, size):
                if size > 600 and k not in (1, 3):
                    continue
                order = descending(a, axis) if largest else np.argsort(a, axis=axis, kind="stable")
                at = np.take(order, np.arange(k), axis=axis)
                layout = LAYOUTS[k % len(LAYOUTS)]
                ref.add("topk", [laid(a, layout)], {"k": k, "axis": axis, "largest": largest},
                        [np.take_along_axis(a, at, axis), at])
ref.add("topk", [plain(np.arange(3.0))], {"k": 4}, {"error": "more than there are"})
ref.add("topk", [plain(np.arange(3.0))], {"k": -1}, {"error": "a negative count"})

# searchsorted
for name, dtype in DTYPES.items():
    for other in (dtype, np.dtype("float64"), np.dtype("int32")):
        for kind in kinds(dtype):
            a = np.sort(draw(dtype, 12, kind))
            v = draw(other, (3, 4), "special" if other.kind == "f" else "few")
            for side in ("left", "right"):
                layout = LAYOUTS[len(ref.cases) % len(LAYOUTS)]
                ref.add("searchsorted", [laid(a, layout), laid(v, layout)], {"side": side},
                        np.searchsorted(a, v, side))
for n in (0, 1, 2, 3, 4, 5, 31, 32, 33):
    a = np.sort(draw("float32", n, "few"))
    v = draw("float32", 7, "few")
    ref.add("searchsorted", [plain(a), plain(v)], {}, np.searchsorted(a, v))
    ref.add("searchsorted", [plain(a), plain(np.float32(0))], {"side": "right"},
            np.asarray(np.searchsorted(a, np.float32(0), "right")))
    b = draw("int32", n, "few")
    sorter = np.argsort(b, kind="stable")
    ref.add("searchsorted", [plain(b), plain(v.astype("int32")), plain(sorter)], {"side": "left"},
            np.searchsorted(b, v.astype("int32"), sorter=sorter))
ref.add("searchsorted", [plain(np.zeros((2, 2))), plain(np.zeros(2))], {}, {"error": "not a vector"})
ref.add("searchsorted", [plain(np.arange(3.0)), plain(np.zeros(2)), plain(np.array([0, 1, 3]))], {},
        {"error": "out of range"})
ref.add("searchsorted", [plain(np.arange(3.0)), plain(np.zeros(2)), plain(np.array([0, 1, -1]))], {},
        {"error": "out of range"})

# digitize
for right in (False, True):
    for reverse in (False, True):
        for dtype in ("float32", "float64", "int32"):
            edges = np.unique(draw(dtype, 6, "few"))[:: -1 if reverse else 1]
            x = draw(dtype, (2, 5), "few")
            ref.add("digitize", [plain(x), laid(edges, "stepped")], {"right": right},
                    np.digitize(x, edges, right=right))
ref.add("digitize", [plain(np.zeros(2)), plain(np.array([1.0, 3.0, 2.0]))], {}, {"error": "no order"})

ref.save()
