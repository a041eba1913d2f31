"""
Numba, with the parallel kernels of the project's documents: map, zip, reduce and matrix multiply over flat storages
with shape and strides, one parallel loop over the output's ordinals, each decoded into an index and then an address.
"""

import math

import numba
import numpy as np
from numba import njit, prange

from child import Missing
from inputs import DTYPES, Prepared

MAX_DIMS = 8
COMPILE_CONSTANT = 7.5


def start(threads):
    numba.set_num_threads(threads)
    return {"version": numba.__version__, "setup": f"tensor_map, tensor_zip, tensor_reduce, matrix multiply with prange, {threads} threads"}


@njit
def to_index(ordinal, shape, index):
    rem = ordinal
    for d in range(len(shape) - 1, -1, -1):
        index[d] = rem % shape[d]
        rem //= shape[d]


@njit
def position(index, strides):
    at = 0
    for d in range(len(strides)):
        at += index[d] * strides[d]
    return at


@njit
def broadcast_index(index, shape, small_shape, small_index):
    shift = len(shape) - len(small_shape)
    for d in range(len(small_shape)):
        small_index[d] = index[d + shift] if small_shape[d] > 1 else 0


def tensor_map(fn):
    fn = njit(fn)

    def run(out, out_shape, out_strides, a, a_shape, a_strides):
        size = 1
        for d in range(len(out_shape)):
            size *= out_shape[d]
        aligned = len(out_shape) == len(a_shape)
        if aligned:
            for d in range(len(out_shape)):
                if out_shape[d] != a_shape[d] or out_strides[d] != a_strides[d]:
                    aligned = False
        if aligned:
            for ordinal in prange(size):
                index = np.empty(MAX_DIMS, np.int32)
                to_index(ordinal, out_shape, index)
                at = position(index, out_strides)
                out[at] = fn(float(a[at]))
        else:
            for ordinal in prange(size):
                index = np.empty(MAX_DIMS, np.int32)
                a_index = np.empty(MAX_DIMS, np.int32)
                to_index(ordinal, out_shape, index)
                broadcast_index(index, out_shape, a_shape, a_index)
                out[position(index, out_strides)] = fn(float(a[position(a_index, a_strides)]))

    return njit(run, parallel=True)


def tensor_zip(fn):
    fn = njit(fn)

    def run(out, out_shape, out_strides, a, a_shape, a_strides, b, b_shape, b_strides):
        size = 1
        for d in range(len(out_shape)):
            size *= out_shape[d]
        aligned = len(out_shape) == len(a_shape) and len(out_shape) == len(b_shape)
        if aligned:
            for d in range(len(out_shape)):
                if (
                    out_shape[d] != a_shape[d]
                    or out_shape[d] != b_shape[d]
                    or out_strides[d] != a_strides[d]
                    or out_strides[d] != b_strides[d]
                ):
                    aligned = False
        if aligned:
            for ordinal in prange(size):
                index = np.empty(MAX_DIMS, np.int32)
                to_index(ordinal, out_shape, index)
                at = position(index, out_strides)
                out[at] = fn(float(a[at]), float(b[at]))
        else:
            for ordinal in prange(size):
                index = np.empty(MAX_DIMS, np.int32)
                a_index = np.empty(MAX_DIMS, np.int32)
                b_index = np.empty(MAX_DIMS, np.int32)
                to_index(ordinal, out_shape, index)
                broadcast_index(index, out_shape, a_shape, a_index)
                broadcast_index(index, out_shape, b_shape, b_index)
                x = float(a[position(a_index, a_strides)])
                y = float(b[position(b_index, b_strides)])
                out[position(index, out_strides)] = fn(x, y)

    return njit(run, parallel=True)


def tensor_reduce(fn):
    fn = njit(fn)

    def run(out, out_shape, out_strides, a, a_shape, a_strides, axis, first):
        size = 1
        for d in range(len(out_shape)):
            size *= out_shape[d]
        length, step = a_shape[axis], a_strides[axis]
        for ordinal in prange(size):
            index = np.empty(MAX_DIMS, np.int32)
            to_index(ordinal, out_shape, index)
            at = position(index, a_strides)
            total = first
            for _ in range(length):
                total = fn(total, float(a[at]))
                at += step
            out[position(index, out_strides)] = total

    return njit(run, parallel=True)


@njit(parallel=True)
def tensor_matrix_multiply(out, out_shape, out_strides, a, a_shape, a_strides, b, b_shape, b_strides):
    a_batch = a_strides[0] if a_shape[0] > 1 else 0
    b_batch = b_strides[0] if b_shape[0] > 1 else 0
    count, rows, columns = out_shape[0], out_shape[1], out_shape[2]
    depth = a_shape[2]
    for ordinal in prange(count * rows * columns):
        n = ordinal // (rows * columns)
        rem = ordinal - n * (rows * columns)
        i = rem // columns
        j = rem - i * columns
        at_a = n * a_batch + i * a_strides[1]
        at_b = n * b_batch + j * b_strides[2]
        total = 0.0
        for _ in range(depth):
            total += float(a[at_a]) * float(b[at_b])
            at_a += a_strides[2]
            at_b += b_strides[1]
        out[n * out_strides[0] + i * out_strides[1] + j * out_strides[2]] = total


