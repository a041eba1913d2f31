"""What the generators of reference values share: how arrays are written down, and how a case is put on file.

A generator (`make_<family>.py`, run by hand with Python and NumPy, its output committed) makes a Reference, adds cases
and saves them as `<family>.jsonl.gz`; `<family>.test.ts` runs them through the public API. The form of an input is that
of tests/oracle: dtype, shape, data in C order, and the views that lead from it to the operand.
"""
import gzip
import json
import math
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {
    "bool": "bool", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32",
    "uint32": "u32", "int64": "i64", "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64",
}
DTYPES = {ours: np.dtype(theirs) for theirs, ours in NAMES.items()}


def coded(x, dtype):
    """One element for JSON: no NaN, no -0, no 64-bit integers there."""
    if dtype in ("int64", "uint64"):
        return str(int(x))
    if dtype == "bool":
        return bool(x)
    if dtype.startswith(("int", "uint")):
        return int(x)
    x = float(x)
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "Infinity" if x > 0 else "-Infinity"
    if x == 0 and math.copysign(1, x) < 0:
        return "-0"
    return x


def values(a):
    """A result: dtype, shape and values."""
    a = np.asarray(a)
    name = a.dtype.name
    return {"dtype": NAMES[name], "shape": list(a.shape), "values": [coded(x, name) for x in a.ravel().tolist()]}


def plain(a, views=()):
    a = np.asarray(a)
    name = a.dtype.name
    data = [coded(x, name) for x in a.ravel().tolist()]
    return {"dtype": NAMES[name], "shape": list(a.shape), "data": data, "views": list(views)}


LAYOUTS = ("plain", "transposed", "reversed", "stepped", "offset")


def laid(a, layout="plain"):
    """The same values as `a`, as a view that lies in memory in another way."""
    a = np.asarray(a)
    if a.ndim == 0 or layout == "plain":
        return plain(a)
    if layout == "transposed":
        axes = list(range(a.ndim))[::-1]
        return plain(a.transpose(axes), [{"op": "permute", "perm": axes}])
    if layout == "reversed":
        return plain(np.flip(a), [{"op": "flip", "axes": None}])
    if layout == "stepped":
        wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
        wide[..., ::2] = a
        return plain(wide, [{"op": "slice", "items": [{"ellipsis": True}, {"slice": [None, None, 2]}]}])
    wide = np.zeros((a.shape[0] + 1, *a.shape[1:]), a.dtype)
    wide[1:] = a
    return plain(wide, [{"op": "slice", "items": [{"slice": [1, None, None]}, {"ellipsis": True}]}])


class Reference:
    """Cases of one family. `check` is {"rtol": …, "atol": …}; without one a case is compared bit for bit."""

    def __init__(self, family):
        self.family = family
        self.cases = []

    def add(self, op, inputs, params, expected, check=None):
        """`inputs`: results of `laid` or `plain`; `expected`: an array, a list of arrays, or {"error": why}."""
        if not isinstance(expected, dict):
            many = isinstance(expected, (list, tuple))
            expected = [values(x) for x in expected] if many else values(expected)
        case = {"id": f"{self.family}-{len(self.cases)}", "op": op, "inputs": inputs, "params": params,
                "expected": expected}
        if check is not None:
            case["check"] = check
        self.cases.append(case)

    def save(self):
        path = os.path.join(HERE, f"{self.family}.jsonl.gz")
        text = "".join(json.dumps(c, separators=(",", ":")) + "\n" for c in self.cases)
        with open(path, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
            z.write(text.encode())
        print(f"{self.family}: {len(self.cases)} cases, {os.path.getsize(path) / 1000:.1f} kB")
