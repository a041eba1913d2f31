"""Inputs and verification, element for element as in inputs.ts."""

import numpy as np

DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "f16": np.float16}


def make_input(operand, k):
    count = int(np.prod(operand["shape"], dtype=np.int64))
    scale = operand["scale"]
    start = np.uint32(((k + 1) * 0x3C6EF372) & 0xFFFFFFFF)
    hashed = np.arange(count, dtype=np.uint32)
    hashed *= np.uint32(0x9E3779B1)
    hashed += start
    hashed >>= np.uint32(20)
    values = hashed / (1024 / scale) - 2 * scale
    return values.astype(DTYPES[operand["dtype"]]).reshape(operand["shape"])


def make_inputs(operands):
    return [make_input(operand, k) for k, operand in enumerate(operands)]


def as_bytes(values, task):
    """The result, dense and in its dtype."""
    return np.ascontiguousarray(np.asarray(values).astype(DTYPES[task["out"]["dtype"]], copy=False))


CHUNK = 1 << 22


def difference(values, file, task):
    """The largest error, relative above 1, piece by piece."""
    got = as_bytes(values, task).reshape(-1)
    worst, at, wanted, first = 0.0, -1, None, 0
    with open(file, "rb") as source:
        while True:
            w = np.fromfile(source, dtype=got.dtype, count=CHUNK)
            if w.size == 0:
                break
            g = got[first : first + w.size]
            if g.size == w.size and not np.array_equal(g, w):
                wide = w.astype(np.float64)
                error = np.abs(g - wide) / np.maximum(np.abs(wide), 1)
                k = int(np.argmax(error))  # a NaN counts as the largest
                if not error[k] <= worst:
                    worst, at, wanted = float(error[k]), first + k, w[k]
            first += w.size
    if got.size != first:
        return {"worst": 1e300, "wrong": f"{got.size} elements, expected {first}"}
    if worst <= task["tolerance"]:
        return {"worst": worst, "wrong": None}
    return {"worst": worst if worst < 1e300 else 1e300, "wrong": f"element {at} is {got[at]}, expected {wanted}"}


class Prepared:
    """A call, and how to look at what it made."""

    def __init__(self, run, read=None):
        self.run = run
        self.read = read if read is not None else run


def into(shape, dtype, make):
    """A call that writes into an array made once."""
    out = np.zeros(shape, DTYPES[dtype])
    run = make(out)

    def read():
        run()
        return out

    return Prepared(run, read)
