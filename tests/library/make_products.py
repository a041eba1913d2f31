"""Reference values of einsum and of the products: python3 tests/library/make_products.py"""
import numpy as np

from reference import DTYPES, LAYOUTS, Reference, laid

rng = np.random.default_rng(20)
ref = Reference("products")
# Small whole numbers: every sum is exact, whatever its order.
EXACT = {"rtol": 0, "atol": 0, "zero_sign": "any"}
ALL = [d for d in DTYPES]
FLOATS = ["f32", "f64"]


def make(shape, dtype="f64"):
    d = DTYPES[dtype]
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(d)
    low = 0 if dtype.startswith("u") else -3
    return rng.integers(low, 4, shape).astype(d)


def some_layout():
    return LAYOUTS[rng.integers(len(LAYOUTS))]


def case(op, arrays, params, expected, layouts=None):
    layouts = layouts or [some_layout() for _ in arrays]
    ref.add(op, [laid(a, l) for a, l in zip(arrays, layouts)], params, expected, EXACT)


# einsum ------------------------------------------------------------------------------------------------------
FIXED = [
    ("ij->ij", [(2, 3)]), ("ij->ji", [(2, 3)]), ("ij", [(2, 3)]), ("ji", [(2, 3)]), ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]), ("iij->ij", [(3, 3, 2)]), ("iji->j", [(3, 2, 3)]), ("iii->i", [(3, 3, 3)]),
    ("iijj->ij", [(2, 2, 3, 3)]), ("ijij->ji", [(2, 3, 2, 3)]), ("i->", [(4,)]), ("ij->", [(2, 3)]), ("ij->i", [(2, 3)]),
    ("ij->j", [(2, 3)]), ("ijk->ik", [(2, 3, 4)]), ("->", [()]), (",->", [(), ()]), (",i->i", [(), (3,)]),
    ("i,i->", [(4,), (4,)]), ("i,i", [(4,), (4,)]), ("i,i->i", [(4,), (4,)]), ("i,j->ij", [(3,), (4,)]),
    ("i,j->ji", [(3,), (4,)]), ("i,j", [(3,), (4,)]), ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]),
    ("ij,jk->ki", [(2, 3), (3, 4)]), ("ij,kj->ik", [(2, 3), (4, 3)]), ("ji,jk->ik", [(3, 2), (3, 4)]),
    ("ij,ij->", [(2, 3), (2, 3)]), ("ij,ij->i", [(2, 3), (2, 3)]), ("ij,ji->", [(2, 3), (3, 2)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]), ("ij,j->i", [(2, 3), (3,)]), ("ij,i->j", [(2, 3), (2,)]), ("ij,i->ij", [(2, 3), (2,)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)]),
    ("bij,jk->bik", [(2, 3, 4), (4, 5)]), ("ij,bjk->bik", [(3, 4), (2, 4, 5)]), ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 2, 5)]),
    ("bqhd,bkhd->bhqk", [(2, 4, 3, 5), (2, 2, 3, 5)]), ("bhqk,bkhd->bqhd", [(2, 3, 4, 2), (2, 2, 3, 5)]),
    ("ijk,jil->kl", [(2, 3, 4), (3, 2, 5)]), ("ijk,ilm->jklm", [(2, 3, 2), (2, 2, 3)]), ("abcd,cdef->abef", [(2, 2, 3, 2), (3, 2, 2, 2)]),
    ("abcd,dcef->abef", [(2, 2, 3, 2), (2, 3, 2, 2)]), ("ij,kl->ijkl", [(2, 3), (2, 2)]), ("ij,kl->", [(2, 3), (2, 2)]),
    ("ij,kl->il", [(2, 3), (2, 2)]), ("ii,ij->j", [(3, 3), (3, 2)]), ("ii,jj->ij", [(3, 3), (2, 2)]),
    ("...ij->...ji", [(2, 3, 4)]), ("...ij->...ji", [(3, 4)]), ("...", [(2, 3)]), ("i...->...", [(2, 3, 4)]),
    ("i...->i...", [(2, 3)]), ("...i->...", [(2, 3)]), ("...i->", [(4,)]), ("...ii->...i", [(2, 3, 3)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]), ("...ij,...jk->...ik", [(2, 1, 3, 4), (3, 4, 5)]),
    ("...ij,...jk", [(2, 3, 4), (4, 5)]), ("...,...->...", [(2, 1), (3,)]), ("i...,i...->...", [(2, 3), (2, 3)]),
    ("...i,...i->...", [(2, 3), (3,)]), ("i...j,j...->i...", [(2, 3, 4), (4, 3)]), ("b...i,b->...i", [(2, 3, 4), (2,)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]), ("ij,jk,kl,lm->im", [(2, 3), (3, 4), (4, 2), (2, 3)]),
    ("i,j,k->ijk", [(2,), (3,), (2,)]), ("ij,ij,ij->i", [(2, 3)] * 3), ("ij,j,i->", [(2, 3), (3,), (2,)]),
    ("ea,fb,abcd,gc,hd->efgh", [(2, 3), (2, 3), (3, 3, 2, 2), (3, 2), (2, 2)]), ("i,i,i,i->i", [(3,)] * 4),
    ("aij,ajk,akl->ail", [(2, 3, 2), (2, 2, 3), (2, 3, 2)]), ("i,i->i", [(1,), (4,)]), ("ij,jk->ik", [(2, 1), (3, 4)]),
    ("ij,ij->ij", [(1, 3), (2, 1)]), (" i j , j k -> i k ", [(2, 3), (3, 4)]), ("Ab,bC->CA", [(2, 3), (3, 4)]), ("Ba,aC", [(2, 3), (3, 4)]),
    # Nothing to sum, nothing to give.
    ("ij,jk->ik", [(2, 0), (0, 3)]), ("ij,jk->ik", [(0, 2), (2, 3)]), ("i->", [(0,)]), ("i,i->", [(0,), (0,)]),
    ("bij,bjk->bik", [(0, 2, 3), (0, 3, 2)]), ("ii->i", [(0, 0)]), ("ij,ij->i", [(2, 0), (2, 0)]),
]
for subscripts, shapes in FIXED:
    for dtype in ("f32", "f64", "i32"):
        arrays = [make(s, dtype) for s in shapes]
        case("einsum", arrays, {"subscripts": subscripts}, np.einsum(subscripts, *arrays))
