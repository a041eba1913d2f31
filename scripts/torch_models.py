"""The models of tests/nn/models.ts in torch, for fixtures-nn.py and the benchmark: the same formulas, the same order."""
import math

import numpy as np
import torch
import torch.nn.functional as F


def mixed(n, seed):
    """Whole numbers below 2^32 that look like chance, of a position and a seed."""
    h = (np.arange(n, dtype=np.uint32) + np.uint32(1 + seed * 7919)) * np.uint32(0x9E3779B1)
    h = (h ^ (h >> np.uint32(15))) * np.uint32(0x2C1B3C6D)
    h = (h ^ (h >> np.uint32(12))) * np.uint32(0x297A2D39)
    return h ^ (h >> np.uint32(15))


def noise(shape, dtype, seed, scale=1.0, shift=0.0):
    x = (mixed(math.prod(shape), seed) / 2.0**31 - 1) * scale + shift
    return torch.from_numpy(x.reshape(shape)).to(dtype)


def classes(shape, count, seed):
    return torch.from_numpy((mixed(math.prod(shape), seed).astype(np.int64) % count).reshape(shape))


class Maker:
    """Parameters by their paths, in the order in which they are made."""

    def __init__(self, dtype):
        self.dtype, self.seed, self.params = dtype, 0, {}

    def add(self, path, shape, scale, shift=0.0):
        self.seed += 1
        self.params[path] = noise(shape, self.dtype, self.seed, scale, shift).requires_grad_()

    def weighted(self, path, *shape):
        self.add(f"{path}.weight", shape, 1.7 / math.sqrt(math.prod(shape[1:])))
        self.add(f"{path}.bias", (shape[0],), 0.1)

    def norm(self, path, size):
        self.add(f"{path}.weight", (size,), 0.1, 1)
        self.add(f"{path}.bias", (size,), 0.1)

    def table(self, path, *shape):
        self.add(f"{path}.weight", shape, 0.3)


def linear(p, path, x):
    return F.linear(x, p[f"{path}.weight"], p[f"{path}.bias"])


def mlp(sizes, batch, dtype):
    make = Maker(dtype)
    for k, n in enumerate(sizes[1:]):
        make.weighted(f"layers.{k}", n, sizes[k])
    p = make.params
    x, y = noise((batch, sizes[0]), dtype, 101), classes((batch,), sizes[-1], 102)

    def loss():
        h = x
        for k in range(len(sizes) - 1):
            h = linear(p, f"layers.{k}", h if k == 0 else torch.relu(h))
        return F.cross_entropy(h, y)

    return p, loss


def convnet(channels, size, batch, dtype):
    make = Maker(dtype)
    start, first, second = channels
    flat = second * (size // 4) ** 2
    make.weighted("first", first, start, 3, 3)
    make.weighted("second", second, first, 3, 3)
    make.weighted("last", 10, flat)
    p = make.params
    x, y = noise((batch, start, size, size), dtype, 101), classes((batch,), 10, 102)

    def loss():
        h = x
        for name in ("first", "second"):
            h = F.max_pool2d(torch.relu(F.conv2d(h, p[f"{name}.weight"], p[f"{name}.bias"], padding=1)), 2)
        return F.cross_entropy(linear(p, "last", h.reshape(-1, flat)), y)

    return p, loss


def gpt(layers, width, heads, context, words, batch, dtype):
    make = Maker(dtype)
    make.table("words", words, width)
    make.table("places", context, width)
    for k in range(layers):
        make.norm(f"layers.{k}.before", width)
        for name in ("query", "key", "value", "out"):
            make.weighted(f"layers.{k}.attention.{name}", width, width)
        make.norm(f"layers.{k}.after", width)
        make.weighted(f"layers.{k}.wide", 4 * width, width)
        make.weighted(f"layers.{k}.narrow", width, 4 * width)
    make.norm("last", width)
    make.weighted("out", words, width)
    p = make.params
    x, y = classes((batch, context), words, 101), classes((batch, context), words, 102)
    hidden = torch.triu(torch.ones(context, context, dtype=torch.bool), 1)

    def norm(path, h):
        return F.layer_norm(h, (width,), p[f"{path}.weight"], p[f"{path}.bias"])

    def attention(path, h):
        def split(name):
            return linear(p, f"{path}.{name}", h).reshape(batch, context, heads, -1).transpose(1, 2)

        q, k, v = split("query"), split("key"), split("value")
        scores = (q @ k.transpose(-1, -2)) * (1 / math.sqrt(width // heads))
        seen = torch.softmax(scores.masked_fill(hidden, -math.inf), -1)
        return linear(p, f"{path}.out", (seen @ v).transpose(1, 2).reshape(batch, context, width))

    def loss():
        h = F.embedding(x, p["words.weight"]) + p["places.weight"]
        for k in range(layers):
            at = f"layers.{k}"
            h = h + attention(f"{at}.attention", norm(f"{at}.before", h))
            wide = F.gelu(linear(p, f"{at}.wide", norm(f"{at}.after", h)), approximate="tanh")
            h = h + linear(p, f"{at}.narrow", wide)
        logits = linear(p, "out", norm("last", h))
        return F.cross_entropy(logits.reshape(-1, words), y.reshape(-1))

    return p, loss
