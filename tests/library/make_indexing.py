"""Reference values for indexing with tensors: reading, writing, masks."""
import itertools

import numpy as np
from reference import DTYPES, LAYOUTS, Reference, laid, plain

ref = Reference("indexing")
rng = np.random.default_rng(7)
INDEX_TYPES = ["i64", "i32", "i16", "i8", "u8", "u16", "u32", "u64"]
SPECIAL = [np.nan, -0.0, np.inf, -np.inf]


def some(shape, dtype="f32"):
    d = DTYPES[dtype]
    if d.kind == "b":
        return rng.integers(0, 2, shape).astype(d)
    if d.kind in "iu":
        info = np.iinfo(d)
        return rng.integers(info.min, info.max, shape, dtype=d, endpoint=True)
    a = rng.integers(-50, 50, shape).astype(np.float64) / 4
    flat = a.reshape(-1)
    for k in range(0, flat.size, 7):
        flat[k] = SPECIAL[(k // 7) % 4]
    return a.astype(d)


def indices(size, shape, dtype="i64", spread=1):
    """Valid indices; signed ones are negative now and then. spread > 1 goes beyond the axis."""
    d = DTYPES[dtype]
    low = -size * spread if d.kind == "i" else 0
    return rng.integers(max(low, np.iinfo(d).min), min(size * spread, np.iinfo(d).max), shape).astype(d)


def layouts():
    return itertools.cycle(LAYOUTS)


SHAPES = [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 2)]
lay = layouts()

# take
for shape in SHAPES:
    for axis in [None, *range(-len(shape), len(shape))]:
        size = int(np.prod(shape)) if axis is None else shape[axis]
        for ishape in [(), (3,), (2, 3), (0,), (1,)]:
            for mode, spread in [("raise", 1), ("wrap", 3), ("clip", 3)]:
                dtype = next(iter(rng.permutation(list(DTYPES))))
                itype = INDEX_TYPES[rng.integers(len(INDEX_TYPES))]
                a, i = some(shape, dtype), indices(size, ishape, itype, spread)
                ref.add("take", [laid(a, next(lay)), laid(i, next(lay))],
                        {"axis": axis, "mode": mode}, np.take(a, i, axis=axis, mode=mode))
for dtype in DTYPES:
    for itype in INDEX_TYPES:
        a, i = some((4, 3), dtype), indices(4, (6,), itype)
        ref.add("take", [plain(a), plain(i)], {"axis": 0}, a[i])
a = some((2, 0, 3))
ref.add("take", [plain(a), plain(np.array([1, 0]))], {"axis": 0}, a[[1, 0]])
ref.add("take", [plain(a), plain(np.zeros((0,), np.int64))], {"axis": 1}, a)
for bad in ([5], [-6], [[0, 1], [2, 9]], [2**40], [-2**63]):
    ref.add("take", [plain(some(5)), plain(np.array(bad, np.int64))], {"axis": 0}, {"error": "out of range"})
ref.add("take", [plain(some(5)), plain(np.array([2**64 - 1], np.uint64))], {"axis": 0}, {"error": "out of range"})
for mode in ("raise", "wrap", "clip"):
    ref.add("take", [plain(a), plain(np.array([0]))], {"axis": 1, "mode": mode}, {"error": "empty axis"})
ref.add("take", [plain(some(5)), plain(np.array([0.0, 1.0]))], {"axis": 0}, {"error": "float indices"})
ref.add("take", [plain(some(5)), plain(np.array([True, False]))], {"axis": 0}, {"error": "bool indices"})

# takeAlongAxis, putAlongAxis
for shape in SHAPES:
    for axis in range(-len(shape), len(shape)):
        for k in (1, 3, 0):
            for broadcast in (False, True):
                dtype = next(iter(rng.permutation(list(DTYPES))))
                itype = INDEX_TYPES[rng.integers(len(INDEX_TYPES))]
                ishape = list(shape)
                ishape[axis] = k
                if broadcast:
                    ishape = [1 if d != axis % len(shape) and rng.random() < 0.6 else n for d, n in enumerate(ishape)]
                a, i = some(shape, dtype), indices(shape[axis], ishape, itype)
                ref.add("takeAlongAxis", [laid(a, next(lay)), laid(i, next(lay))], {"axis": axis},
                        np.take_along_axis(a, i.astype(np.int64), axis))
                v = some([n if rng.random() < 0.7 else 1 for n in ishape], dtype)
                want = a.copy()
                walk = [k if d == axis % len(shape) else n for d, n in enumerate(shape)]
                iw, vw = np.broadcast_to(i, walk), np.broadcast_to(v, walk)
                for w in np.ndindex(*walk):
                    p = list(w)
                    p[axis] = int(iw[w])
                    want[tuple(p)] = vw[w]
                ref.add("putAlongAxis", [laid(a, next(lay)), laid(i, next(lay)), laid(v, next(lay))],
                        {"axis": axis}, want)
ref.add("takeAlongAxis", [plain(some((2, 3))), plain(np.array([[3], [0]]))], {"axis": 1}, {"error": "out of range"})
ref.add("takeAlongAxis", [plain(some((2, 3))), plain(np.array([0]))], {"axis": 1}, {"error": "ranks differ"})
ref.add("putAlongAxis", [plain(some((2, 3))), plain(np.array([[0], [1], [0]])), plain(np.float32(1))], {"axis": 1},
        {"error": "does not broadcast"})
b = some((1, 3))
ref.add("takeAlongAxis", [plain(b), plain(np.array([[0], [2], [-1]]))], {"axis": 1},
        np.take_along_axis(b, np.array([[0], [2], [-1]]), 1))

# gather, assignAt, scatterAdd over several index tensors
for shape in SHAPES:
    for count in range(1, len(shape) + 1):
        for ishapes in ([(3,)], [(2, 3)], [()], [(2, 1), (3,)], [(0,)], [(4,), (1,)]):
            for _ in range(2):
                dtype = next(iter(rng.permutation(list(DTYPES))))
                all_i = [indices(shape[k], ishapes[k % len(ishapes)], INDEX_TYPES[rng.integers(len(INDEX_TYPES))])
                         for k in range(count)]
                a = some(shape, dtype)
                key = tuple(i.astype(np.int64) for i in all_i)
                got = a[key]
                ref.add("gather", [laid(a, next(lay)), *[laid(i, next(lay)) for i in all_i]], {}, got)
                v = some([n if rng.random() < 0.7 else 1 for n in np.shape(got)], dtype)
                want, total = a.copy(), a.copy()
                walk = np.broadcast_shapes(*[i.shape for i in all_i])
                wide = [np.broadcast_to(i, walk) for i in all_i]
                vw = np.broadcast_to(v, np.shape(got))
                for w in np.ndindex(*walk):
                    p = tuple(int(i[w]) for i in wide)
                    want[p] = vw[w]
                ref.add("assignAt", [laid(a, next(lay)), laid(v, next(lay)), *[laid(i, next(lay)) for i in all_i]], {}, want)
                with np.errstate(all="ignore"):
                    np.add.at(total, key, vw)
                ref.add("scatterAdd", [laid(a, next(lay)), laid(v, next(lay)), *[laid(i, next(lay)) for i in all_i]],
                        {}, total)
for dtype in DTYPES:
    a, i, v = some(4, dtype), indices(4, (40,)), some(40, dtype)
    total = a.copy()
    with np.errstate(all="ignore"):
        np.add.at(total, i, v)
    ref.add("scatterAdd", [plain(a), plain(v), plain(i)], {}, total)
ref.add("gather", [plain(some((2, 3))), plain(np.array([0, 2])), plain(np.array([0, 1]))], {}, {"error": "range"})
ref.add("gather", [plain(some((2, 3))), plain(np.array([0, 1])), plain(np.array([0, 1, 2]))], {}, {"error": "shapes"})
ref.add("gather", [plain(some(3)), plain(np.array([0])), plain(np.array([0]))], {}, {"error": "too many"})
ref.add("scatterAdd", [plain(some(3)), plain(some(2)), plain(np.array([0, 3]))], {}, {"error": "range"})

# assignTake, scatterAdd along an axis
for shape in SHAPES:
    for axis in range(-len(shape), len(shape)):
        for ishape in [(3,), (2, 2), (), (0,)]:
            dtype = next(iter(rng.permutation(list(DTYPES))))
            i = indices(shape[axis], ishape)
            a = some(shape, dtype)
            d = axis % len(shape)
            key = (slice(None),) * d + (i,)
            walk = np.shape(a[key])
            v = some([n if rng.random() < 0.7 else 1 for n in walk], dtype)
            want, total = a.copy(), a.copy()
            vw = np.broadcast_to(v, walk)
            for w in np.ndindex(*ishape):
                want[(slice(None),) * d + (int(i[w]),)] = vw[(slice(None),) * d + w]
            ref.add("assignTake", [laid(a, next(lay)), laid(i, next(lay)), laid(v, next(lay))], {"axis": axis}, want)
            with np.errstate(all="ignore"):
                np.add.at(total, key, vw)
            ref.add("scatterAddAxis", [laid(a, next(lay)), laid(i, next(lay)), laid(v, next(lay))], {"axis": axis}, total)

# put
for shape in SHAPES:
    for mode, spread in [("raise", 1), ("wrap", 3), ("clip", 3)]:
        for ishape, vshape in [((4,), (4,)), ((4,), ()), ((5,), (2,)), ((2, 3), (4,)), ((0,), (3,)), ((0,), (0,))]:
            dtype = next(iter(rng.permutation(list(DTYPES))))
            a, v = some(shape, dtype), some(vshape, dtype)
            i = indices(a.size, ishape, "i64", spread)
            want = a.copy()
            np.put(want, i, v, mode=mode)
            ref.add("put", [laid(a, next(lay)), laid(i, next(lay)), laid(v, next(lay))], {"mode": mode}, want)
ref.add("put", [plain(some(3)), plain(np.array([3])), plain(some(1))], {"mode": "raise"}, {"error": "range"})
ref.add("put", [plain(some(3)), plain(np.array([1])), plain(some(0))], {"mode": "raise"}, {"error": "no values"})

# masks
for shape in [(), (5,), (0,), (40,), (3, 4), (5, 7), (2, 3, 4), (3, 0, 2), (2, 1, 3, 2)]:
    for rank in range(len(shape) + 1):
        for chance in (0.5, 0.0, 1.0, 0.1):
            dtype = next(iter(rng.permutation(list(DTYPES))))
            a = some(shape, dtype)
            m = rng.random(shape[:rank]) < chance
            got = a[m]
            ref.add("booleanMask", [laid(a, next(lay) if a.size else "plain"),
                                    laid(m, next(lay) if m.size else "plain")], {}, got)
            v = some([n if rng.random() < 0.7 else 1 for n in got.shape], dtype)
            want = a.copy()
            want[m] = v
            ref.add("assignMask", [laid(a, next(lay) if a.size else "plain"),
                                   laid(m, next(lay) if m.size else "plain"), plain(v)], {}, want)
for dtype in DTYPES:
    a, m = some(100, dtype), rng.random(100) < 0.4
    ref.add("booleanMask", [plain(a), plain(m)], {}, a[m])
ref.add("booleanMask", [plain(some((3, 4))), plain(np.array([True, False]))], {}, {"error": "shape"})
ref.add("booleanMask", [plain(some((3,))), plain(np.array([1, 0, 1]))], {}, {"error": "not bool"})
ref.add("assignMask", [plain(some(3)), plain(np.array([True, True, False])), plain(some(3))], {}, {"error": "3 for 2"})

# nonzero, argwhere, flatnonzero
for shape in [(7,), (0,), (50,), (3, 4), (2, 3, 4), (2, 0), (2, 1, 3, 2), (300,)]:
    for dtype in DTYPES:
        a = np.where(rng.random(shape) < 0.5, some(shape, dtype), DTYPES[dtype].type(0))
        layout = next(lay) if a.size else "plain"
        ref.add("nonzero", [laid(a, layout)], {}, list(np.nonzero(a)))
        ref.add("argwhere", [laid(a, layout)], {}, np.argwhere(a))
        ref.add("flatnonzero", [laid(a, layout)], {}, np.flatnonzero(a))
for x in (0.0, 3.0):
    ref.add("argwhere", [plain(np.float64(x))], {}, np.argwhere(np.float64(x)))
    ref.add("flatnonzero", [plain(np.float64(x))], {}, np.flatnonzero(np.float64(x)))
ref.add("nonzero", [plain(np.float64(1))], {}, {"error": "0-d"})

# compress
for shape in SHAPES:
    for axis in [None, *range(-len(shape), len(shape))]:
        size = int(np.prod(shape)) if axis is None else shape[axis]
        for length in {size, max(size - 1, 0), 0}:
            dtype = next(iter(rng.permutation(list(DTYPES))))
            a, c = some(shape, dtype), rng.integers(0, 2, length).astype(bool)
            ref.add("compress", [laid(a, next(lay)), plain(c)], {"axis": axis}, np.compress(c, a, axis=axis))
ref.add("compress", [plain(some(2)), plain(np.array([True, False, True]))], {"axis": 0}, {"error": "too long"})

ref.save()
