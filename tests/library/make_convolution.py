"""Convolutions, pooling, convolve and correlate: reference values from plain loops over windows, and from NumPy.

Run by hand: python3 make_convolution.py
"""
import itertools
import math

import numpy as np

from reference import DTYPES, LAYOUTS, Reference, laid, plain

rng = np.random.default_rng(7)
ref = Reference("convolution")
TOLERANCE = {"f16": {"rtol": 2e-3, "atol": 2e-3}, "f32": {"rtol": 2e-6, "atol": 2e-6}, "f64": {"rtol": 1e-14, "atol": 1e-14}}
FLOATS = ("f32", "f64")


def draw(shape, dtype):
    if dtype.startswith("f"):
        # Short decimals, so that the file stays small; every seventh case has values of full length.
        if len(ref.cases) % 7 == 3:
            return rng.uniform(-1, 1, shape).astype(DTYPES[dtype])
        return (rng.integers(-16, 17, shape) / 8).astype(DTYPES[dtype])
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    low = 0 if dtype.startswith("u") else -9
    return rng.integers(low, 10, shape).astype(DTYPES[dtype])


def per_axis(value, rank):
    return [value] * rank if isinstance(value, int) else list(value)


def convolve(x, w, bias, stride, padding, dilation, groups):
    """Cross-correlation by its definition, one window after another, in f64 (integers: in their own width)."""
    rank = w.ndim - 2
    s, d = per_axis(stride, rank), per_axis(dilation, rank)
    k = w.shape[2:]
    if padding == "same":
        sides = [(d[i] * (k[i] - 1) // 2, d[i] * (k[i] - 1) - d[i] * (k[i] - 1) // 2) for i in range(rank)]
    elif padding == "valid":
        sides = [(0, 0)] * rank
    else:
        sides = [(p, p) for p in per_axis(padding, rank)]
    wide = np.float64 if x.dtype.kind == "f" else x.dtype
    padded = np.pad(x.astype(wide), [(0, 0), (0, 0), *sides])
    weights = w.astype(wide)
    out = [(padded.shape[i + 2] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(rank)]
    n, outputs, per = x.shape[0], w.shape[0], w.shape[1]
    y = np.zeros((n, outputs, *out), wide)
    for b, o in itertools.product(range(n), range(outputs)):
        group = o // (outputs // groups)
        channels = padded[b, group * per:(group + 1) * per]
        for at in itertools.product(*[range(m) for m in out]):
            window = channels[(slice(None), *[slice(at[i] * s[i], at[i] * s[i] + d[i] * (k[i] - 1) + 1, d[i]) for i in range(rank)])]
            y[(b, o, *at)] = (window * weights[o]).sum(dtype=wide)
        if bias is not None:
            y[b, o] += bias[o].astype(wide)
    return y.astype(x.dtype)


def add_conv(rank, dtype, n, c, o, size, kernel, layout="plain", weight_layout="plain", with_bias=False, stride=1, padding=0,
             dilation=1, groups=1, batched=True):
    x = draw((n, c, *size), dtype)
    w = draw((o, c // groups, *kernel), dtype)
    bias = draw((o,), dtype) if with_bias else None
    y = convolve(x, w, bias, stride, padding, dilation, groups)
    inputs = [laid(x if batched else x[0], layout), laid(w, weight_layout)] + ([plain(bias)] if with_bias else [])
    params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    ref.add(f"conv{rank}d", inputs, params, y if batched else y[0], TOLERANCE.get(dtype))


# Sizes, strides, dilations, paddings and groups.
for stride, padding, dilation, (c, o, groups) in itertools.product(
        (1, 2, 3), (0, 1, 2), (1, 2), ((3, 5, 1), (4, 6, 2), (3, 3, 3))):
    add_conv(1, FLOATS[len(ref.cases) % 2], 2, c, o, (11,), (3,), stride=stride, padding=padding, dilation=dilation, groups=groups)
for stride, padding, dilation, (c, o, groups) in itertools.product(
        (1, 2, (2, 1)), (0, 1, (1, 2), "valid"), (1, (1, 2)), ((2, 5, 1), (4, 8, 2), (3, 6, 3))):
    add_conv(2, FLOATS[len(ref.cases) % 2], 2, c, o, (6, 7), (3, 2), stride=stride, padding=padding, dilation=dilation, groups=groups,
             with_bias=len(ref.cases) % 3 == 0)
for kernel, dilation in itertools.product(((1, 1), (2, 2), (3, 3), (2, 3)), (1, 2)):
    add_conv(2, "f32", 1, 2, 4, (6, 7), kernel, padding="same", dilation=dilation)
# Layouts of both operands.
for dtype, layout, other in itertools.product(FLOATS, LAYOUTS, LAYOUTS):
    add_conv(2, dtype, 2, 3, 4, (4, 5), (2, 2), layout, other, padding=len(ref.cases) % 2)
# One tap: a plain product.
for dtype, layout, groups in itertools.product(FLOATS, LAYOUTS, (1, 2)):
    add_conv(2, dtype, 2, 4, 6, (3, 5), (1, 1), layout, with_bias=groups == 2, groups=groups)
    add_conv(2, dtype, 2, 4, 6, (3, 5), (1, 1), layout, stride=2, groups=groups)
# dtypes: integers wrap, half floats are summed in f32.
for dtype in ("f16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"):
    for (c, o, groups) in ((3, 5, 1), (3, 3, 3)):
        add_conv(2, dtype, 1, c, o, (5, 5), (3, 3), padding=1, groups=groups, with_bias=groups == 1)
        add_conv(1, dtype, 1, c, o, (7,), (3,), stride=2, groups=groups)
# More channels than one block of the product, without a batch, in three dimensions, and nothing at all.
for dtype in FLOATS:
    add_conv(2, dtype, 1, 40, 9, (4, 4), (3, 3), padding=1)
    add_conv(1, dtype, 1, 300, 5, (6,), (1,), stride=2)
    add_conv(2, dtype, 1, 3, 4, (5, 5), (3, 3), batched=False)
    add_conv(1, dtype, 1, 3, 2, (9,), (4,), batched=False, with_bias=True)
    add_conv(3, dtype, 1, 2, 4, (4, 3, 4), (2, 2, 3), padding=1)
    add_conv(3, dtype, 2, 2, 2, (3, 4, 3), (2, 2, 2), groups=2, stride=(1, 2, 1))
    add_conv(2, dtype, 0, 3, 4, (5, 5), (3, 3), padding=1)
    add_conv(2, dtype, 0, 3, 4, (5, 5), (1, 1))
    add_conv(2, dtype, 2, 3, 0, (5, 5), (3, 3))
    add_conv(2, dtype, 2, 0, 3, (5, 5), (3, 3), with_bias=True)
    add_conv(2, dtype, 2, 0, 3, (5, 5), (2, 2))
# NaN and infinities reach the windows that touch them and no others.
special = np.zeros((1, 1, 5, 5), np.float32)
special[0, 0, 1, 1], special[0, 0, 3, 4], special[0, 0, 4, 0] = np.nan, np.inf, -np.inf
ref.add("conv2d", [plain(special), plain(np.ones((1, 1, 2, 2), np.float32))], {},
        convolve(special, np.ones((1, 1, 2, 2), np.float32), None, 1, 0, 1, 1))



def turned_round(x, w, stride, padding, extra, dilation, groups):
    """Every element of the input adds the weights, times itself, to the output; the ends are cut off afterwards."""
    rank = w.ndim - 2
    s, p, e, d = (per_axis(v, rank) for v in (stride, padding, extra, dilation))
    sizes, k = x.shape[2:], w.shape[2:]
    per_in, per_out = x.shape[1] // groups, w.shape[1]
    full = [(sizes[i] - 1) * s[i] + d[i] * (k[i] - 1) + 1 + e[i] for i in range(rank)]
    y = np.zeros((x.shape[0], per_out * groups, *full), np.float64)
    for b, c in itertools.product(range(x.shape[0]), range(x.shape[1])):
        first = c // per_in * per_out
        for at in itertools.product(*[range(m) for m in sizes]):
            where = tuple(slice(at[i] * s[i], at[i] * s[i] + d[i] * (k[i] - 1) + 1, d[i]) for i in range(rank))
            y[(b, slice(first, first + per_out), *where)] += float(x[(b, c, *at)]) * w[c].astype(np.float64)
    cut = tuple(slice(p[i], full[i] - p[i]) for i in range(rank))
    return y[(slice(None), slice(None), *cut)].astype(x.dtype)


for rank, stride, padding, extra, (c, o, groups) in itertools.product(
        (1, 2), (1, 2, 3), (0, 1, 3), (0, 1), ((3, 4, 1), (4, 2, 2))):
    dtype = FLOATS[len(ref.cases) % 2]
    dilation = 1 + len(ref.cases) % 2
    x, w = draw((2, c, *(4, 3)[:rank]), dtype), draw((c, o // groups, *(3, 2)[:rank]), dtype)
    params = {"stride": stride, "padding": padding, "outputPadding": extra, "dilation": dilation, "groups": groups}
    want = turned_round(x, w, stride, padding, extra, dilation, groups)
    if min(want.shape[2:]) < 1:
        want = {"error": "nothing is left"}
    ref.add(f"convTranspose{rank}d", [laid(x, LAYOUTS[len(ref.cases) % 5]), laid(w, LAYOUTS[len(ref.cases) % 5])], params, want,
            TOLERANCE[dtype])

# NumPy's own.
for dtype, (n, m), mode in itertools.product(
        ("bool", "i8", "u8", "i32", "u32", "i64", "u64", "f32", "f64"), ((7, 3), (3, 7), (1, 1), (5, 1), (6, 6), (40, 17)),
        ("full", "same", "valid")):
    a, v = draw(n, dtype), draw(m, dtype)
    layout = LAYOUTS[len(ref.cases) % len(LAYOUTS)]
    for op in ("convolve", "correlate"):
        want = getattr(np, op)(a, v, mode)
        ref.add(op, [laid(a, layout), laid(v, layout)], {"mode": mode}, want, TOLERANCE.get(dtype))
ref.add("convolve", [plain(draw(5, "f32")), plain(np.zeros(0, np.float32))], {}, {"error": "an empty operand"})
ref.add("correlate", [plain(draw((2, 2), "f32")), plain(draw(2, "f32"))], {}, {"error": "two axes"})


# Pooling, as torch defines it.
def pool(x, kernel, stride, padding, dilation, ceil_mode, include, op):
    rank = len(kernel)
    sizes = x.shape[x.ndim - rank:]
    out = []
    for i in range(rank):
        room = sizes[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1
        m = (math.ceil(room / stride[i]) if ceil_mode else room // stride[i]) + 1
        if ceil_mode and (m - 1) * stride[i] >= sizes[i] + padding[i]:
            m -= 1
        out.append(m)
    lead = x.shape[:x.ndim - rank]
    result = x.dtype if op == "max" or x.dtype.kind == "f" else np.dtype(np.float64)
    y = np.zeros((*lead, *out), result)
    for at in itertools.product(*[range(m) for m in (*lead, *out)]):
        head, tail = at[:len(lead)], at[len(lead):]
        starts = [tail[i] * stride[i] - padding[i] for i in range(rank)]
        index = [[j for j in range(starts[i], starts[i] + dilation[i] * (kernel[i] - 1) + 1, dilation[i]) if 0 <= j < sizes[i]]
                 for i in range(rank)]
        inside = x[head][np.ix_(*index)]
        if op == "max":
            y[at] = inside.max()
        else:
            counted = [min(starts[i] + kernel[i], sizes[i] + padding[i]) - starts[i] for i in range(rank)]
            count = math.prod(counted) if include else inside.size
            y[at] = inside.astype(np.float64).sum() / count
    return y


def add_pool(op, rank, x, kernel, layout="plain", stride=None, padding=0, dilation=1, ceil_mode=False, include=True):
    kernels = per_axis(kernel, rank)
    want = pool(x, kernels, per_axis(kernel if stride is None else stride, rank), per_axis(padding, rank),
                per_axis(dilation, rank), ceil_mode, include, op)
    params = {"kernel": kernel, "padding": padding, "ceilMode": ceil_mode}
    if stride is not None:
        params["stride"] = stride
    if op == "max":
        params["dilation"] = dilation
    else:
        params["countIncludePad"] = include
    tolerance = None if op == "max" else {"float16": {"rtol": 1e-3, "atol": 1e-3}, "float32": {"rtol": 1e-6, "atol": 1e-6}}.get(
        x.dtype.name, {"rtol": 1e-14, "atol": 1e-14})
    ref.add(f"{op}Pool{rank}d", [laid(x, layout)], params, want, tolerance)


for kernel, stride, padding, ceil_mode in itertools.product((2, 3, (2, 3)), (None, 1, 2, (2, 1)), (0, 1), (False, True)):
    x = draw((1, 2, 6, 7), FLOATS[len(ref.cases) % 2])
    layout = LAYOUTS[len(ref.cases) % len(LAYOUTS)]
    add_pool("max", 2, x, kernel, layout, stride, padding, 1, ceil_mode)
    add_pool("max", 2, x, kernel, layout, stride, padding, (2, 1), ceil_mode)
    add_pool("avg", 2, x, kernel, layout, stride, padding, 1, ceil_mode, True)
    add_pool("avg", 2, x, kernel, layout, stride, padding, 1, ceil_mode, False)
for kernel, stride, padding, ceil_mode in itertools.product((1, 2, 4), (None, 1, 3), (0, 1), (False, True)):
    if 2 * padding > kernel:
        continue
    x = draw((2, 2, 11), FLOATS[len(ref.cases) % 2])
    add_pool("max", 1, x, kernel, "plain", stride, padding, 1, ceil_mode)
    add_pool("avg", 1, x[0], kernel, "plain", stride, padding, 1, ceil_mode, len(ref.cases) % 2 == 0)
for dtype in ("f16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"):
    x = draw((2, 5, 5), dtype)
    add_pool("max", 2, x, 2, padding=1)
    add_pool("avg", 2, x, 3, stride=2, padding=1)
x = draw((1, 1, 4, 6), "f32")
x[0, 0, 0, 0], x[0, 0, 2, 3] = np.nan, -np.inf
add_pool("max", 2, x, 2)
add_pool("max", 2, np.full((1, 1, 3, 3), -np.inf, np.float32), 2, stride=1, padding=1)
for dtype in FLOATS:
    add_pool("max", 2, draw((0, 2, 4, 4), dtype), 2)
    add_pool("avg", 2, draw((2, 0, 4, 4), dtype), 2, padding=1)

ref.save()