for dtype in ALL:
    for subscripts, shapes in (("ij,jk->ik", [(3, 5), (5, 4)]), ("ij->j", [(3, 5)]), ("ij,ij->ij", [(3, 5)] * 2),
                               ("bij,bjk->ikb", [(2, 3, 4), (2, 4, 2)]), ("ij,jk,k->i", [(2, 3), (3, 2), (2,)])):
        arrays = [make(s, dtype) for s in shapes]
        case("einsum", arrays, {"subscripts": subscripts}, np.einsum(subscripts, *arrays))
for a, b in (("f32", "f64"), ("i32", "f64"), ("i8", "i32"), ("u8", "i8"), ("bool", "i32"), ("f16", "f32"), ("i64", "f32")):
    arrays = [make((3, 4), a), make((4, 2), b)]
    case("einsum", arrays, {"subscripts": "ij,jk->ik"}, np.einsum("ij,jk->ik", *arrays))
    arrays = [make((3, 4), a), make((4, 2), a), make((2,), b)]
    case("einsum", arrays, {"subscripts": "ij,jk,k->i"}, np.einsum("ij,jk,k->i", *arrays))


def random_einsum():
    """Any names, any order: what the notation allows."""
    names = "abcde"
    sizes = {x: int(rng.integers(1, 4)) for x in names}
    terms = []
    for _ in range(rng.integers(1, 4)):
        terms.append("".join(rng.choice(list(names), rng.integers(0, 4))))
    seen = sorted(set("".join(terms)))
    keep = [x for x in seen if rng.random() < 0.5]
    rng.shuffle(keep)
    subscripts = ",".join(terms) + ("->" + "".join(keep) if rng.random() < 0.8 else "")
    return subscripts, [tuple(sizes[x] for x in t) for t in terms]


for _ in range(400):
    subscripts, shapes = random_einsum()
    dtype = ["f32", "f64", "i32", "i64"][rng.integers(4)]
    arrays = [make(s, dtype) for s in shapes]
    case("einsum", arrays, {"subscripts": subscripts}, np.einsum(subscripts, *arrays))
for subscripts, shapes in (("ij,jk->ik", [(2, 3), (4, 5)]), ("ij->ijk", [(2, 3)]), ("ij->ii", [(2, 3)]), ("i", [(2, 3)]),
                           ("ijk", [(2, 3)]), ("ij,jk", [(2, 3)]), ("i1", [(2, 3)]), ("ij->->i", [(2, 3)]), ("......", [(2, 3)]),
                           ("ii->i", [(2, 3)]), ("ii", [(1, 3)]), ("i..j", [(2, 3)]), ("ij-i", [(2, 3)]),
                           ("...,...->...", [(2,), (3,)])):
    ref.add("einsum", [laid(make(s)) for s in shapes], {"subscripts": subscripts}, {"error": subscripts})

