"""Gradients of one step of an MLP and of a convnet by torch: writes torch.json beside this file.

Numbers are a formula of their position, so that only the results have to be kept. Run with Python, NumPy and torch.
"""
import json
import os

import numpy as np
import torch
import torch.nn.functional as F


def wave(shape, seed, scale=1.0):
    """sin of 12.9898·(i + 1) + seed, in f64: the same on both sides."""
    n = int(np.prod(shape))
    i = np.arange(1, n + 1, dtype=np.float64)
    return (np.sin(i * 12.9898 + seed) * scale).reshape(shape)


def mlp(p, x, y):
    h = torch.tanh(x @ p["w1"] + p["b1"])
    h = torch.relu(h @ p["w2"] + p["b2"])
    return F.cross_entropy(h @ p["w3"] + p["b3"], y)


def convnet(p, x, y):
    h = torch.relu(F.conv2d(x, p["c1"], p["d1"], padding=1))
    h = F.max_pool2d(h, 2)
    h = torch.sigmoid(F.conv2d(h, p["c2"], p["d2"], stride=2, padding=1))
    h = F.avg_pool2d(h, 2)
    logits = h.reshape(x.shape[0], -1) @ p["w"] + p["b"]
    return F.nll_loss(F.log_softmax(logits, dim=1), y)


models = {
    "mlp": {
        "f": mlp,
        "x": [4, 6],
        "labels": 3,
        "shapes": {"w1": [6, 5], "b1": [5], "w2": [5, 4], "b2": [4], "w3": [4, 3], "b3": [3]},
    },
    "convnet": {
        "f": convnet,
        "x": [2, 1, 8, 8],
        "labels": 3,
        "shapes": {"c1": [2, 1, 3, 3], "d1": [2], "c2": [3, 2, 3, 3], "d2": [3], "w": [3, 3], "b": [3]},
    },
}

out = {}
for name, m in models.items():
    out[name] = {"x": m["x"], "labels": m["labels"], "shapes": m["shapes"]}
    for dtype, t in (("f64", torch.float64), ("f32", torch.float32)):
        p = {
            k: torch.tensor(wave(s, seed, 0.7), dtype=t, requires_grad=True)
            for seed, (k, s) in enumerate(m["shapes"].items(), 1)
        }
        x = torch.tensor(wave(m["x"], 0.5), dtype=t)
        y = torch.arange(m["x"][0]) % m["labels"]
        loss = m["f"](p, x, y)
        loss.backward()
        grads = {k: v.grad.double().reshape(-1).tolist() for k, v in p.items()}
        out[name][dtype] = {"loss": loss.item(), "grads": grads}

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "torch.json"), "w") as f:
    json.dump(out, f)
    f.write("\n")
