"""Reference cases for pictures, made with Pillow, OpenCV and Python's own colorsys: python3 make_image.py."""
import colorsys

import cv2
import numpy as np
from PIL import Image

from reference import LAYOUTS, Reference, laid, plain

rng = np.random.default_rng(20260901)
ref = Reference("image")
SIZES = ((4, 4, 2, 2), (5, 7, 3, 4), (6, 5, 13, 11), (9, 4, 4, 9), (1, 8, 3, 3), (16, 3, 1, 1), (30, 21, 7, 5), (3, 2, 3, 2))
PILLOW = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC, "lanczos": Image.Resampling.LANCZOS}
OPENCV = {"bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC}
NEAR = {"rtol": 0, "atol": 2e-6}


def pillow(a, height, width, how):
    bands = [np.asarray(Image.fromarray(np.ascontiguousarray(a[..., c])).resize((width, height), how)) for c in range(a.shape[-1])]
    return np.stack(bands, -1)


def opencv(a, height, width, how):
    return cv2.resize(a, (width, height), interpolation=how).reshape(height, width, a.shape[-1])


for h, w, height, width in SIZES:
    a = rng.random((h, w, 3), dtype=np.float32)
    for layout in LAYOUTS if (h, w) == (5, 7) else ("plain",):
        for method, how in PILLOW.items():
            ref.add("resize", [laid(a, layout)], {"size": [height, width], "method": method}, pillow(a, height, width, how), NEAR)
        for method, how in OPENCV.items():
            params = {"size": [height, width], "method": method, "antialias": False}
            # OpenCV keeps the weights of its cubics in fewer digits.
            ref.add("resize", [laid(a, layout)], params, opencv(a, height, width, how), {"rtol": 0, "atol": 2e-5})
        if height <= h and width <= w:
            ref.add("resize", [laid(a, layout)], {"size": [height, width], "method": "area"},
                    opencv(a, height, width, cv2.INTER_AREA), NEAR)
        ref.add("resize", [laid(a, layout)], {"size": [height, width], "method": "nearest"},
                opencv(a, height, width, cv2.INTER_NEAREST_EXACT))
    # Bytes: Pillow rounds (and holds, which is why its overshooting filters differ) after each of the two axes.
    b = rng.integers(0, 256, (h, w, 3), dtype=np.uint8)
    ref.add("resize", [plain(b)], {"size": [height, width], "method": "bilinear"},
            pillow(b, height, width, PILLOW["bilinear"]), {"rtol": 0, "atol": 1})

pixels = rng.random((40, 3))
corners = np.array([[r, g, b] for r in (0, 0.5, 1) for g in (0, 0.5, 1) for b in (0, 0.5, 1)], dtype=np.float64)
rgb = np.concatenate([pixels, corners])
CLOSE = {"rtol": 0, "atol": 1e-14}


def each(fn, a):
    return np.array([fn(*row) for row in a])


def hsl(r, g, b):
    h, l, s = colorsys.rgb_to_hls(r, g, b)
    return h, s, l


hsv = each(colorsys.rgb_to_hsv, rgb)
ref.add("rgbToHsv", [plain(rgb)], {}, hsv, CLOSE)
ref.add("hsvToRgb", [plain(hsv)], {}, each(colorsys.hsv_to_rgb, hsv), CLOSE)
ref.add("rgbToHsl", [plain(rgb)], {}, each(hsl, rgb), CLOSE)
ref.add("hslToRgb", [plain(each(hsl, rgb))], {}, each(lambda h, s, l: colorsys.hls_to_rgb(h, l, s), each(hsl, rgb)), CLOSE)

f = rgb.astype(np.float32).reshape(1, -1, 3)
ycc = cv2.cvtColor(f, cv2.COLOR_RGB2YCrCb)[..., [0, 2, 1]]
# OpenCV has 0.713 and 0.564 where the standard has 0.5/0.701 and 0.5/0.886.
ref.add("rgbToYcbcr", [plain(f)], {}, ycc, {"rtol": 0, "atol": 3e-4})
ref.add("rgbToGray", [plain(f)], {}, cv2.cvtColor(f, cv2.COLOR_RGB2GRAY), {"rtol": 0, "atol": 1e-6})
bytes_ = rng.integers(0, 256, (6, 30, 3), dtype=np.uint8)
jpeg = np.asarray(Image.fromarray(bytes_).convert("YCbCr"))
ref.add("rgbToYcbcr", [plain(bytes_)], {}, jpeg, {"rtol": 0, "atol": 1})
back = np.asarray(Image.fromarray(jpeg, mode="YCbCr").convert("RGB"))
ref.add("ycbcrToRgb", [plain(jpeg)], {}, back, {"rtol": 0, "atol": 1})
ref.add("rgbToGray", [plain(bytes_)], {}, cv2.cvtColor(bytes_, cv2.COLOR_RGB2GRAY), {"rtol": 0, "atol": 1})
ref.save()
