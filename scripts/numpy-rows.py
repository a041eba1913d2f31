"""Asks NumPy for the value of every line of docs/guides/numpy-rows.json and writes tests/fixtures/numpy-rows.json.

    python3 scripts/numpy-rows.py
"""
import json
import math
import os
import warnings

import numpy as np

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
warnings.simplefilter("ignore")
SHORT = {"float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool", "complex64": "c64", "complex128": "c128"}


def short(dtype):
    name = str(dtype)
    return SHORT.get(name, name.replace("uint", "u").replace("int", "i"))


def plain(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def answer(line, setup):
    scope = {}
    *before, last = line.split("; ")
    exec("\n".join([*setup, *before]), scope)
    value = eval(last, scope)
    dtype = short(value.dtype) if isinstance(value, (np.ndarray, np.generic)) else None
    return {"numpy": line, "dtype": dtype, "value": plain(value)}


with open(os.path.join(root, "docs/guides/numpy-rows.json")) as f:
    data = json.load(f)
rows = [answer(row[0], data["setup"]["numpy"]) for group in data["groups"] for row in group["rows"]]
with open(os.path.join(root, "tests/fixtures/numpy-rows.json"), "w") as f:
    f.write("[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]\n")
print(len(rows), "lines, NumPy", np.__version__)
