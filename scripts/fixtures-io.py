"""
Writes tests/fixtures/io: small files of every format, made by the programs that own the formats, and manifest.json, which
says what is in them.

    python3 scripts/fixtures-io.py

NumPy must be there. safetensors, onnx, gguf and ml_dtypes (pip install safetensors onnx gguf ml_dtypes) make the other
files; where one is missing, its files and their lines in the manifest stay as they are.
"""
import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np

folder = Path(__file__).parent.parent / "tests" / "fixtures" / "io"
folder.mkdir(parents=True, exist_ok=True)
manifest_path = folder / "manifest.json"
manifest = json.loads(manifest_path.read_text()) if manifest_path.exists() else {}
rng = np.random.default_rng(7)


def plain(a):
    """Complex numbers as pairs, lowest byte first, row-major."""
    a = np.asarray(a)
    if a.dtype.kind == "c":
        a = np.stack([a.real, a.imag], axis=-1)
    return np.array(a.astype(a.dtype.newbyteorder("<")), order="C")


def facts(a, dtype=None):
    b = plain(a)
    names = {"b1": "bool"}
    name = b.dtype.str[1:]
    if dtype is None:
        dtype = names.get(name) or {"u": "u", "i": "i", "f": "f"}[name[0]] + str(8 * int(name[1:]))
    return {"dtype": dtype, "shape": list(b.shape), "hex": b.tobytes().hex()}


def values(dtype, shape):
    d = np.dtype(dtype)
    n = int(np.prod(shape))
    if d.kind == "b":
        a = rng.integers(0, 2, n).astype(d)
    elif d.kind in "iu":
        info = np.iinfo(d)
        a = rng.integers(info.min, info.max, n, dtype=d.newbyteorder("="), endpoint=True)
        a[: min(n, 2)] = [info.min, info.max][: min(n, 2)]
    elif d.kind == "f":
        a = rng.standard_normal(n)
        special = [np.nan, np.inf, -np.inf, -0.0, 5e-324 if d.itemsize == 8 else 1e-7]
        a[: min(n, 5)] = special[: min(n, 5)]
    else:
        a = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    return a.astype(d).reshape(shape)


def npy(name, a, version=None):
    with open(folder / f"{name}.npy", "wb") as f:
        np.lib.format.write_array(f, a, version=version)
    manifest[f"{name}.npy"] = {"array": facts(a)}


