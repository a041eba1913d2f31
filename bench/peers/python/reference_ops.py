"""What every result is held against: NumPy, in f64 throughout, rounded once at the end."""

import numpy as np

from inputs import Prepared

COMPILE_CONSTANT = 7.5


def start(_threads):
    return {"version": np.__version__, "setup": "in f64"}


def op(compute):
    def prepare(task, inputs):
        wide = [x.astype(np.float64) for x in inputs]
        return Prepared(lambda: compute(task, *wide))

    return prepare


def softmax(_task, a):
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def logsumexp(_task, a):
    top = a.max(axis=1)
    return top + np.log(np.exp(a - top[:, None]).sum(axis=1))


def moved(compute):
    """Values only change their places: no detour over f64."""
    return lambda task, inputs: Prepared(lambda: compute(task, *inputs))


def cast(task, inputs):
    # Conversions start from the input's own dtype: they must be exact.
    return Prepared(lambda: inputs[0].astype({"f32": "f4", "f64": "f8", "i32": "i4", "f16": "f2"}[task["out"]["dtype"]]))


add = op(lambda _task, a, b: a + b)
OPS = {
    "add": add,
    "exp": op(lambda _task, a: np.exp(a)),
    "tanhSquare": op(lambda _task, a: np.tanh(a * a + 1)),
    "everySecond": op(lambda _task, a, b: a[:, ::2] + b),
    "transposedAdd": op(lambda _task, a, b: a.T + b),
    "reversedAdd": op(lambda _task, a, b: a[:, ::-1] + b),
    "sum": op(lambda task, a: a.sum(axis=task["axis"])),
    "max": op(lambda task, a: a.max(axis=task["axis"])),
    "softmax": op(softmax),
    "logsumexp": op(logsumexp),
    "matmul": op(lambda _task, a, b: a @ b),
    "matmulTransposed": op(lambda _task, a, b: a.T @ b),
    "permuteCopy": moved(lambda task, a: a.transpose(task["axes"])),
    "cast": cast,
    "ggmlCopy": moved(lambda task, a: a.transpose(1, 0, 2).reshape(task["out"]["shape"])),
    "gelu": op(lambda _task, x: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))),
    "addNew": add,
    "compile": op(lambda _task, x: np.maximum(x * COMPILE_CONSTANT + 1, x - COMPILE_CONSTANT) / 3),
}
