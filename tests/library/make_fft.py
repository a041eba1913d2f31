"""Fourier transforms by NumPy, in extended precision where it has one, so that the answers are right to the last bit.

Run by hand: python3 make_fft.py
"""
import itertools
import math

import numpy as np

from reference import DTYPES, LAYOUTS, Reference, laid, plain

rng = np.random.default_rng(11)
ref = Reference("fft")
EPS = {"f32": 2.0 ** -23, "f64": 2.0 ** -52}
SPLIT = {"f32": np.float32, "f64": np.float64}


def draw(shape, dtype):
    """Short decimals, so that the file stays small."""
    return (rng.integers(-16, 17, shape) / 8).astype(DTYPES[dtype])


def draw_pairs(shape, dtype):
    return draw((*shape, 2), dtype)


def wide(pairs):
    return pairs[..., 0].astype(np.longdouble) + 1j * pairs[..., 1].astype(np.longdouble)


def as_pairs(z, dtype):
    return np.stack([z.real, z.imag], -1).astype(SPLIT[dtype])


def tolerance(dtype, n, expected):
    """A few eps·log2 n of the result's root mean square."""
    size = np.sqrt(np.mean(np.square(np.asarray(expected, np.float64)))) if np.size(expected) else 0
    return {"rtol": 0, "atol": float(f"{2 * EPS[dtype] * (2 + math.log2(max(n, 2))) * max(size, 1e-3):.2e}")}


def add(op, x, dtype, n, params, layout="plain", out_pairs=True, result=None):
    """`result` is what the transform gives, in extended precision."""
    want = as_pairs(result, dtype) if out_pairs else result.real.astype(SPLIT[dtype])
    ref.add(op, [laid(x, layout)], params, want, tolerance(dtype, n, want))
    shorten(dtype)


def shorten(dtype):
    """Nine digits say all of an f32."""
    if dtype == "f32":
        expected = ref.cases[-1]["expected"]
        expected["values"] = [float(f"{v:.9g}") if isinstance(v, float) else v for v in expected["values"]]