# Every dtype, in both orders of bytes.
kinds = ["b1", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16"]
for kind in kinds:
    wide = np.dtype(kind).itemsize > 1
    for order in "<>" if wide else "|":
        end = {"<": "little", ">": "big", "|": ""}[order]
        npy("-".join(filter(None, [kind, end])), values(order + kind, (3, 4)))
# Shapes and orders.
npy("scalar", values("<f8", ()))
npy("empty", np.zeros((0,), "<f4"))
npy("empty-axes", np.zeros((3, 0, 2), "<i2"))
npy("fortran", np.asfortranarray(values("<f4", (3, 4, 5))))
npy("fortran-big-complex", np.asfortranarray(values(">c16", (3, 2))))
npy("vector", values("<i8", (7,)))
npy("rank-6", values("<u2", (2, 1, 3, 1, 2, 2)))
npy("version-2", values("<f4", (2, 3)), version=(2, 0))
npy("version-3", values("<f4", (2, 3)), version=(3, 0))
# What has no dtype here.
refused = {
    "structured": np.zeros(3, [("x", "<f4"), ("y", "<i4", (2,))]),
    "strings": np.array(["ab", "c"]),
    "bytes": np.array([b"ab", b"c"]),
    "dates": np.array(["2026-01-01"], "M8[D]"),
    "longdouble": np.zeros(2, np.longdouble),
}
for name, a in refused.items():
    np.save(folder / f"refused-{name}.npy", a)
    manifest[f"refused-{name}.npy"] = {"array": None}
np.save(folder / "refused-objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
manifest["refused-objects.npy"] = {"array": None}

# npz: stored, deflated, with data descriptors, ZIP64 in every place that it has.
arrays = {"x": values("<f4", (5, 6)), "y": np.asfortranarray(values("<i8", (4, 3))), "folder/z": values(">u2", ())}
np.savez(folder / "stored.npz", **arrays)
np.savez_compressed(folder / "deflated.npz", **arrays, runs=np.zeros((64, 64), "<f4"))
for name in ["stored.npz", "deflated.npz"]:
    manifest[name] = {k: facts(a) for k, a in arrays.items()}
manifest["deflated.npz"]["runs"] = facts(np.zeros((64, 64), "<f4"))


class Pipe(io.RawIOBase):
    """Cannot be sought: zipfile then writes sizes after the data."""

    def __init__(self, path):
        self.f = open(path, "wb")

    def writable(self):
        return True

    def write(self, b):
        return self.f.write(b)

    def close(self):
        self.f.close()
        super().close()


def member(a):
    f = io.BytesIO()
    np.lib.format.write_array(f, a)
    return f.getvalue()


for name, method in [("descriptors-stored.npz", zipfile.ZIP_STORED), ("descriptors.npz", zipfile.ZIP_DEFLATED)]:
    with Pipe(folder / name) as pipe, zipfile.ZipFile(pipe, "w", method) as z:
        for k, a in arrays.items():
            z.writestr(zipfile.ZipInfo(f"{k}.npy"), member(a), method)
        z.writestr(zipfile.ZipInfo("notes.txt"), "no array")
    manifest[name] = {k: facts(a) for k, a in arrays.items()}


def zip64(path, members):
    """Every size and place as ZIP64, in the members, the directory and its end, as files over 4 GiB have them."""
    out = bytearray()
    lines = bytearray()
    for name, data in members.items():
        place = len(out)
        raw = name.encode()
        crc = zipfile.crc32(data)
        more = struct.pack("<HHQQ", 1, 16, len(data), len(data))
        out += struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0x800, 0, 0, 0x21, crc, 2**32 - 1, 2**32 - 1, len(raw), len(more))
        out += raw + more + data
        extra = struct.pack("<HHB", 0x9999, 1, 5) + struct.pack("<HHQQQ", 1, 24, len(data), len(data), place)
        lines += struct.pack(
            "<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0x800, 0, 0, 0x21, crc, 2**32 - 1, 2**32 - 1, len(raw), len(extra), 0, 0, 0, 0, 2**32 - 1
        )
        lines += raw + extra
    at = len(out)
    out += lines
    end = len(out)
    n = len(members)
    out += struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, n, n, len(lines), at)
    out += struct.pack("<IIQI", 0x07064B50, 0, end, 1)
    out += struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 2**16 - 1, 2**16 - 1, 2**32 - 1, 2**32 - 1, 0)
    path.write_bytes(out)


zip64(folder / "zip64.npz", {f"{k}.npy": member(a) for k, a in arrays.items()})
manifest["zip64.npz"] = {k: facts(a) for k, a in arrays.items()}

# WAV, by Python's own module; floats by hand, since it writes none.
import wave

