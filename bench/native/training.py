"""torch's side of the training benchmark: a line of JSON in, a line out. {"prepare": name, "args": […]} makes a model and
answers with the losses of 3 steps; {"run": times, "cpu": true | false} answers with milliseconds a step."""
import json
import os
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import torch_models as models  # noqa: E402

torch.set_num_threads(int(sys.argv[1]))
makers = {
    "mlp": (models.mlp, lambda p: torch.optim.SGD(p, lr=0.01)),
    "convnet": (models.convnet, lambda p: torch.optim.SGD(p, lr=0.01)),
    "gpt": (models.gpt, lambda p: torch.optim.AdamW(p, lr=0.001, weight_decay=0.01)),
}
clocks = {True: time.process_time, False: time.perf_counter}


def prepare(name, *args):
    make, optimise = makers[name]
    params, loss = make(*args, torch.float32)
    optimiser = optimise(params.values())

    def step():
        optimiser.zero_grad()
        value = loss()
        value.backward()
        optimiser.step()
        return value

    return step


for line in sys.stdin:
    request = json.loads(line)
    if "prepare" in request:
        step = prepare(request["prepare"], *request["args"])
        answer = [step().item() for _ in range(3)]
    else:
        clock = clocks[request["cpu"]]
        start = clock()
        for _ in range(request["run"]):
            step()
        answer = (clock() - start) * 1000 / request["run"]
    print(json.dumps(answer), flush=True)
