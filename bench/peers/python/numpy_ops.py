"""NumPy as it is written by hand where speed matters: into existing arrays wherever it can."""

import numpy as np

from inputs import Prepared, into

NO_KERNELS = "has no kernels of one's own: functions are composed of its operations"
NO_GRADIENTS = "has no gradients"


def blas():
    """Which BLAS the matrix product goes to, from what is mapped into this process."""
    try:
        with open("/proc/self/maps") as maps:
            text = maps.read().lower()
    except OSError:
        return "its BLAS"
    return next((n for k, n in (("openblas", "OpenBLAS"), ("mkl", "MKL"), ("blis", "BLIS"), ("libblas", "reference BLAS")) if k in text), "its BLAS")


def start(threads):
    np.ones((2, 2), np.float32) @ np.ones((2, 2), np.float32)
    setup = f"{blas()}, {threads} threads in matrix products, 1 elsewhere; out= wherever it can"
    return {"version": np.__version__, "setup": setup}


def op(make):
    """make(task, out, *inputs) gives the call."""

    def prepare(task, inputs):
        return into(task["out"]["shape"], task["out"]["dtype"], lambda out: make(task, out, *inputs))

    return prepare


def tanh_square(_task, out, a):
    def run():
        np.multiply(a, a, out=out)
        np.add(out, 1, out=out)
        np.tanh(out, out=out)

    return run


def gelu(_task, out, x):
    def run():
        np.multiply(x, x, out=out)
        np.multiply(out, x, out=out)
        np.multiply(out, np.float32(0.044715), out=out)
        np.add(out, x, out=out)
        np.multiply(out, np.float32(0.7978845608), out=out)
        np.tanh(out, out=out)
        np.add(out, np.float32(1), out=out)
        np.multiply(out, x, out=out)
        np.multiply(out, np.float32(0.5), out=out)

    return run


def softmax(_task, out, a):
    def run():
        np.subtract(a, a.max(axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        np.divide(out, out.sum(axis=1, keepdims=True), out=out)

    return run


def logsumexp(_task, out, a):
    powers = np.empty_like(a)

    def run():
        top = a.max(axis=1)
        np.subtract(a, top[:, None], out=powers)
        np.exp(powers, out=powers)
        np.add(top, np.log(powers.sum(axis=1)), out=out)

    return run


def add(_task, out, a, b):
    return lambda: np.add(a, b, out=out)


def every_second(_task, out, a, b):
    view = a[:, ::2]
    return lambda: np.add(view, b, out=out)


def transposed(_task, out, a, b):
    view = a.T
    return lambda: np.add(view, b, out=out)


def reversed_add(_task, out, a, b):
    view = a[:, ::-1]
    return lambda: np.add(view, b, out=out)


def matmul_transposed(_task, out, a, b):
    view = a.T
    return lambda: np.matmul(view, b, out=out)


def permute_copy(task, out, a):
    view = a.transpose(task["axes"])
    return lambda: np.copyto(out, view)


def ggml_copy(_task, out, a):
    view = a.transpose(1, 0, 2)
    dense = out.reshape(13, 16, 128)
    return lambda: np.copyto(dense, view)


OPS = {
    "add": op(add),
    "exp": op(lambda _task, out, a: lambda: np.exp(a, out=out)),
    "tanhSquare": op(tanh_square),
    "everySecond": op(every_second),
    "transposedAdd": op(transposed),
    "reversedAdd": op(reversed_add),
    "sum": op(lambda task, out, a: lambda: np.sum(a, axis=task["axis"], out=out)),
    "max": op(lambda task, out, a: lambda: np.max(a, axis=task["axis"], out=out)),
    "softmax": op(softmax),
    "logsumexp": op(logsumexp),
    "matmul": op(lambda _task, out, a, b: lambda: np.matmul(a, b, out=out)),
    "matmulTransposed": op(matmul_transposed),
    "permuteCopy": op(permute_copy),
    "cast": op(lambda _task, out, a: lambda: np.copyto(out, a, casting="unsafe")),
    "ggmlCopy": op(ggml_copy),
    "gelu": op(gelu),
    "addNew": lambda _task, inputs: Prepared(lambda: inputs[0] + inputs[1]),
    "compile": NO_KERNELS,
    "trainMlp": NO_GRADIENTS,
    "trainConvnet": NO_GRADIENTS,
}
