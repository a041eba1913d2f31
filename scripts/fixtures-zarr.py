"""
Writes tests/fixtures/zarr: hierarchies of both versions, and manifest.json, which says what is in them.

    python3 scripts/fixtures-zarr.py

Version 2 is written by zarr-python 2 (Debian: python3-zarr). Version 3 is put together here, byte by byte, from what its
specification says: nothing of strided has a part in it.
"""
import gzip
import itertools
import json
import shutil
import struct
from pathlib import Path

import numcodecs
import numpy as np
import zarr

folder = Path(__file__).parent.parent / "tests" / "fixtures" / "zarr"
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
manifest = {}
rng = np.random.default_rng(11)


def values(dtype, shape):
    d = np.dtype(dtype)
    n = int(np.prod(shape))
    if d.kind == "b":
        a = rng.integers(0, 2, n).astype(d)
    elif d.kind in "iu":
        info = np.iinfo(d)
        a = rng.integers(info.min, info.max, n, dtype=d.newbyteorder("="), endpoint=True)
    elif d.kind == "f":
        a = rng.standard_normal(n)
        a[: min(n, 4)] = [np.nan, np.inf, -np.inf, -0.0][: min(n, 4)]
    else:
        a = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    return a.astype(d).reshape(shape)


def facts(a, dtype=None):
    """Complex numbers as pairs, lowest byte first, row-major."""
    a = np.asarray(a)
    if a.dtype.kind == "c":
        a = np.stack([a.real, a.imag], axis=-1)
    b = np.array(a.astype(a.dtype.newbyteorder("<")), order="C")
    name = b.dtype.str[1:]
    if dtype is None:
        dtype = "bool" if name == "b1" else name[0] + str(8 * int(name[1:]))
    return {"dtype": dtype, "shape": list(b.shape), "hex": b.tobytes().hex()}


# Version 2 ---------------------------------------------------------------------------------------------

store = zarr.DirectoryStore(str(folder / "v2.zarr"))
root = zarr.group(store=store, overwrite=True)
root.attrs["title"] = "made by zarr-python"
root.attrs["lost"] = float("nan")
told = {}


def make(name, a, chunks, written=None, **options):
    options = {"compressor": None, "fill_value": 0, **options}
    z = root.create_dataset(name, shape=a.shape, chunks=chunks, dtype=a.dtype, **options)
    if written is None:
        z[...] = a
    else:
        z[written] = a[written]
    told[name] = facts(z[...])


for kind in ["b1", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16"]:
    wide = np.dtype(kind).itemsize > 1
    make(kind, values((">" if wide else "|") + kind, (2, 3)), (2, 3))
ragged = values("<f4", (5, 7))
make("ragged", ragged, (2, 3))
make("fortran", ragged, (3, 4), order="F")
make("fortran-big", values(">i8", (5, 7)), (3, 4), order="F", compressor=numcodecs.Zlib(3))
make("gzip", ragged, (3, 7), compressor=numcodecs.GZip(5))
make("zlib", ragged, (3, 7), compressor=numcodecs.Zlib(1))
make("blosc", values("<i2", (40, 50)), (40, 50), compressor=numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE))
make("zstd", values("<i2", (4, 5)), (4, 5), compressor=numcodecs.Zstd(3))
make("lz4", values("<i2", (4, 5)), (4, 5), compressor=numcodecs.LZ4())
make("nested/slashes", ragged, (3, 4), dimension_separator="/")
make("filled", np.full((4, 4), np.nan, "<f8"), (2, 2), written=(slice(0, 2), slice(0, 1)), fill_value=np.nan)
make("least", np.full((3,), -(2**63), "<i8"), (2,), written=(slice(0, 0),), fill_value=-(2**63))
make("scalar", np.array(2.5, "<f8"), ())
make("empty", np.zeros((0, 3), "<i4"), (1, 3))
z = root.create_dataset("refused/strings", shape=(2,), dtype="<U4", compressor=None)
z = root.create_dataset(
    "refused/delta", shape=(2,), dtype="<i4", compressor=None, filters=[numcodecs.Delta(dtype="<i4")]
)
told["refused/strings"] = None
told["refused/delta"] = None
zarr.consolidate_metadata(store)
manifest["v2.zarr"] = told

# Version 3 ---------------------------------------------------------------------------------------------

base = folder / "v3.zarr"
told = {}
nodes = {}


def crc32c(data):
    c = 0xFFFFFFFF
    for b in data:
        c ^= b
        for _ in range(8):
            c = (c >> 1) ^ (0x82F63B78 if c & 1 else 0)
    return c ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def pack(block, codecs):
    """One chunk through its codecs."""
    data = block
    for codec in codecs:
        config = codec.get("configuration", {})
        if codec["name"] == "transpose":
            data = data.transpose(config["order"])
        elif codec["name"] == "bytes":
            data = np.ascontiguousarray(data.astype(data.dtype.newbyteorder("<" if config.get("endian") != "big" else ">"))).tobytes()
        elif codec["name"] == "gzip":
            data = gzip.compress(data, config["level"], mtime=0)
        elif codec["name"] == "crc32c":
            data = data + struct.pack("<I", crc32c(data))
        elif codec["name"] == "sharding_indexed":
            data = pack_shard(data, config)
    return data


