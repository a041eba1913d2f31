"""tests/nn/torch.json and training.json: what torch makes of small numbers, for strided/nn.

    /usr/bin/python3 scripts/fixtures-nn.py

Every optimiser over 20 steps, and layers and losses forwards, in f64 and f32. Inputs are formulas of the index, the same
on both sides, so that only results are in the file. training.json has whole models (torch_models.py): gradients of one step,
a few numbers of each, and the losses of 100 steps.
"""
import json
import math
import os

import torch
import torch.nn.functional as F
from torch_models import convnet, gpt, mlp, noise

root = os.path.join(os.path.dirname(__file__), "..")


def wave(shape, dtype, phase=0.0, scale=1.0):
    """sin(0.7 i + phase)·scale in f64, then rounded: element i in row-major order."""
    n = math.prod(shape)
    x = [math.sin(0.7 * i + phase) * scale for i in range(n)]
    return torch.tensor(x, dtype=torch.float64).reshape(shape).to(dtype)


def numbers(t):
    return t.detach().double().reshape(-1).tolist()


optimisers = {
    "sgd": (torch.optim.SGD, dict(lr=0.1)),
    "sgd decay": (torch.optim.SGD, dict(lr=0.1, weight_decay=0.05)),
    "sgd momentum": (torch.optim.SGD, dict(lr=0.05, momentum=0.9, dampening=0.1, weight_decay=0.01)),
    "sgd nesterov": (torch.optim.SGD, dict(lr=0.05, momentum=0.9, nesterov=True)),
    "adam": (torch.optim.Adam, dict(lr=0.02)),
    "adam decay": (torch.optim.Adam, dict(lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)),
    "adamw": (torch.optim.AdamW, dict(lr=0.02, weight_decay=0.05)),
    "rmsprop": (torch.optim.RMSprop, dict(lr=0.01)),
    "rmsprop all": (
        torch.optim.RMSprop,
        dict(lr=0.01, alpha=0.9, momentum=0.5, centered=True, weight_decay=0.02),
    ),
}


def trained(kind, options, dtype):
    p = wave((3, 4), dtype, 0.3).requires_grad_()
    o = kind([p], **options)
    for step in range(20):
        # A bowl, with something that changes from step to step.
        p.grad = (p.detach() * 0.8 + wave((3, 4), dtype, 0.1 * step, 0.3)).to(dtype)
        o.step()
    return numbers(p)


def layers(dtype):
    x2, x3 = wave((4, 6), dtype), wave((2, 5, 6), dtype, 0.2)
    x4 = wave((2, 4, 5, 5), dtype, 0.4)
    lw, lb = wave((3, 6), dtype, 1), wave((3,), dtype, 2)
    cw, cb = wave((3, 4, 3, 3), dtype, 1.5, 0.5), wave((3,), dtype, 2.5)
    c1 = wave((3, 5, 2), dtype, 0.8)
    w6, b6, w4, b4 = wave((6,), dtype, 3), wave((6,), dtype, 4), wave((4,), dtype, 5), wave((4,), dtype, 6)
    mean, variance = wave((4,), dtype, 7, 0.1), wave((4,), dtype, 8, 0.2) + 1
    before = [mean.clone(), variance.clone()]
    heads = torch.nn.MultiheadAttention(6, 2, batch_first=True, dtype=dtype)
    with torch.no_grad():
        heads.in_proj_weight.copy_(torch.cat([wave((6, 6), dtype, k) for k in (9, 10, 11)]))
        heads.in_proj_bias.copy_(torch.cat([wave((6,), dtype, k) for k in (12, 13, 14)]))
        heads.out_proj.weight.copy_(wave((6, 6), dtype, 15))
        heads.out_proj.bias.copy_(wave((6,), dtype, 16))
    mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    made = {
        "linear": F.linear(x3, lw, lb),
        "conv2d": F.conv2d(x4, cw, cb, stride=2, padding=1),
        "conv1d": F.conv1d(x3, c1),
        "layerNorm": F.layer_norm(x3, (6,), w6, b6),
        "groupNorm": F.group_norm(x4, 2, w4, b4),
        "batchNorm": F.batch_norm(x4, *before, w4, b4, training=True),
        "batchNorm state": torch.cat(before),
        "batchNorm known": F.batch_norm(x4, mean, variance, w4, b4),
        "attention": heads(x3, x3, x3, need_weights=False)[0],
        "attention causal": heads(x3, x3, x3, attn_mask=mask, need_weights=False)[0],
    }
    target, classes = wave((4, 6), dtype, 2, 2), torch.tensor([0, 5, 2, 3])
    made |= {
        "mse": F.mse_loss(x2, target),
        "l1": F.l1_loss(x2, target, reduction="sum"),
        "huber": F.huber_loss(x2, target, delta=0.7),
        "crossEntropy": F.cross_entropy(x2 * 3, classes),
        "crossEntropy smooth": F.cross_entropy(x2 * 3, classes, label_smoothing=0.2, reduction="none"),
        "nll": F.nll_loss(F.log_softmax(x2, -1), classes),
        "binaryCrossEntropy": F.binary_cross_entropy_with_logits(x2 * 20, target.sigmoid()),
    }
    return {name: numbers(t) for name, t in made.items()}


types = {"f64": torch.float64, "f32": torch.float32}
out = {
    "torch": torch.__version__,
    "optimisers": {
        name: {d: trained(kind, options, t) for d, t in types.items()} for name, (kind, options) in optimisers.items()
    },
    "layers": {d: layers(t) for d, t in types.items()},
}
folder = os.path.join(root, "tests", "nn")
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "torch.json"), "w") as f:
    json.dump(out, f, indent=1)
    f.write("\n")

models = {
    "mlp": (lambda t: mlp((12, 16, 16, 4), 16, t), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
    "convnet": (lambda t: convnet((1, 4, 6), 12, 8, t), lambda p: torch.optim.Adam(p, lr=0.003)),
    "gpt": (lambda t: gpt(4, 16, 2, 12, 17, 4, t), lambda p: torch.optim.AdamW(p, lr=0.002, weight_decay=0.01)),
}


def summary(g):
    """Some elements, and two sums that every element has a part in."""
    flat = g.double().reshape(-1)
    some = [flat[(k * 7919) % len(flat)].item() for k in range(4)]
    return some + [(flat * noise((len(flat),), torch.float64, 1)).sum().item(), (flat * flat).sum().item()]


def one_step(make):
    params, loss = make(torch.float64)
    value = loss()
    value.backward()
    return {"loss": value.item(), "grads": {path: summary(p.grad) for path, p in params.items()}}


def curve(make, optimiser, dtype):
    params, loss = make(dtype)
    o = optimiser(params.values())
    losses = []
    for _ in range(100):
        o.zero_grad()
        value = loss()
        value.backward()
        o.step()
        losses.append(float(f"{value.item():.10g}"))
    return losses


training = {
    name: {"step": one_step(make), "losses": {d: curve(make, o, t) for d, t in types.items()}}
    for name, (make, o) in models.items()
}
with open(os.path.join(folder, "training.json"), "w") as f:
    json.dump(training, f)
    f.write("\n")