# products ----------------------------------------------------------------------------------------------------
for dtype in ALL:
    for sa, sb in (((), (2, 3)), ((2, 3), ()), ((4,), (4,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 3, 4), (4,)),
                   ((2, 3, 4), (2, 4, 3)), ((3,), (2, 3, 2)), ((0,), (0,)), ((2, 0), (0, 3)), ((0, 3), (3, 2))):
        a, b = make(sa, dtype), make(sb, dtype)
        case("dot", [a, b], {}, np.dot(a, b))
    for sa, sb in (((), (3,)), ((4,), (4,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((2, 2, 3), (4, 3)), ((2, 0), (3, 0))):
        a, b = make(sa, dtype), make(sb, dtype)
        case("inner", [a, b], {}, np.inner(a, b))
    for sa, sb in (((), ()), ((3,), (4,)), ((2, 2), (3,)), ((0,), (2,))):
        a, b = make(sa, dtype), make(sb, dtype)
        case("outer", [a, b], {}, np.outer(a, b))
    for sa, sb in (((2,), (3,)), ((2, 2), (2, 3)), ((2, 1, 2), (3, 2)), ((), (2, 2)), ((2, 3), ()), ((0, 2), (2, 2))):
        a, b = make(sa, dtype), make(sb, dtype)
        case("kron", [a, b], {}, np.kron(a, b))
    if dtype != "bool":
        for sa, sb, axis in (((4,), (4,), -1), ((2, 3), (2, 3), -1), ((2, 3), (3,), -1), ((2, 1, 4), (3, 4), -1),
                             ((4, 2), (4, 2), 0), ((2, 0), (2, 0), -1)):
            a, b = make(sa, dtype), make(sb, dtype)
            case("vecdot", [a, b], {"axis": axis}, np.vecdot(a, b, axis=axis))
    for shape, kwargs in (((3, 3), {}), ((2, 4), {}), ((4, 2), {"offset": -1}), ((3, 4), {"offset": 2}), ((3, 3), {"offset": 7}),
                          ((2, 3, 3), {}), ((2, 3, 3), {"axis1": 1, "axis2": 2}), ((0, 0), {})):
        a = make(shape, dtype)
        case("trace", [a], kwargs, np.trace(a, **kwargs))
    a = make((2, 3, 4), dtype)
    case("matrixTranspose", [a], {}, np.matrix_transpose(a))
for dtype in ("f32", "f64", "i32", "i64", "i8", "f16"):
    for sa, sb, axis in (((3,), (3,), -1), ((2, 3), (2, 3), -1), ((2, 3), (3,), -1), ((4, 1, 3), (2, 3), -1), ((3, 2), (3, 2), 0),
                         ((0, 3), (0, 3), -1)):
        a, b = make(sa, dtype), make(sb, dtype)
        case("cross", [a, b], {"axis": axis}, np.cross(a, b, axis=axis))
    for sa, sb, axes in (((2, 3, 4), (3, 4, 2), 2), ((2, 3), (3, 4), 1), ((2,), (3,), 0), ((2, 3), (2, 3), [[0, 1], [0, 1]]),
                         ((2, 3, 4), (4, 3, 2), [[1, 0], [1, 2]]), ((2, 3, 4), (4, 5), [[-1], [0]]), ((2, 3), (2, 4), [0, 0]),
                         ((3, 0), (0, 2), 1), ((2, 3), (2, 3), 2)):
        a, b = make(sa, dtype), make(sb, dtype)
        case("tensordot", [a, b], {"axes": axes}, np.tensordot(a, b, axes))
for dtype in ("f32", "f64", "i32"):
    for shapes in ([(2, 3), (3, 4)], [(2, 3), (3, 4), (4, 2)], [(5,), (5, 2), (2, 6), (6,)], [(2, 9), (9, 1), (1, 7), (7, 2), (2, 3)],
                   [(3,), (3,)], [(2, 0), (0, 3), (3, 2)], [(3,), (3, 4)], [(2, 3), (3, 2), (2,)]):
        arrays = [make(s, dtype) for s in shapes]
        case("multiDot", arrays, {}, np.linalg.multi_dot(arrays) if len(arrays) > 2 else np.dot(*arrays))
for op, sa, sb, params in (("multiDot", (2, 3), (2, 3), {}), ("multiDot", (2, 3), (2, 3, 4), {}), ("dot", (2, 3), (2, 3), {}), ("inner", (2, 3), (3, 2), {}), ("vecdot", (2, 3), (2, 4), {"axis": -1}),
                           ("cross", (2, 2), (2, 2), {"axis": -1}), ("cross", (4,), (4,), {"axis": -1}), ("vecdot", (), (3,), {"axis": -1}),
                           ("tensordot", (2, 3), (2, 3), {"axes": 1}), ("tensordot", (2, 3), (2, 3), {"axes": [[0, 1], [0]]}),
                           ("tensordot", (2, 3), (2, 3), {"axes": 3}), ("tensordot", (2, 3), (2, 3), {"axes": [[2], [0]]})):
    ref.add(op, [laid(make(sa)), laid(make(sb))], params, {"error": op})
ref.add("trace", [laid(make((3,)))], {}, {"error": "trace"})

ref.save()