def pack_shard(block, config):
    inner = config["chunk_shape"]
    counts = [n // k for n, k in zip(block.shape, inner)]
    chunks = []
    for index in itertools.product(*map(range, counts)):
        part = block[tuple(slice(i * k, (i + 1) * k) for i, k in zip(index, inner))]
        # What is nothing but zeros was never written.
        chunks.append(None if not part.any() else pack(part, config["codecs"]))
    at_end = config.get("index_location", "end") == "end"
    length = 16 * len(chunks) + 4
    place = 0 if at_end else length
    table = b""
    for chunk in chunks:
        if chunk is None:
            table += struct.pack("<QQ", 2**64 - 1, 2**64 - 1)
            continue
        table += struct.pack("<QQ", place, len(chunk))
        place += len(chunk)
    table += struct.pack("<I", crc32c(table))
    body = b"".join(chunk for chunk in chunks if chunk is not None)
    return body + table if at_end else table + body


def write(name, a, chunk_shape, data_type, codecs, encoding=None, fill=0, written=None, dtype=None, **more):
    path = base / name
    path.mkdir(parents=True)
    encoding = encoding or {"name": "default", "configuration": {"separator": "/"}}
    nodes[name] = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(a.shape),
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk_shape)}},
        "chunk_key_encoding": encoding,
        "fill_value": fill,
        "codecs": codecs,
        "attributes": {},
        **more,
    }
    (path / "zarr.json").write_text(json.dumps(nodes[name], indent=1))
    counts = [-(-n // k) for n, k in zip(a.shape, chunk_shape)]
    separator = encoding.get("configuration", {}).get("separator", "/" if encoding["name"] == "default" else ".")
    for index in itertools.product(*map(range, counts)):
        if written is not None and index not in written:
            continue
        block = np.zeros(chunk_shape, a.dtype)
        part = a[tuple(slice(i * k, (i + 1) * k) for i, k in zip(index, chunk_shape))]
        block[tuple(slice(0, n) for n in part.shape)] = part
        words = [str(i) for i in index]
        key = separator.join(["c", *words]) if encoding["name"] == "default" else separator.join(words) or "0"
        file = path.joinpath(*key.split("/"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pack(block, codecs))
    told[name] = facts(a, dtype)


little = {"name": "bytes", "configuration": {"endian": "little"}}
big = {"name": "bytes", "configuration": {"endian": "big"}}
plain = {"name": "bytes"}
gz = {"name": "gzip", "configuration": {"level": 5}}
names = {
    "bool": "b1", "uint8": "u1", "int8": "i1", "uint16": "u2", "int16": "i2", "uint32": "u4", "int32": "i4",
    "uint64": "u8", "int64": "i8", "float16": "f2", "float32": "f4", "float64": "f8", "complex64": "c8", "complex128": "c16",
}
for name, kind in names.items():
    fill = False if name == "bool" else [0, 0] if name.startswith("complex") else 0
    codecs = [plain] if np.dtype(kind).itemsize == 1 else [big]
    write(name, values("<" + kind, (2, 3)), (2, 3), name, codecs, fill=fill)
write("bfloat16", rng.integers(0, 2**16, (2, 3)).astype("<u2"), (2, 3), "bfloat16", [little], fill="0x7fc0", dtype="bf16")
ragged = values("<f4", (5, 7))
write("ragged", ragged, (2, 3), "float32", [little, gz])
write("dots", ragged, (3, 4), "float32", [little], {"name": "default", "configuration": {"separator": "."}})
write("keys-of-v2", ragged, (3, 4), "float32", [little], {"name": "v2"})
turn = {"name": "transpose", "configuration": {"order": [2, 0, 1]}}
write("turned", values("<i4", (3, 4, 5)), (2, 3, 2), "int32", [turn, big, gz, {"name": "crc32c"}])
half = np.full((4, 4), np.nan, "<f8")
half[0:2, 0:2] = 1.5
write("filled", half, (2, 2), "float64", [little], fill="NaN", written=[(0, 0)])
write("scalar", np.array(2.5, "<f8"), (), "float64", [little])
write("empty", np.zeros((0, 3), "<i4"), (1, 3), "int32", [little])
sparse = values("<i2", (7, 9))
sparse[2:6, 0:3] = 0


def shards(where, inner):
    config = {"chunk_shape": [2, 3], "codecs": inner, "index_codecs": [little, {"name": "crc32c"}], "index_location": where}
    return [{"name": "sharding_indexed", "configuration": config}]


write("shards-end", sparse, (4, 6), "int16", shards("end", [little, gz]), dimension_names=["y", None])
turned = [{"name": "transpose", "configuration": {"order": [1, 0]}}, big]
write("shards-start", sparse, (4, 6), "int16", shards("start", turned))
path = base / "refused" / "string"
path.mkdir(parents=True)
nodes["refused"] = {"zarr_format": 3, "node_type": "group", "attributes": {"why": "no dtype holds it"}}
nodes["refused/string"] = {**nodes["scalar"], "data_type": "string", "fill_value": "", "codecs": ["vlen-utf8"]}
(base / "refused" / "zarr.json").write_text(json.dumps(nodes["refused"]))
(path / "zarr.json").write_text(json.dumps(nodes["refused/string"]))
told["refused/string"] = None
group = {
    "zarr_format": 3,
    "node_type": "group",
    "attributes": {"title": "made by hand"},
    "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": nodes},
}
(base / "zarr.json").write_text(json.dumps(group))
manifest["v3.zarr"] = told

lines = []
for name, entries in manifest.items():
    inside = ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(entries.items()))
    lines.append(f"  {json.dumps(name)}: {{\n{inside}\n  }}")
(folder / "manifest.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
files = [f for f in folder.rglob("*") if f.is_file()]
print(f"{len(files)} files, {sum(f.stat().st_size for f in files)} bytes")
