"""NumPy's (or torch's) side of the benchmark: a line of JSON in, a line out. {"prepare": name, "args": […]} sets a
workload up and answers with samples of its result; {"run": times} answers with milliseconds a call."""
import json
import sys
import time

import numpy as np

torch = None
if len(sys.argv) > 2 and sys.argv[2] == "torch":
    import torch

    torch.set_num_threads(int(sys.argv[1]))


def values(*shape):
    i = np.arange(int(np.prod(shape)), dtype=np.uint32)
    return ((i * np.uint32(0x9E3779B1)) % 4096 / 1024 - 2).astype(np.float32).reshape(shape)


def into(f, *inputs):
    out = np.asarray(f(*inputs))
    return lambda: f(*inputs, out=out), out


def matmul(*shapes):
    return into(np.matmul, *[values(*s) for s in shapes])


def strided(kind):
    a, b = values(4096, 4096), values(4096, 4096)
    inputs = {"row": (a, values(4096)), "step": (a[:, ::2], b[:, :2048]), "turned": (a.T, b)}[kind]
    out = np.empty(inputs[0].shape, np.float32)
    return lambda: np.add(*inputs, out=out), out


def softmax():
    x = torch.from_numpy(values(2048, 4096))
    return lambda: torch.softmax(x, 1), torch.softmax(x, 1).numpy()


def permuted(*shape):
    x = torch.from_numpy(values(*shape)).transpose(-1, -2)
    out = torch.empty(x.shape)
    return lambda: out.copy_(x), out.numpy()


workloads = {f.__name__: f for f in (matmul, strided, softmax, permuted)}
for line in sys.stdin:
    request = json.loads(line)
    if "prepare" in request:
        run, out = workloads[request["prepare"]](*request["args"])
        run()
        flat = np.asarray(out).ravel()
        answer = [float(flat[(k * 7919) % flat.size]) for k in range(16)]
    else:
        # As on the other side: what a turn begins with does not count.
        start = time.perf_counter()
        while time.perf_counter() - start < 0.025:
            run()
        start = time.perf_counter()
        for _ in range(request["run"]):
            run()
        answer = (time.perf_counter() - start) * 1e3 / request["run"]
    print(json.dumps(answer), flush=True)
