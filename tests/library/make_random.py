"""Random numbers drawn a second time: Philox4x32-10 and what becomes of its words, written independently in NumPy.

Words, uniform numbers, whole numbers, orders and choices agree to the bit; logarithms and angles are NumPy's on f64.
"""
import numpy as np

from reference import Reference

out = Reference("random")
np.seterr(all="ignore")
M = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
W = (0x9E3779B9, 0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
S = np.uint64(32)


def philox(counter, key):
    """counter: four uint64 arrays of 32-bit values; key: two integers."""
    a, b, c, d = counter
    for r in range(10):
        k0, k1 = np.uint64((key[0] + r * W[0]) & 0xFFFFFFFF), np.uint64((key[1] + r * W[1]) & 0xFFFFFFFF)
        p, q = a * M[0], c * M[1]
        a, b, c, d = (q >> S) ^ b ^ k0, q & LOW, (p >> S) ^ d ^ k1, p & LOW
    return np.stack([a, b, c, d], -1)


class Stream:
    def __init__(self, seed=0, key=None, stream=(0, 0), at=0):
        self.key = key or (seed & 0xFFFFFFFF, seed >> 32)
        self.stream = stream
        self.at = at

    def block(self, blocks, attempt=0):
        blocks = np.asarray(blocks, np.uint64)
        one = np.ones_like(blocks)
        high = (blocks >> S) | np.uint64(attempt << 16)
        return philox((blocks & LOW, high, one * np.uint64(self.stream[0]), one * np.uint64(self.stream[1])), self.key)

    def words(self, n):
        """n words, of whole groups of 16; also where they begin."""
        start = self.at
        groups = -(-n // 16)
        self.at += groups
        blocks = np.arange(4 * start, 4 * (start + groups), dtype=np.uint64)
        return self.block(blocks).reshape(-1), start

    def spawn(self, index):
        w = self.block_at(index)
        return Stream(key=(int(w[0]), int(w[1])), stream=(int(w[2]), int(w[3])))

    def block_at(self, index):
        one = np.ones(1, np.uint64)
        return philox((one * np.uint64(index), one * np.uint64(0xFFFF0000), one * np.uint64(self.stream[0]),
                       one * np.uint64(self.stream[1])), self.key)[0]

    def wide(self, n):
        w, start = self.words(2 * n)
        return w[0::2] | (w[1::2] << S), start

    def below(self, n, bound):
        w, start = self.words(n)
        return np.array([self.one_below(int(x), start, i, bound) for i, x in enumerate(w[:n])], np.uint64)

    def one_below(self, word, start, i, bound):
        attempt = 0
        while word * bound % 2**32 < 2**32 % bound:
            attempt += 1
            word = int(self.block([4 * start + i // 4], attempt)[0][i % 4])
        return word * bound >> 32

    def wide_below(self, n, bound):
        mask = (1 << (bound - 1).bit_length()) - 1
        v, start = self.wide(n)
        result = []
        for i, x in enumerate(v[:n]):
            x, attempt = int(x) & mask, 0
            while x >= bound:
                attempt += 1
                b = self.block([4 * start + i // 2], attempt)[0]
                x = (int(b[2 * (i % 2)]) | int(b[2 * (i % 2) + 1]) << 32) & mask
            result.append(x)
        return result

    def order(self, n):
        w, start = self.words(n)
        items = []
        for i in range(n):
            j = self.one_below(int(w[i]), start, i, i + 1)
            items.append(i)
            items[i], items[j] = items[j], items[i]
        return np.array(items, np.int64)


def unit(s, n, d):
    if d == "f64":
        v, _ = s.wide(n)
        return ((v >> np.uint64(12)).astype("f8") * 2.0**-52)[:n]
    w, _ = s.words(n)
    return ((w >> np.uint64(8)).astype("f4") * np.float32(2.0**-24))[:n]


def uniform(s, n, d, low, high):
    t = np.dtype("f8" if d == "f64" else "f4").type
    u = unit(s, n, d)
    return np.minimum(u * (t(high) - t(low)) + t(low), np.nextafter(t(high), t(-np.inf)))


def positive(bits, d):
    if d == "f64":
        return (bits >> np.uint64(12)).astype("f8") * 2.0**-52 + 2.0**-53
    return bits.astype("f4").astype("f8") * 2.0**-32 + 2.0**-33


def exponential(s, n, d):
    bits = s.wide(n)[0] if d == "f64" else s.words(n)[0]
    return -np.log(positive(bits, d))[:n]


def normal(s, n, d):
    bits = s.wide(n)[0] if d == "f64" else s.words(n)[0]
    lanes = 2 if d == "f64" else 4
    rows = bits.reshape(-1, 2, lanes)
    radius = np.sqrt(-2 * np.log(positive(rows[:, 0], d)))
    turn = rows[:, 1]
    size = 64 if d == "f64" else 32
    rest = (turn << np.uint64(2)) & (LOW if size == 32 else np.uint64(0xFFFFFFFFFFFFFFFF))
    signed = rest.view(np.int64) if size == 64 else rest.astype(np.uint32).view(np.int32)
    angle = signed.astype("f8") * 2.0**-size * (np.pi / 2)
    c, sn = np.cos(angle), np.sin(angle)
    swap = (turn >> np.uint64(size - 2)) & np.uint64(1) == 1
    sign = 1 - 2 * ((turn >> np.uint64(size - 1)) & np.uint64(1)).astype("f8")
    x, y = np.where(swap, sn, c) * sign * radius, np.where(swap, c, sn) * sign * radius
    return np.stack([x, y], 1).reshape(-1)[:n]


CLOSE = {"f32": {"rtol": 2e-6, "atol": 1e-6}, "f64": {"rtol": 1e-14, "atol": 1e-14}}
SEEDS = (0, 1, 42, 2**32 + 5, 2**53 - 1)
SHAPES = ((), (1,), (5,), (16,), (17,), (3, 7), (0,), (2, 0), (4, 5, 6), (130,))
for k, shape in enumerate(SHAPES):
    n = int(np.prod(shape, dtype=int))
    for seed in SEEDS[:: 1 if k % 3 == 0 else 2]:
        base = {"seed": str(seed), "shape": list(shape)}
        out.add("bits", [], {**base, "dtype": "u32"}, Stream(seed).words(n)[0][:n].astype("u4").reshape(shape))
        out.add("bits", [], {**base, "dtype": "u64"}, Stream(seed).wide(n)[0][:n].reshape(shape))
        for d in ("f32", "f64"):
            t = "f4" if d == "f32" else "f8"
            for low, high in ((0, 1), (-2.5, 7), (1e6, 1e6 + 1)):
                out.add("uniform", [], {**base, "dtype": d, "low": low, "high": high},
                        uniform(Stream(seed), n, d, low, high).reshape(shape))
            out.add("normal", [], {**base, "dtype": d}, normal(Stream(seed), n, d).astype(t).reshape(shape), CLOSE[d])
            out.add("normal", [], {**base, "dtype": d, "mean": 3, "std": 0.5},
                    (normal(Stream(seed), n, d) * 0.5 + 3).astype(t).reshape(shape), CLOSE[d])
            out.add("exponential", [], {**base, "dtype": d, "scale": 2},
                    (2 * exponential(Stream(seed), n, d)).astype(t).reshape(shape), CLOSE[d])
        out.add("bernoulli", [], {**base, "p": 0.3},
                (Stream(seed).words(n)[0][:n] < round(0.3 * 2**32)).reshape(shape))
        for low, high, d in ((0, 10, "i32"), (-7, 8, "i8"), (0, 256, "u8"), (-(2**31), 2**31, "i32"), (5, 6, "u16"),
                             (0, 3_000_000_000, "u32"), (-(2**31) + 1, 2**31 - 1, "i32"), (-5, 2**32 - 5, "i64"),
                             (-(2**63), 2**63, "i64"), (0, 2**63 + 12345, "u64"), (-(10**12), 10**12, "i64")):
            s, bound = Stream(seed), high - low
            if bound == 2**32:
                v = [int(x) for x in s.words(n)[0][:n]]
            elif bound == 2**64:
                v = [int(x) for x in s.wide(n)[0][:n]]
            else:
                v = s.wide_below(n, bound) if bound > 2**32 else [int(x) for x in s.below(n, bound)]
            t = {"i8": "i1", "u8": "u1", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8"}[d]
            out.add("integers", [], {**base, "low": str(low), "high": str(high), "dtype": d},
                    np.array([x + low for x in v], t).reshape(shape))
for seed in SEEDS:
    for n in (0, 1, 2, 5, 16, 33, 100):
        out.add("permutation", [], {"seed": str(seed), "n": n}, Stream(seed).order(n))
    for index in (0, 1, 5):
        child = Stream(seed).spawn(index)
        out.add("spawn", [], {"seed": str(seed), "index": index}, child.words(20)[0][:20].astype("u4"))
        out.add("spawn", [], {"seed": str(seed), "index": index, "then": 1},
                Stream(seed).spawn(index).spawn(1).words(20)[0][:20].astype("u4"))
# Where the lower half of the block number runs over, and far out
for at in (2**30 - 1, 2**30, 2**45 + 3):
    s = Stream(9, at=at)
    out.add("place", [], {"seed": "9", "at": at, "n": 48}, s.words(48)[0].astype("u4"))
# One call after another: each begins with a new group
s = Stream(11)
first, second, third = unit(s, 5, "f32"), s.order(7), unit(s, 40, "f64")
out.add("sequence", [], {"seed": "11"}, [first, second, third])
out.save()
