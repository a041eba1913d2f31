"""Reference cases for window functions, made with SciPy: python3 make_windows.py."""
import numpy as np
from scipy.signal import windows

from reference import Reference

ref = Reference("windows")
NAMES = {"hann": "hann", "hamming": "hamming", "blackman": "blackman", "bartlett": "bartlett", "flatTop": "flattop"}
LENGTHS = (0, 1, 2, 3, 4, 5, 8, 17, 64, 257)
# Values near 0 are differences of cosines: they are compared beside 1.
CHECK = {"rtol": 1e-13, "atol": 4e-16}

for n in LENGTHS:
    for periodic in (False, True):
        for ours, theirs in NAMES.items():
            ref.add(ours, [], {"n": n, "periodic": periodic}, getattr(windows, theirs)(n, sym=not periodic), CHECK)
        for beta in (0.0, 0.5, 5.0, 8.6, 14.0, 29.9, 30.1, 100.0, 600.0, -5.0):
            expected = windows.kaiser(n, beta, sym=not periodic)
            ref.add("kaiser", [], {"n": n, "periodic": periodic, "beta": beta}, expected, {"rtol": 1e-12, "atol": 1e-300})
ref.save()
