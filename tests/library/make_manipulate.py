"""Reference values for joining, repeating, padding and rearranging."""
import itertools

import numpy as np
from reference import DTYPES, LAYOUTS, Reference, laid, plain

ref = Reference("manipulate")
rng = np.random.default_rng(11)
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
    for k in range(0, flat.size, 7):
        flat[k] = [np.nan, -0.0, np.inf, -np.inf][(k // 7) % 4]
    return a.astype(d)


def any_dtype():
    return NAMES[rng.integers(len(NAMES))]


def lay_of(a):
    return laid(a, next(lay) if np.size(a) else "plain")


SHAPES = [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 2), (0, 3), (2, 0, 3)]

# concat, stack
for shape in SHAPES:
    for axis in range(-len(shape), len(shape)):
        for count in (1, 2, 3):
            dtype = any_dtype()
            parts = []
            for _ in range(count):
                s = list(shape)
                s[axis] = int(rng.integers(0, 4))
                parts.append(some(s, dtype))
            ref.add("concat", [lay_of(p) for p in parts], {"axis": axis}, np.concatenate(parts, axis))
    for axis in range(-len(shape) - 1, len(shape) + 1):
        parts = [some(shape, dtype) for _ in range(3)]
        ref.add("stack", [lay_of(p) for p in parts], {"axis": axis}, np.stack(parts, axis))
ref.add("stack", [plain(np.float32(1)), plain(np.float32(2))], {"axis": 0}, np.array([1, 2], np.float32))
for a, b in itertools.combinations(NAMES, 2):
    # Values that every dtype holds: what is converted is checked by the casts' own cases.
    x, y = np.array([[0, 1], [1, 0]]).astype(DTYPES[a]), np.array([[1, 1]]).astype(DTYPES[b])
    ref.add("concat", [plain(x), plain(y)], {"axis": 0}, np.concatenate([x, y]))
for shapes in ([(2, 3), (4,)], [(), (2, 2)], [(0,), (3,)], [(2, 3)]):
    parts = [some(s) for s in shapes]
    ref.add("concat", [lay_of(p) for p in parts], {"axis": None}, np.concatenate(parts, axis=None))
ref.add("concat", [plain(some((2, 3))), plain(some((2, 4)))], {"axis": 0}, {"error": "sizes"})
ref.add("concat", [plain(some((2, 3))), plain(some((3,)))], {"axis": 0}, {"error": "ranks"})
ref.add("concat", [plain(some(())), plain(some(()))], {"axis": 0}, {"error": "0-d"})
ref.add("concat", [plain(some((2,)))], {"axis": 1}, {"error": "axis"})
ref.add("stack", [plain(some((2,))), plain(some((3,)))], {"axis": 0}, {"error": "shapes"})
for op, fn in (("hstack", np.hstack), ("vstack", np.vstack)):
    for shapes in ([(), ()], [(3,), (3,)], [(2, 3), (2, 3)], [(2, 3, 1), (2, 3, 1)]):
        parts = [some(s) for s in shapes]
        ref.add(op, [lay_of(p) for p in parts], {}, fn(parts))

# unstack, split, arraySplit
for shape in SHAPES:
    for axis in range(-len(shape), len(shape)):
        a = some(shape, any_dtype())
        ref.add("unstack", [lay_of(a)], {"axis": axis}, [np.take(a, i, axis) for i in range(shape[axis])])
        for parts in (1, 2, 3, 5, [1], [1, 3], [-1], [3, 1], [0, 2, 9], []):
            got = np.array_split(a, parts, axis)
            ref.add("arraySplit", [lay_of(a)], {"parts": parts, "axis": axis}, got)
            if not isinstance(parts, int) or shape[axis] % parts == 0:
                ref.add("split", [lay_of(a)], {"parts": parts, "axis": axis}, np.split(a, parts, axis))
            else:
                ref.add("split", [lay_of(a)], {"parts": parts, "axis": axis}, {"error": "unequal"})

# repeat, tile
for shape in [(), *SHAPES]:
    for axis in [None, *range(-len(shape), len(shape))]:
        a = some(shape, any_dtype())
        size = a.size if axis is None else shape[axis]
        for repeats in (0, 1, 3, [2], rng.integers(0, 4, size).tolist()):
            ref.add("repeat", [lay_of(a)], {"repeats": repeats, "axis": axis}, np.repeat(a, repeats, axis))
    for reps in (0, 1, 2, [2], [2, 1], [1, 2, 3], [2, 0], [1, 1, 1, 2], []):
        a = some(shape, any_dtype())
        ref.add("tile", [lay_of(a)], {"reps": reps}, np.tile(a, reps))
ref.add("repeat", [plain(some(3))], {"repeats": [1, 2], "axis": 0}, {"error": "counts"})
ref.add("repeat", [plain(some(3))], {"repeats": -1, "axis": 0}, {"error": "negative"})

# roll
for shape in [(), *SHAPES]:
    for shift in (0, 1, -2, 7, -13):
        a = some(shape, any_dtype())
        ref.add("roll", [lay_of(a)], {"shift": shift, "axis": None}, np.roll(a, shift))
        for axis in range(-len(shape), len(shape)):
            a = some(shape, any_dtype())
            ref.add("roll", [lay_of(a)], {"shift": shift, "axis": axis}, np.roll(a, shift, axis))
    if len(shape) > 1:
        for shift, axis in (([1, 2], [0, 1]), ([1, -1], [0, -1]), (1, [0, 1]), ([1, 2], [0, 0]), ([2, 1], 0)):
            a = some(shape, any_dtype())
            ref.add("roll", [lay_of(a)], {"shift": shift, "axis": axis}, np.roll(a, shift, axis))

# pad
MODES = ("constant", "edge", "reflect", "symmetric", "wrap")
for shape in [(5,), (1,), (2,), (3, 4), (1, 3), (2, 3, 4), (2, 1, 3, 2)]:
    for mode in MODES:
        widths = [0, 1, 2, (1, 0), (0, 3), (7, 9), [(1 + d % 2, 2 * d) for d in range(len(shape))]]
        for width in widths:
            a = some(shape, any_dtype())
            ref.add("pad", [lay_of(a)], {"width": width, "mode": mode}, np.pad(a, width, mode=mode))
for dtype in NAMES:
    a = some((2, 3), dtype)
    ref.add("pad", [lay_of(a)], {"width": 1, "mode": "constant", "value": 1}, np.pad(a, 1, constant_values=1))
for value in ("NaN", "-0", "Infinity", 2.5):
    a = some((2, 3))
    ref.add("pad", [lay_of(a)], {"width": [(0, 1), (2, 0)], "mode": "constant", "value": value},
            np.pad(a, [(0, 1), (2, 0)], constant_values=float(value)))
ref.add("pad", [plain(some((0, 2)))], {"width": 1, "mode": "constant"}, np.pad(some((0, 2)) * 0, 1))
ref.add("pad", [plain(some((0, 2)))], {"width": [(0, 0), (1, 1)], "mode": "edge"}, np.zeros((0, 4), np.float32))
for mode in MODES[1:]:
    ref.add("pad", [plain(some((0, 2)))], {"width": 1, "mode": mode}, {"error": "empty"})
ref.add("pad", [plain(some(3))], {"width": -1, "mode": "constant"}, {"error": "negative"})
ref.add("pad", [plain(some(3))], {"width": 1.5, "mode": "constant"}, {"error": "fraction"})
ref.add("pad", [plain(some(3))], {"width": 1, "mode": "none"}, {"error": "mode"})
ref.add("pad", [plain(some((3, 3)))], {"width": [[1, 1], [1, 1], [1, 1]], "mode": "edge"}, {"error": "pairs"})

# rearranging
for shape in SHAPES:
    n = len(shape)
    axes = list(range(-n, n))
    for axis in [None, *axes]:
        a = some(shape, any_dtype())
        ref.add("flip", [lay_of(a)], {"axis": axis}, np.flip(a, axis))
    if n > 1:
        for k in range(-5, 6):
            a = some(shape, any_dtype())
            plane = [int(x) for x in rng.permutation(n)[:2]]
            ref.add("rot90", [lay_of(a)], {"k": k, "axes": plane}, np.rot90(a, k, plane))
        a = some(shape, any_dtype())
        ref.add("matrixTranspose", [lay_of(a)], {}, np.matrix_transpose(a))
    for p in itertools.islice(itertools.permutations(range(n)), 8):
        a = some(shape, any_dtype())
        ref.add("permuteDims", [lay_of(a)], {"axes": list(p)}, np.transpose(a, p))
    for i, j in itertools.product(axes, axes):
        a = some(shape, "i8")
        ref.add("swapAxes", [lay_of(a)], {"a": i, "b": j}, np.swapaxes(a, i, j))
        ref.add("moveAxis", [lay_of(a)], {"source": i, "destination": j}, np.moveaxis(a, i, j))
    for axis in range(-n - 1, n + 1):
        a = some(shape, any_dtype())
        ref.add("expandDims", [lay_of(a)], {"axis": axis}, np.expand_dims(a, axis))
    a = some(shape, any_dtype())
    ref.add("squeeze", [lay_of(a)], {}, np.squeeze(a))
    ref.add("ravel", [lay_of(a)], {}, np.ravel(a))
    ref.add("flatten", [lay_of(a)], {}, a.flatten())
    ref.add("reshape", [lay_of(a)], {"shape": [a.size]}, a.reshape(a.size))
    ref.add("broadcastTo", [lay_of(a)], {"shape": [2, *shape]}, np.broadcast_to(a, (2, *shape)))
a = some((1, 2, 1))
ref.add("squeeze", [plain(a)], {"axis": 0}, np.squeeze(a, 0))
ref.add("squeeze", [plain(a)], {"axis": [0, -1]}, np.squeeze(a, (0, -1)))
ref.add("squeeze", [plain(a)], {"axis": 1}, {"error": "size 2"})
for shapes in ([(3, 1), (4,)], [(2, 3), ()], [(2, 1, 3), (4, 1)], [(0, 1), (3,)], [(2,)]):
    parts = [some(s, any_dtype()) for s in shapes]
    ref.add("broadcastArrays", [lay_of(p) for p in parts], {}, list(np.broadcast_arrays(*parts)))
for shape in [(), (3,), (2, 3), (2, 3, 4), (1, 2, 3, 4), (0,)]:
    a = some(shape, any_dtype())
    for k, fn in ((1, np.atleast_1d), (2, np.atleast_2d), (3, np.atleast_3d)):
        ref.add("atleast", [lay_of(a)], {"k": k}, fn(a))

ref.save()