for bits, dtype in [(8, "u1"), (16, "<i2"), (24, "<i4"), (32, "<i4")]:
    sound = values(dtype, (5, 2)) >> (8 if bits == 24 else 0)
    with wave.open(str(folder / f"pcm{bits}.wav"), "wb") as f:
        f.setnchannels(2)
        f.setsampwidth(bits // 8)
        f.setframerate(8000)
        raw = sound.tobytes()
        f.writeframes(b"".join(raw[i : i + 3] for i in range(0, len(raw), 4)) if bits == 24 else raw)
    manifest[f"pcm{bits}.wav"] = {"audio": facts(sound)}


def wav(name, a, extra=b"", riff=b"RIFF", long=False):
    data = a.tobytes()
    n = a.dtype.itemsize
    fmt = struct.pack("<HHIIHH", 3, a.shape[1], 8000, 8000 * n * a.shape[1], n * a.shape[1], 8 * n)
    body = b"WAVE" + extra + b"fmt " + struct.pack("<I", len(fmt)) + fmt
    body += b"LIST" + struct.pack("<I", 3) + b"odd\0"
    body += b"data" + struct.pack("<I", 2**32 - 1 if long else len(data)) + data
    (folder / name).write_bytes(riff + struct.pack("<I", 2**32 - 1 if long else len(body)) + body)
    manifest[name] = {"audio": facts(a)}


sound = values("<f4", (6, 1))
wav("f32.wav", sound)
wav("f64.wav", values("<f8", (3, 2)))
ds64 = b"ds64" + struct.pack("<IQQQI", 28, 200, sound.nbytes, 6, 0)
wav("rf64.wav", sound, ds64, b"RF64", True)

# PNM, written out as its manual pages say.
grey = values("u1", (3, 5))
deep = values("<u2", (2, 3))
colour = values("u1", (2, 3, 3))
bits = values("b1", (3, 10))
pictures = {
    "P1.pbm": (b"P1\n# a comment\n10 3\n" + b"\n".join(b"".join(b"0" if x else b"1" for x in row) for row in bits), bits),
    "P2.pgm": (b"P2 5 3 255\n" + " ".join(map(str, grey.ravel())).encode() + b"\n", grey),
    "P3.ppm": (b"P3\n3 2\n255\n" + " ".join(map(str, colour.ravel())).encode(), colour),
    "P4.pbm": (b"P4\n10 3\n" + np.packbits(~bits, axis=1).tobytes(), bits),
    "P5.pgm": (b"P5\n5 3\n255\n" + grey.tobytes(), grey),
    "P5-deep.pgm": (b"P5\n3 2\n# wide\n65535\n" + deep.astype(">u2").tobytes(), deep),
    "P6.ppm": (b"P6 3 2 255\n" + colour.tobytes(), colour),
    "P7.pam": (
        b"P7\nWIDTH 5\nHEIGHT 3\n# none\nDEPTH 1\nMAXVAL 255\nTUPLTYPE GRAYSCALE\nENDHDR\n" + grey.tobytes(),
        grey[..., None],
    ),
}
for name, (raw, a) in pictures.items():
    (folder / name).write_bytes(raw)
    manifest[name] = {"image": facts(a)}

try:
    import ml_dtypes
    import safetensors.numpy

    tensors = {k: values("<" + k, (2, 3)) for k in ["b1", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]}
    tensors["scalar"] = values("<f4", ())
    tensors["empty"] = np.zeros((0, 3), "<f4")
    brain = rng.standard_normal((2, 3)).astype(ml_dtypes.bfloat16)
    expected = {k: facts(a) for k, a in tensors.items()}
    expected["bf16"] = facts(brain.view("<u2"), "bf16")
    safetensors.numpy.save_file({**tensors, "bf16": brain}, folder / "all.safetensors", metadata={"made by": "safetensors", "ü": "é"})
    manifest["all.safetensors"] = expected
    parts = [{"a": tensors["f4"], "b": tensors["i8"]}, {"c": tensors["f2"]}]
    weights = {}
    for i, part in enumerate(parts):
        shard = f"sharded-0000{i + 1}-of-00002.safetensors"
        safetensors.numpy.save_file(part, folder / shard)
        manifest[shard] = {k: facts(a) for k, a in part.items()}
        weights |= {k: shard for k in part}
    index = {"metadata": {"total_size": 84}, "weight_map": weights}
    (folder / "sharded.safetensors.index.json").write_text(json.dumps(index))
    manifest["sharded.safetensors.index.json"] = {k: facts(a) for part in parts for k, a in part.items()}
except ImportError as missing:
    print(f"safetensors files are left as they are: {missing}")

try:
    import gguf

    path = folder / "plain.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint8("t.u8", 200)
    writer.add_int8("t.i8", -5)
    writer.add_uint16("t.u16", 60000)
    writer.add_int16("t.i16", -30000)
    writer.add_uint32("t.u32", 4000000000)
    writer.add_int32("t.i32", -2000000000)
    writer.add_float32("t.f32", 1.5)
    writer.add_uint64("t.u64", 2**63 + 1)
    writer.add_int64("t.i64", -5)
    writer.add_float64("t.f64", 0.1)
    writer.add_bool("t.bool", True)
    writer.add_string("t.string", "grüße")
    writer.add_array("t.strings", ["a", "", "ccc"])
    writer.add_array("t.ints", [1, 2, -3])
    writer.add_array("t.floats", [0.5, 1.5])
    writer.add_array("t.bools", [True, False])
    tensors = {k: values("<" + k, (3, 4)) for k in ["i1", "i2", "i4", "i8", "f2", "f4", "f8"]}
    for k, a in tensors.items():
        writer.add_tensor(k, a)
    rows = rng.standard_normal((2, 64)).astype("f4")
    packed = gguf.quants.quantize(rows, gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("q8", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    halves = gguf.quants.quantize(rows, gguf.GGMLQuantizationType.BF16)
    writer.add_tensor("bf16", halves, raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    manifest["plain.gguf"] = {k: facts(a) for k, a in tensors.items()}
    manifest["plain.gguf"]["bf16"] = facts(halves.view("<u2").reshape(2, 64), "bf16")
    manifest["plain.gguf"]["q8"] = {"type": "Q8_0", "shape": [2, 64], "raw": packed.tobytes().hex()}
except ImportError as missing:
    print(f"gguf files are left as they are: {missing}")

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    kinds = ["b1", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16"]
    tensors = {k: values("<" + k, (2, 3)) for k in kinds}
    tensors["scalar"] = values("<f4", ())
    tensors["empty"] = np.zeros((0, 3), "<f4")
    raw = [numpy_helper.from_array(a, k) for k, a in tensors.items()]

    def typed(name, a):
        number = helper.np_dtype_to_tensor_dtype(a.dtype)
        if a.dtype == np.float16:
            p = TensorProto(name=name, data_type=number, dims=a.shape)
            p.int32_data.extend(int(x) for x in a.view("<u2").ravel())
            return p
        return helper.make_tensor(name, number, a.shape, a.ravel().tolist())

    fields = [typed(f"typed-{k}", tensors[k]) for k in kinds]
    text = helper.make_tensor("text", TensorProto.STRING, [1], [b"no numbers"])
    brain = rng.integers(0, 2**16, (2, 3)).astype("<u2")
    half = TensorProto(name="bf16", data_type=TensorProto.BFLOAT16, dims=[2, 3], raw_data=brain.tobytes())
    half_typed = TensorProto(name="typed-bf16", data_type=TensorProto.BFLOAT16, dims=[2, 3])
    half_typed.int32_data.extend(int(x) for x in brain.ravel())
    node = helper.make_node("Identity", ["f4"], ["out"])
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, [2, 3])
    graph = helper.make_graph([node], "the graph", [], [out], initializer=[*raw, *fields, text, half, half_typed])
    model = helper.make_model(graph, producer_name="onnx", opset_imports=[helper.make_opsetid("", 21)])
    helper.set_model_props(model, {"author": "nobody"})
    onnx.save(model, folder / "all.onnx")
    expected = {k: facts(a) for k, a in tensors.items()}
    expected |= {f"typed-{k}": facts(tensors[k]) for k in kinds}
    expected |= {"bf16": facts(brain, "bf16"), "typed-bf16": facts(brain, "bf16"), "text": None}
    manifest["all.onnx"] = expected
    weights = {"w": values("<f4", (4, 5)), "v": values("<i8", (3,))}
    initializers = [numpy_helper.from_array(a, k) for k, a in weights.items()]
    graph = helper.make_graph([node], "outside", [], [out], initializer=initializers)
    outside = helper.make_model(graph)
    (folder / "external.data").unlink(missing_ok=True)
    onnx.save(outside, folder / "external.onnx", save_as_external_data=True, location="external.data", size_threshold=0)
    manifest["external.onnx"] = {k: facts(a) for k, a in weights.items()}
except ImportError as missing:
    print(f"onnx files are left as they are: {missing}")

# What follows has numbers of its own, so that a program that is missing changes nothing else.
rng = np.random.default_rng(8)

# PNG, by Pillow; interlaced and odd ones by hand, since it writes none.
import zlib


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(name, size, bits, colour, rows, more=b"", interlaced=0, cut=None):
    packed = zlib.compress(rows, 9)
    parts = [packed] if cut is None else [packed[i : i + cut] for i in range(0, len(packed), cut)]
    head = struct.pack(">IIBBBBB", size[1], size[0], bits, colour, 0, 0, interlaced)
    body = b"".join(chunk(b"IDAT", part) for part in parts)
    text = chunk(b"tEXt", b"Comment\0a picture")
    (folder / name).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + text + more + body + chunk(b"IEND", b""))


def plain_rows(a, filters=(0,)):
    """Rows as they lie, highest byte first, each with a filter: what the filter foretells is taken off."""
    a = a.reshape(a.shape[0], a.shape[1], -1)
    step = a.shape[2] * a.dtype.itemsize
    raw = np.frombuffer(a.astype(a.dtype.newbyteorder(">")).tobytes(), "u1").reshape(a.shape[0], -1).astype(int)
    out = b""
    for i, row in enumerate(raw):
        above = raw[i - 1] if i > 0 else np.zeros_like(row)
        left = np.concatenate([np.zeros(step, int), row[:-step]])
        corner = np.concatenate([np.zeros(step, int), above[:-step]])
        guess = left + above - corner
        near = np.where(
            (abs(guess - left) <= abs(guess - above)) & (abs(guess - left) <= abs(guess - corner)),
            left,
            np.where(abs(guess - above) <= abs(guess - corner), above, corner),
        )
        kind = filters[i % len(filters)]
        out += bytes([kind]) + bytes(((row - [0, left, above, (left + above) // 2, near][kind]) % 256).tolist())
    return out


shapes = {"grey": (7, 5), "grey-alpha": (7, 5, 2), "rgb": (7, 5, 3), "rgba": (7, 5, 4)}
kinds = {"grey": 0, "grey-alpha": 4, "rgb": 2, "rgba": 6}
for kind, shape in shapes.items():
    for bits, dtype in [(8, "u1"), (16, "<u2")]:
        a = values(dtype, shape)
        name = f"{kind}{bits}.png"
        png(name, shape, bits, kinds[kind], plain_rows(a, (0, 1, 2, 3, 4)), cut=50)
        manifest[name] = {"image": facts(a)}
passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
for name, a, bits, colour in [("interlaced-rgb8.png", values("u1", (11, 9, 3)), 8, 2), ("interlaced-grey16.png", values("<u2", (3, 2)), 16, 0)]:
    parts = [a[y::dy, x::dx] for x, y, dx, dy in passes]
    png(name, a.shape, bits, colour, b"".join(plain_rows(p, (4, 2)) for p in parts if p.size > 0), interlaced=1)
    manifest[name] = {"image": facts(a)}
for bits in [1, 2, 4]:
    small = rng.integers(0, 2**bits, (5, 11)).astype("u1")
    cells = np.unpackbits(small[..., None], axis=-1)[..., 8 - bits :].reshape(5, -1)
    rows = b"".join(b"\0" + bytes(row) for row in np.packbits(cells, axis=1))
    png(f"grey{bits}.png", (5, 11), bits, 0, rows)
    manifest[f"grey{bits}.png"] = {"image": facts((small.astype(int) * 255 // (2**bits - 1)).astype("u1"))}
    table = values("u1", (2**bits, 3))
    png(f"palette{bits}.png", (5, 11), bits, 3, rows, chunk(b"PLTE", table.tobytes()))
    manifest[f"palette{bits}.png"] = {"image": facts(table[small])}
    alphas = values("u1", (2,))
    png(f"palette{bits}-clear.png", (5, 11), bits, 3, rows, chunk(b"PLTE", table.tobytes()) + chunk(b"tRNS", alphas.tobytes()))
    alpha = np.concatenate([alphas, np.full(2**bits - 2, 255, "u1")]).astype("u1")
    manifest[f"palette{bits}-clear.png"] = {"image": facts(np.concatenate([table, alpha[:, None]], axis=1)[small])}
a = rng.integers(0, 3, (6, 7)).astype("u1")
png("grey8-clear.png", a.shape, 8, 0, plain_rows(a), chunk(b"tRNS", struct.pack(">H", 1)))
manifest["grey8-clear.png"] = {"image": facts(np.stack([a, np.where(a == 1, 0, 255).astype("u1")], axis=-1))}
a = rng.integers(0, 2, (6, 7, 3)).astype("<u2")
png("rgb16-clear.png", a.shape, 16, 2, plain_rows(a), chunk(b"tRNS", struct.pack(">HHH", 1, 0, 1)))
clear = np.where((a == [1, 0, 1]).all(axis=-1), 0, 65535).astype("<u2")
manifest["rgb16-clear.png"] = {"image": facts(np.concatenate([a, clear[..., None]], axis=-1))}
try:
    from PIL import Image

    a = np.add.outer(np.arange(40), np.arange(50)).astype("u1")
    a = np.stack([a, a[::-1], a * 2], axis=-1)
    Image.fromarray(a).save(folder / "pillow.png", optimize=True)
    manifest["pillow.png"] = {"image": facts(a)}
except ImportError as missing:
    print(f"pillow.png is left as it is: {missing}")

# Arrow and Parquet, by pyarrow.
try:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.ipc
    import pyarrow.parquet

    kinds = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]
    columns = {k: values("<" + k, (7,)) for k in kinds}
    columns["b1"] = values("b1", (7,))
    columns["matrix"] = values("<f4", (7, 3))
    columns["cube"] = values("<i2", (7, 2, 2))
    fixed = lambda a: pa.array(a) if a.ndim == 1 else pa.FixedSizeListArray.from_arrays(fixed(a.reshape((-1,) + a.shape[2:])), a.shape[1])
    arrays = {k: fixed(a) for k, a in columns.items()}
    arrays["text"] = pa.array(["a", "bc", "", "d", "e", "f", "ghi"])
    arrays["when"] = pa.array(columns["i8"], pa.timestamp("us"))
    arrays["lists"] = pa.array([[1], [], [2, 3], [4], [], [5], []])
    arrays["views"] = pa.array(["x"] * 7, pa.string_view())
    arrays["record"] = pa.array([{"a": i, "b": "x"} for i in range(7)])
    arrays["category"] = pa.array(list("abcabca")).dictionary_encode()
    arrays["last"] = pa.array(columns["f8"])
    table = pa.table(arrays).replace_schema_metadata({"made by": "pyarrow", "ü": "é"})
    expected = {k: facts(a) for k, a in columns.items()}
    expected |= {"when": facts(columns["i8"]), "last": facts(columns["f8"])}
    expected |= {k: None for k in ["text", "lists", "views", "record", "category"]}
    with pa.ipc.new_file(folder / "all.arrow", table.schema) as w:
        w.write_table(table)
    with pa.ipc.new_file(folder / "batches.arrow", table.schema) as w:
        w.write_table(table, max_chunksize=3)
    with pa.ipc.new_stream(folder / "batches.arrows", table.schema) as w:
        w.write_table(table, max_chunksize=2)
    some = pa.table({k: arrays[k] for k in ["f4", "b1", "i8", "matrix", "text"]})
    with pa.ipc.new_file(folder / "lz4.arrow", some.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as w:
        w.write_table(some, max_chunksize=4)
    long = {"x": np.arange(2000, dtype="<f4"), "y": np.repeat(np.arange(20, dtype="<i8"), 100)}
    pa.feather.write_feather(pa.table(long), folder / "long.feather", compression="lz4")
    pa.feather.write_feather(pa.table({k: a[:500] for k, a in long.items()}), folder / "zstd.feather", compression="zstd")
    few = {k: expected[k] for k in some.column_names}
    for name in ["all.arrow", "batches.arrow", "batches.arrows"]:
        manifest[name] = expected
    manifest["lz4.arrow"] = few
    manifest["long.feather"] = {k: facts(a) for k, a in long.items()}
    empty = pa.table({"x": pa.array([], pa.float32()), "b": pa.array([], pa.bool_())})
    with pa.ipc.new_file(folder / "empty.arrow", empty.schema) as w:
        w.write_table(empty)
    manifest["empty.arrow"] = {"x": facts(np.zeros(0, "<f4")), "b": facts(np.zeros(0, "b1"))}
    # Those with nulls, and those that need a package, are in tests of their own.
    gaps = {"f": pa.array([1.5, None, 3.5]), "i": pa.array([None, 2, 3], pa.int32()), "b": pa.array([True, None, False])}
    gaps["l"] = pa.array([[1.0, None], None, [5.0, 6.0]], pa.list_(pa.float32(), 2))
    gaps["g"] = pa.array([1.0, 2.0, 3.0])
    with pa.ipc.new_file(folder / "nulls.arrow", pa.table(gaps).schema) as w:
        w.write_table(pa.table(gaps))
    with pa.ipc.new_file(folder / "nulls-lz4.arrow", pa.table(gaps).schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as w:
        w.write_table(pa.table(gaps))

    flat = {k: arrays[k] for k in [*kinds, "b1", "text", "when"]}
    flat["small"] = pa.array((columns["u1"] % 3).astype("<i4"))
    flat["lists"] = arrays["lists"]
    flat["last"] = arrays["last"]
    table = pa.table(flat)
    expected = {k: expected[k] for k in flat if k in expected}
    expected["small"] = facts((columns["u1"] % 3).astype("<i4"))
    expected |= {"lists.list.element": None}
    expected.pop("lists", None)
    bare = {"version": "2.6", "compression": "none"}
    files = {
        "plain.parquet": dict(bare, use_dictionary=False),
        "dictionary.parquet": bare,
        "groups.parquet": dict(bare, row_group_size=3, data_page_size=8),
        "snappy.parquet": {"compression": "snappy"},
        "gzip.parquet": {"compression": "gzip", "data_page_version": "2.0"},
        "lz4.parquet": {"compression": "lz4"},
        "v1.parquet": dict(bare, version="1.0"),
    }
    for name, options in files.items():
        pa.parquet.write_table(table.drop_columns(["f2", "u4"]) if name == "v1.parquet" else table, folder / name, **options)
        manifest[name] = {k: v for k, v in expected.items() if name != "v1.parquet" or k not in ["f2", "u4"]}
    numbers = {k: pa.array(a) for k, a in [("i", np.cumsum(rng.integers(-5, 90, 700)).astype("<i4")), ("j", rng.integers(-(2**62), 2**62, 700)), ("f", rng.standard_normal(700).astype("<f4")), ("d", rng.standard_normal(700))]}
    encodings = {"i": "DELTA_BINARY_PACKED", "j": "DELTA_BINARY_PACKED", "f": "BYTE_STREAM_SPLIT", "d": "BYTE_STREAM_SPLIT"}
    pa.parquet.write_table(pa.table(numbers), folder / "encodings.parquet", use_dictionary=False, column_encoding=encodings, **bare)
    manifest["encodings.parquet"] = {k: facts(a.to_numpy()) for k, a in numbers.items()}
    pa.parquet.write_table(pa.table({k: a[:100] for k, a in numbers.items()}), folder / "zstd.parquet", compression="zstd")
    pa.parquet.write_table(pa.table(gaps).drop_columns(["l"]), folder / "nulls.parquet")
    pa.parquet.write_table(pa.table(gaps).drop_columns(["l"]), folder / "nulls-v2.parquet", data_page_version="2.0", use_dictionary=False)
    pa.parquet.write_table(empty, folder / "empty.parquet")
    manifest["empty.parquet"] = manifest["empty.arrow"]
except ImportError as missing:
    print(f"Arrow and Parquet files are left as they are: {missing}")

# HDF5, by h5py. Reading it needs a package, so these are in tests of their own.
try:
    import h5py

    path = folder / "all.h5"
    with h5py.File(path, "w", libver="latest", track_order=True) as f:
        for kind in ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]:
            for order in "<>" if np.dtype(kind).itemsize > 1 else "|":
                f[f"{kind}-{'big' if order == '>' else 'little'}"] = values(order + kind, (3, 4))
        f["bool"] = values("b1", (2, 3))
        f["complex"] = values("<c16", (2, 3))
        f["scalar"] = np.float64(2.5)
        f["empty"] = np.zeros((0, 3), "<f4")
        f["text"] = "a text"
        f.create_dataset("nothing", dtype="<f4")
        group = f.create_group("group/inner")
        group.create_dataset("chunked", data=values("<f4", (20, 30)), chunks=(7, 11))
        group.create_dataset("gzip", data=values("<i4", (20, 30)), chunks=(7, 11), compression="gzip", shuffle=True, fletcher32=True)
        group["chunked"].attrs["unit"] = "m/s"
        group["chunked"].attrs["scale"] = np.float64(0.5)
        group["chunked"].attrs["offsets"] = np.array([1, 2, 3], "<i4")
        f.attrs["title"] = "fixtures"
        f["link"] = h5py.SoftLink("/group/inner/gzip")
        f["outside"] = h5py.ExternalLink("other.h5", "/x")
        group["back"] = f["group"]
    with h5py.File(path, "r") as f:
        names = [k for k in f if k not in ["text", "nothing", "outside", "link", "group"]]
        read = {k: facts(f[k][()]) for k in names}
        read |= {f"group/inner/{k}": facts(f["group/inner"][k][()]) for k in ["chunked", "gzip"]}
    (folder / "all.h5.json").write_text(json.dumps(read) + "\n")
except ImportError as missing:
    print(f"all.h5 is left as it is: {missing}")

lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(manifest.items())]
manifest_path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
total = sum(f.stat().st_size for f in folder.iterdir())
print(f"{len(list(folder.iterdir()))} files, {total} bytes")
