"""What every result is held against: NumPy, in f64 throughout, rounded once at the end."""

import numpy as np

from inputs import Prepared

COMPILE_CONSTANT = 7.5
# As in training.ts.
RATE, CLASSES = 0.05, 10


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


def dense(w, b):
    """A layer [outputs, inputs]: what it makes of x, and, of the gradient of that, the gradients of x and of its parameters."""
    return lambda x: (x @ w.T + b, lambda g: (g @ w, (g.T @ x, g.sum(axis=0))))


def around(x):
    return np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), axis=(2, 3))


def convolution(w, b):
    def forward(x):
        windows = around(x)

        def backward(g):
            turned = w[:, :, ::-1, ::-1]
            gx = np.einsum("nohwij,ocij->nchw", around(g), turned, optimize=True)
            gw = np.einsum("nohw,nchwij->ocij", g, windows, optimize=True)
            return gx, (gw, g.sum(axis=(0, 2, 3)))

        return np.einsum("nchwij,ocij->nohw", windows, w, optimize=True) + b[:, None, None], backward

    return forward


def relu(x):
    return np.maximum(x, 0), lambda g: (g * (x > 0), None)


def pool(x):
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2).swapaxes(3, 4).reshape(n, c, h // 2, w // 2, 4)
    first = np.eye(4)[blocks.argmax(axis=-1)]

    def backward(g):
        spread = (first * g[..., None]).reshape(n, c, h // 2, w // 2, 2, 2)
        return spread.swapaxes(3, 4).reshape(x.shape), None

    return blocks.max(axis=-1), backward


def flat(x):
    return x.reshape(len(x), -1), lambda g: (g.reshape(x.shape), None)


def training(layers_of):
    """The losses of the first steps of gradient descent. `layers_of` gives functions, and which parameters they have."""

    def losses(task, x, y, *params):
        right = np.abs(y).astype(np.int64) % CLASSES
        made = []
        for _ in range(task["out"]["shape"][0]):
            h, backs = x, []
            for layer, first in layers_of(params):
                h, back = layer(h)
                backs.append((back, first))
            h = h - h.max(axis=1, keepdims=True)
            logs = h - np.log(np.exp(h).sum(axis=1, keepdims=True))
            made.append(-logs[np.arange(len(x)), right].mean())
            g = (np.exp(logs) - np.eye(CLASSES)[right]) / len(x)
            moved = list(params)
            for back, first in reversed(backs):
                g, own = back(g)
                for k, step in enumerate(own or ()):
                    moved[first + k] = params[first + k] - RATE * step
            params = moved
        return np.array(made)

    return op(losses)


def mlp(params):
    for k in range(0, len(params), 2):
        if k > 0:
            yield relu, None
        yield dense(params[k], params[k + 1]), k


def convnet(params):
    for k in (0, 2):
        yield convolution(params[k], params[k + 1]), k
        yield relu, None
        yield pool, None
    yield flat, None
    yield dense(params[4], params[5]), 4


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
    "trainMlp": training(mlp),
    "trainConvnet": training(convnet),
}
