"""Reference cases for sets: python3 make_sets.py."""
import numpy as np

from reference import DTYPES, LAYOUTS, Reference, laid, plain

rng = np.random.default_rng(20260702)
ref = Reference("sets")
ANY_ZERO = {"rtol": 0, "atol": 0, "zero_sign": "any"}


def draw(dtype, shape, kind):
    d = np.dtype(dtype)
    if d.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if d.kind in "iu":
        info = np.iinfo(d)
        if kind == "few":
            return rng.integers(0, 6, shape).astype(d)
        return rng.integers(info.min, info.max, shape, dtype=d, endpoint=True)
    a = rng.integers(-3, 3, shape).astype(d)
    if kind == "special":
        a = rng.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5]), shape).astype(d)
    return a


def kinds(dtype):
    return ("few", "special") if np.dtype(dtype).kind == "f" else ("few", "wide")


def first(a, indices):
    """The element that is first among its equals: -0 or 0, as it came."""
    return a.ravel()[indices]


def uniques(a, layout):
    x = [laid(a, layout)]
    values, indices, inverse, counts = np.unique(a, return_index=True, return_inverse=True, return_counts=True)
    all_of = [first(a, indices), indices, inverse, counts]
    ref.add("unique", x, {}, first(a, indices))
    ref.add("unique_all", x, {"equalNan": True}, all_of)
    ref.add("unique", x, {"returnCounts": True}, [first(a, indices), counts])
    every = np.unique_all(a)
    # NumPy's own unique_values has no order; each NaN is distinct in all four.
    ref.add("unique_values", x, {}, first(a, every.indices))
    ref.add("unique_counts", x, {}, [first(a, every.indices), every.counts])
    ref.add("unique_inverse", x, {}, [first(a, every.indices), every.inverse_indices])
    ref.add("unique_all", x, {}, [first(a, every.indices), every.indices, every.inverse_indices, every.counts])


for name, dtype in DTYPES.items():
    for kind in kinds(dtype):
        for i, shape in enumerate([(11,), (3, 4), (2, 2, 3), (70,)]):
            uniques(draw(dtype, shape, kind), LAYOUTS[(len(ref.cases) + i) % len(LAYOUTS)])
uniques(np.zeros(0, np.float32), "plain")
uniques(np.zeros((2, 0), np.int64), "plain")
uniques(np.float64(3), "plain")
uniques(np.float32(np.nan), "plain")

# Whole slices
for name, dtype in DTYPES.items():
    for shape, axis in (((6, 2), 0), ((2, 7), 1), ((4, 2, 2), 0), ((2, 5, 2), -2), ((9,), 0), ((3, 1), -1)):
        a = rng.integers(0, 2, shape).astype(dtype)
        values, indices, inverse, counts = np.unique(a, axis=axis, return_index=True, return_inverse=True,
                                                     return_counts=True)
        ref.add("unique_axis", [laid(a, LAYOUTS[len(ref.cases) % len(LAYOUTS)])], {"axis": axis},
                [values, indices, inverse.ravel(), counts])
ref.add("unique_axis", [plain(np.zeros((2, 2)))], {"axis": 2}, {"error": "no such axis"})

for name, dtype in DTYPES.items():
    for other in (dtype, np.dtype("int16"), np.dtype("float64"), np.dtype("uint64")):
        for kind in kinds(dtype):
            a = draw(dtype, (3, 5), kind)
            b = draw(other, (7,), kinds(other)[kinds(dtype).index(kind)])
            x = [laid(a, LAYOUTS[len(ref.cases) % len(LAYOUTS)]), plain(b)]
            ref.add("isin", x, {}, np.isin(a, b, kind="sort"))
            ref.add("isin", x, {"invert": True}, np.isin(a, b, invert=True, kind="sort"))
            ref.add("union1d", x, {}, np.union1d(a, b), ANY_ZERO)
            values, ia, ib = np.intersect1d(a, b, return_indices=True)
            ref.add("intersect1d", x, {}, values, ANY_ZERO)
            ref.add("intersect1d", x, {"returnIndices": True}, [values, ia, ib], ANY_ZERO)
            ref.add("setdiff1d", x, {}, np.setdiff1d(a, b), ANY_ZERO)
            ref.add("setxor1d", x, {}, np.setxor1d(a, b), ANY_ZERO)
            # Distinct elements keep their order where they are known to be distinct.
            u = rng.permutation(np.unique(a))
            ref.add("setdiff1d", [plain(u), plain(b)], {"assumeUnique": True},
                    np.setdiff1d(u, b, assume_unique=True), ANY_ZERO)
empty = np.zeros(0, np.float32)
some = np.array([2, 1, 2], np.float32)
for a, b in ((empty, some), (some, empty), (empty, empty)):
    x = [plain(a), plain(b)]
    ref.add("isin", x, {}, np.isin(a, b))
    ref.add("union1d", x, {}, np.union1d(a, b))
    ref.add("intersect1d", x, {}, np.intersect1d(a, b))
    ref.add("setdiff1d", x, {}, np.setdiff1d(a, b))
    ref.add("setxor1d", x, {}, np.setxor1d(a, b))

ref.save()