LENGTHS = [*range(1, 18), 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 30, 31, 32, 33, 35, 36, 37, 39, 40, 48, 49, 50, 60, 64, 77]
for n, dtype in itertools.product(LENGTHS, EPS):
    z = draw_pairs((n,), dtype)
    layout = LAYOUTS[len(ref.cases) % len(LAYOUTS)]
    add("fft", z, dtype, n, {}, layout, result=np.fft.fft(wide(z)))
    add("ifft", z, dtype, n, {}, layout, result=np.fft.ifft(wide(z)))
    x = draw((n,), dtype)
    add("rfft", x, dtype, n, {}, layout, result=np.fft.rfft(x.astype(np.longdouble)))
    half = draw_pairs((n // 2 + 1,), dtype)
    add("irfft", half, dtype, n, {"n": n}, layout, out_pairs=False, result=np.fft.irfft(wide(half), n))

# Many lines, along every axis, in every layout, longer and shorter than what is there, with every norm.
for dtype, layout, axis, norm in itertools.product(EPS, LAYOUTS, (0, 1, -1, -2), ("backward", "ortho", "forward")):
    shape = (3, 5)
    z = draw_pairs(shape, dtype)
    n = (None, 4, 7)[len(ref.cases) % 3]
    params = {"axis": axis, "norm": norm} | ({} if n is None else {"n": n})
    length = n or shape[axis]
    for op in ("fft", "ifft"):
        add(op, z, dtype, length, params, layout, result=getattr(np.fft, op)(wide(z), n, axis, norm))
    x = draw(shape, dtype)
    add("rfft", x, dtype, length, params, layout, result=np.fft.rfft(x.astype(np.longdouble), n, axis, norm))
    back = n or 2 * (shape[axis] - 1)
    add("irfft", z, dtype, back, params, layout, out_pairs=False, result=np.fft.irfft(wide(z), n, axis, norm))
for dtype, lines, n in itertools.product(EPS, (4, 7, 9, 17), (6, 16)):
    z = draw_pairs((lines, n), dtype)
    add("fft", z, dtype, n, {}, result=np.fft.fft(wide(z)))
    add("ifft", z.swapaxes(0, 1), dtype, n, {"axis": 0}, result=np.fft.ifft(wide(z.swapaxes(0, 1)), axis=0))

for dtype, (have, n) in itertools.product(EPS, ((6, 10), (4, 12), (5, 12), (8, 6), (8, 7), (2, 64), (20, 17), (9, 19))):
    x = draw((3, have), dtype)
    add("rfft", x, dtype, n, {"n": n}, result=np.fft.rfft(x.astype(np.longdouble), n))
    add("rfft", x.T, dtype, n, {"n": n, "axis": 0}, result=np.fft.rfft(x.T.astype(np.longdouble), n, 0))
    z = draw_pairs((3, have), dtype)
    add("irfft", z, dtype, n, {"n": n}, out_pairs=False, result=np.fft.irfft(wide(z), n))
    add("ifft", z, dtype, n, {"n": n}, result=np.fft.ifft(wide(z), n))

for dtype, n, norm in itertools.product(EPS, (None, 5, 8), ("backward", "ortho", "forward")):
    z, x = draw_pairs((2, 4), dtype), draw((2, 6), dtype)
    params = {"norm": norm} | ({} if n is None else {"n": n})
    add("hfft", z, dtype, n or 6, params, out_pairs=False, result=np.fft.hfft(wide(z), n, norm=norm))
    add("ihfft", x, dtype, n or 6, params, result=np.fft.ihfft(x.astype(np.longdouble), n, norm=norm))

# Several axes.
for dtype, layout, norm in itertools.product(EPS, LAYOUTS, ("backward", "ortho")):
    if (dtype == "f32") != (norm == "ortho") and layout not in ("plain", "transposed"):
        continue
    z = draw_pairs((2, 3, 4), dtype)
    x = draw((2, 3, 4), dtype)
    for axes in (None, (0, 1), (-1, 0), (1,)):
        params = {"norm": norm} | ({} if axes is None else {"axes": list(axes)})
        for op in ("fftn", "ifftn"):
            add(op, z, dtype, 24, params, layout, result=getattr(np.fft, op)(wide(z), None, axes, norm))
        add("rfftn", x, dtype, 24, params, layout, result=np.fft.rfftn(x.astype(np.longdouble), None, axes, norm))
        if axes != (0, 1):
            add("irfftn", z, dtype, 24, params, layout, out_pairs=False, result=np.fft.irfftn(wide(z), None, axes, norm))
    for op in ("fft2", "ifft2"):
        add(op, z, dtype, 12, {"norm": norm}, layout, result=getattr(np.fft, op)(wide(z), norm=norm))
        add(op, z, dtype, 12, {"shape": [4, 3]}, layout, result=getattr(np.fft, op)(wide(z), (4, 3)))
    add("rfft2", x, dtype, 12, {"shape": [2, 5]}, layout, result=np.fft.rfft2(x.astype(np.longdouble), (2, 5)))
    add("irfft2", z, dtype, 12, {"shape": [3, 5]}, layout, out_pairs=False, result=np.fft.irfft2(wide(z), (3, 5)))

# Other dtypes: integers in f64, half floats in f32.
for name in ("bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16"):
    x = rng.integers(0, 2 if name == "bool" else 9, (9,)).astype(DTYPES[name])
    dtype = "f32" if name == "f16" else "f64"
    add("rfft", x, dtype, 9, {}, result=np.fft.rfft(x.astype(np.longdouble)))
    z = rng.integers(0, 2, (6, 2)).astype(DTYPES[name])
    add("fft", z, dtype, 6, {}, result=np.fft.fft(wide(z)))

# Long ones: the input is a formula, and some of the results are compared.
for dtype, n in itertools.product(EPS, (2048, 2049, 4096, 4099, 5000, 6000, 8190, 10007, 46189, 65536, 100000, 1 << 17)):
    j = np.arange(n, dtype=np.int64)
    pairs = np.stack([(j * 7919 % 1009) / 1024 - 0.5, (j * 104729 % 997) / 1024 - 0.5], -1).astype(SPLIT[dtype])
    some = sorted({0, 1, n // 2, n - 1, *rng.integers(0, n, 20).tolist()})
    z = np.fft.fft(wide(pairs))
    size = float(np.sqrt(np.mean(np.abs(z) ** 2)))
    check = {"rtol": 0, "atol": 2 * EPS[dtype] * math.log2(n) * size}
    ref.add("sampled", [], {"dtype": dtype, "n": n, "at": some, "op": "fft"}, as_pairs(z[some], dtype), check)
    z = np.fft.ifft(wide(pairs), norm="forward")
    ref.add("sampled", [], {"dtype": dtype, "n": n, "at": some, "op": "ifft", "norm": "forward"}, as_pairs(z[some], dtype), check)
    halves = sorted({k for k in some if k <= n // 2})
    z = np.fft.rfft(pairs[..., 0].astype(np.longdouble))
    ref.add("sampled", [], {"dtype": dtype, "n": n, "at": halves, "op": "rfft"}, as_pairs(z[halves], dtype), check)
    z = np.fft.irfft(wide(pairs[:n // 2 + 1]), n, norm="forward")
    ref.add("sampled", [], {"dtype": dtype, "n": n, "at": some, "op": "irfft", "norm": "forward"},
            np.asarray(z[some]).astype(SPLIT[dtype]), check)

# Sample points and shifts.
for n, d in itertools.product((1, 2, 5, 8), (1.0, 0.1, -2.0)):
    ref.add("fftfreq", [], {"n": n, "d": d}, np.fft.fftfreq(n, d), {"rtol": 1e-15, "atol": 0})
    ref.add("rfftfreq", [], {"n": n, "d": d}, np.fft.rfftfreq(n, d), {"rtol": 1e-15, "atol": 0})
for shape, layout in itertools.product(((1,), (5,), (6,), (3, 4), (2, 3, 5), (0, 3)), LAYOUTS):
    x = rng.integers(0, 99, shape).astype(np.int32)
    for op in ("fftshift", "ifftshift"):
        if x.size == 0 and layout != "plain":
            continue
        ref.add(op, [laid(x, layout)], {}, getattr(np.fft, op)(x))
        if len(shape) > 1:
            ref.add(op, [laid(x, layout)], {"axes": [-1]}, getattr(np.fft, op)(x, (-1,)))
            ref.add(op, [laid(x, layout)], {"axes": 0}, getattr(np.fft, op)(x, 0))
    if shape == (2, 3, 5):
        ref.add("fftshift", [laid(np.stack([x, x + 1], -1), layout)], {"pairs": True},
                np.stack([np.fft.fftshift(x), np.fft.fftshift(x) + 1], -1))

# Nothing in a batch, and what NumPy refuses.
for dtype in EPS:
    add("fft", draw_pairs((0, 4), dtype), dtype, 4, {}, result=np.zeros((0, 4), complex))
    add("rfft", draw((0, 4), dtype), dtype, 4, {}, result=np.zeros((0, 3), complex))
    ref.add("fft", [plain(draw_pairs((3, 0), dtype))], {}, {"error": "no elements along the axis"})
    ref.add("fft", [plain(draw_pairs((3,), dtype))], {"n": 0}, {"error": "n is 0"})
    ref.add("fft", [plain(draw_pairs((3,), dtype))], {"axis": 1}, {"error": "no such axis"})
    ref.add("fft", [plain(draw((3,), dtype))], {}, {"error": "no pairs"})
    ref.add("irfft", [plain(draw_pairs((1,), dtype))], {}, {"error": "a length of 0"})
    add("fft", draw_pairs((3, 0), dtype), dtype, 4, {"n": 4}, result=np.zeros((3, 4), complex))
ref.save()