class View:
    """A flat storage with shape, strides in elements and an offset taken off the front."""

    def __init__(self, array):
        self.storage = flat(array)
        self.shape = np.array(array.shape, np.int64)
        self.strides = np.array([s // array.itemsize for s in array.strides], np.int64)
        self.parts = (self.storage, self.shape, self.strides)


def flat(array):
    """The storage from the view's first element to its end. Negative strides reach before it, as pointers do."""
    base = array
    while base.base is not None and isinstance(base.base, np.ndarray):
        base = base.base
    offset = (array.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // array.itemsize
    return base.reshape(-1)[offset:]


def call(make):
    """make(task, out, *inputs) gives a list of (kernel, arguments); inputs are NumPy views."""

    def prepare(task, inputs):
        out = np.zeros(task["out"]["shape"], DTYPES[task["out"]["dtype"]])
        steps = make(task, out, *inputs)

        def run():
            for kernel, arguments in steps:
                kernel(*arguments)

        def read():
            run()
            return out

        return Prepared(run, read)

    return prepare


def parts(*arrays):
    return tuple(p for a in arrays for p in View(a).parts)


def mapped(fn, view=lambda task, a: a):
    kernel = tensor_map(fn)
    return call(lambda task, out, a: [(kernel, parts(out, view(task, a)))])


ADD = tensor_zip(lambda x, y: x + y)
SUBTRACT = tensor_zip(lambda x, y: x - y)
DIVIDE = tensor_zip(lambda x, y: x / y)
SAME = tensor_map(lambda x: x)
EXP = tensor_map(lambda x: math.exp(x))
LOG = tensor_map(lambda x: math.log(x))
SUM = tensor_reduce(lambda total, x: total + x)
MAX = tensor_reduce(lambda total, x: max(total, x))


def zipped(view=lambda a: a):
    return call(lambda _task, out, a, b: [(ADD, parts(out, view(a), b))])


def reduced(kernel, first):
    def make(task, out, a):
        if task["axis"] is None:
            rows = np.zeros((a.shape[0], 1), np.float32)
            total = out.reshape(1, 1)
            return [(kernel, (*parts(rows, a), 1, first)), (kernel, (*parts(total, rows), 0, first))]
        shape = [1 if d == task["axis"] else n for d, n in enumerate(a.shape)]
        return [(kernel, (*parts(out.reshape(shape), a), task["axis"], first))]

    return call(make)


def powers(a, top, out):
    """exp(a - max of its row), in two steps."""
    return [(MAX, (*parts(top, a), 1, -math.inf)), (SUBTRACT, parts(out, a, top)), (EXP, parts(out, out))]


def softmax(_task, out, a):
    top, total = np.zeros((a.shape[0], 1), np.float32), np.zeros((a.shape[0], 1), np.float32)
    return [*powers(a, top, out), (SUM, (*parts(total, out), 1, 0.0)), (DIVIDE, parts(out, out, total))]


def logsumexp(_task, out, a):
    top, work = np.zeros((a.shape[0], 1), np.float32), np.zeros_like(a)
    total = out.reshape(-1, 1)
    return [
        *powers(a, top, work),
        (SUM, (*parts(total, work), 1, 0.0)),
        (LOG, parts(total, total)),
        (ADD, parts(total, total, top)),
    ]


def product(turned):
    def make(_task, out, a, b):
        left = a.T if turned else a
        right = b[:, None] if b.ndim == 1 else b
        three = [x.reshape((1, *x.shape)) if x.ndim == 2 else x for x in (left, right)]
        result = out.reshape((-1, left.shape[-2], right.shape[-1]))
        return [(tensor_matrix_multiply, parts(result, *three))]

    return call(make)


def cast(task, inputs):
    if task["out"]["dtype"] == "f16":
        raise Missing("has no f16 on the CPU")
    return call(lambda _task, out, a: [(SAME, parts(out, a))])(task, inputs)


def add_new(task, inputs):
    def run():
        out = np.empty(task["out"]["shape"], np.float32)
        ADD(*parts(out, *inputs))
        return out

    return Prepared(run)


def compile_new(task, inputs):
    x = inputs[0]
    state = {"count": 0}

    def first(c):
        out = np.empty_like(x)
        tensor_map(lambda v: max(v * c + 1, v - c) / 3)(*parts(out, x))
        return out

    def run():
        state["count"] += 1
        return first(state["count"] + 0.125)

    return Prepared(run, lambda: first(COMPILE_CONSTANT))


OPS = {
    "add": zipped(),
    "exp": mapped(lambda x: math.exp(x)),
    "tanhSquare": mapped(lambda x: math.tanh(x * x + 1)),
    "everySecond": zipped(lambda a: a[:, ::2]),
    "transposedAdd": zipped(lambda a: a.T),
    "reversedAdd": "the documents' kernels have no offset, which a negative stride needs",
    "sum": reduced(SUM, 0.0),
    "max": reduced(MAX, -math.inf),
    "softmax": call(softmax),
    "logsumexp": call(logsumexp),
    "matmul": product(False),
    "matmulTransposed": product(True),
    "permuteCopy": mapped(lambda x: x, lambda task, a: a.transpose(task["axes"])),
    "cast": cast,
    "ggmlCopy": call(lambda _task, out, a: [(SAME, parts(out.reshape(13, 16, 128), a.transpose(1, 0, 2)))]),
    "gelu": mapped(lambda x: 0.5 * x * (1 + math.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))),
    "addNew": add_new,
    "compile": compile_new,
    "trainMlp": "has no gradients",
    "trainConvnet": "has no gradients",
}
