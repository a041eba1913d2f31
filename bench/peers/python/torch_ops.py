"""torch on the CPU, into existing tensors wherever it can."""

import numpy as np
import torch
from torch.nn import functional

from inputs import Prepared

DTYPES = {"f32": torch.float32, "f64": torch.float64, "i32": torch.int32, "f16": torch.float16}
# As in training.ts.
RATE, CLASSES = 0.05, 10


def start(threads):
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return {"version": torch.__version__, "setup": f"CPU, {torch.get_num_threads()} threads; out= wherever it can"}


def op(make):
    """make(task, out, *inputs) gives the call."""

    def prepare(task, inputs):
        out = torch.zeros(task["out"]["shape"], dtype=DTYPES[task["out"]["dtype"]])
        run = make(task, out, *[torch.from_numpy(x) for x in inputs])

        def read():
            run()
            return out.numpy()

        return Prepared(run, read)

    return prepare


def fresh(make):
    """A call that makes a new tensor."""

    def prepare(task, inputs):
        run = make(task, *[torch.from_numpy(x) for x in inputs])
        return Prepared(run, lambda: run().numpy())

    return prepare


def tanh_square(_task, out, a):
    def run():
        torch.mul(a, a, out=out)
        out.add_(1)
        out.tanh_()

    return run


def every_second(_task, out, a, b):
    view = a[:, ::2]
    return lambda: torch.add(view, b, out=out)


def transposed(_task, out, a, b):
    view = a.t()
    return lambda: torch.add(view, b, out=out)


def reversed_add(_task, out, a, b):
    # Strides are never negative in torch: flip copies.
    return lambda: torch.add(a.flip(1), b, out=out)


def folded(with_axis, of_all):
    def make(task, out, a):
        if task["axis"] is None:
            return lambda: out.copy_(of_all(a))
        return lambda: with_axis(a, task["axis"], out)

    return make


def matmul_transposed(_task, out, a, b):
    view = a.t()
    return lambda: torch.matmul(view, b, out=out)


def permute_copy(task, out, a):
    view = a.permute(task["axes"])
    return lambda: out.copy_(view)


def ggml_copy(_task, out, a):
    view = a.permute(1, 0, 2)
    dense = out.view(13, 16, 128)
    return lambda: dense.copy_(view)


def training(forward):
    """A step of gradient descent, as torch.nn and torch.optim have it; reading begins again."""

    def prepare(task, inputs):
        x = torch.from_numpy(inputs[0])
        y = torch.from_numpy(inputs[1]).abs().long() % CLASSES
        state = {}

        def begin():
            state["params"] = [torch.from_numpy(p).clone().requires_grad_() for p in inputs[2:]]
            state["optimiser"] = torch.optim.SGD(state["params"], lr=RATE)

        def step():
            with torch.enable_grad():
                state["optimiser"].zero_grad()
                loss = functional.cross_entropy(forward(x, *state["params"]), y)
                loss.backward()
            state["optimiser"].step()
            return loss.item()

        def read():
            begin()
            return np.array([step() for _ in range(task["out"]["shape"][0])], np.float32)

        begin()
        return Prepared(step, read)

    return prepare


def mlp(x, *params):
    for k in range(0, len(params), 2):
        x = functional.linear(x if k == 0 else functional.relu(x), params[k], params[k + 1])
    return x


def convnet(x, w1, b1, w2, b2, w3, b3):
    one = functional.max_pool2d(functional.relu(functional.conv2d(x, w1, b1, padding=1)), 2)
    two = functional.max_pool2d(functional.relu(functional.conv2d(one, w2, b2, padding=1)), 2)
    return functional.linear(two.flatten(1), w3, b3)


add = op(lambda _task, out, a, b: lambda: torch.add(a, b, out=out))
OPS = {
    "add": add,
    "exp": op(lambda _task, out, a: lambda: torch.exp(a, out=out)),
    "tanhSquare": op(tanh_square),
    "everySecond": op(every_second),
    "transposedAdd": op(transposed),
    "reversedAdd": op(reversed_add),
    "sum": op(folded(lambda a, axis, out: torch.sum(a, axis, out=out), torch.sum)),
    "max": op(folded(lambda a, axis, out: torch.amax(a, axis, out=out), torch.amax)),
    "softmax": fresh(lambda _task, a: lambda: torch.softmax(a, 1)),
    "logsumexp": op(lambda _task, out, a: lambda: torch.logsumexp(a, 1, out=out)),
    "matmul": op(lambda _task, out, a, b: lambda: torch.matmul(a, b, out=out)),
    "matmulTransposed": op(matmul_transposed),
    "permuteCopy": op(permute_copy),
    "cast": op(lambda _task, out, a: lambda: out.copy_(a)),
    "ggmlCopy": op(ggml_copy),
    "gelu": fresh(lambda _task, a: lambda: torch.nn.functional.gelu(a, approximate="tanh")),
    "addNew": fresh(lambda _task, a, b: lambda: a + b),
    "compile": "runs its operations one by one; this version has no compiler",
    "trainMlp": training(mlp),
    "trainConvnet": training(convnet),
}
