"""Reads what scripts/roundtrip-io.ts wrote into a folder, with the programs that own the formats, and compares."""
import json
import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
expected = json.loads((folder / "expected.json").read_text())
names = {"bool": "?", "bf16": "<u2"}
failures = []
counts = {}


def compare(program, file, name, a):
    want = expected[file].get(name)
    if want is None:
        failures.append(f"{file} {name} should not be there")
        return
    a = np.asarray(a)
    dtype = np.dtype(names.get(want["dtype"]) or "<" + want["dtype"][0] + str(int(want["dtype"][1:]) // 8))
    if want["dtype"] == "bf16":
        a = a.view("<u2")
    b = np.array(a, order="C")
    if b.dtype != dtype or list(b.shape) != want["shape"] or b.tobytes().hex() != want["hex"]:
        failures.append(f"{file} {name} differs for {program}: {b.dtype} {b.shape}, expected {want['dtype']} {want['shape']}")
    counts[program] = counts.get(program, 0) + 1


for file in expected:
    if file.endswith(".npy"):
        compare("numpy", file, "array", np.load(folder / file))
    if file.endswith(".npz"):
        with np.load(folder / file) as z:
            assert sorted(z.files) == sorted(expected[file]), z.files
            for name in z.files:
                compare("numpy", file, name, z[name])

try:
    import ml_dtypes  # NumPy needs it for bf16
    import safetensors
    import safetensors.numpy

    loaded = safetensors.numpy.load_file(folder / "all.safetensors")
    assert sorted(loaded) == sorted(expected["all.safetensors"])
    for name, a in loaded.items():
        compare("safetensors", "all.safetensors", name, a)
    with safetensors.safe_open(folder / "all.safetensors", "np") as f:
        assert f.metadata() == {"made by": "strided", "ü": "é"}, f.metadata()
except ImportError as missing:
    print(f"round trip: safetensors left out: {missing}")

try:
    import gguf

    reader = gguf.GGUFReader(folder / "all.gguf")
    found = {t.name: t for t in reader.tensors}
    assert sorted(found) == sorted(expected["all.gguf"])
    for name, t in found.items():
        a = t.data
        if t.tensor_type == gguf.GGMLQuantizationType.BF16:
            a = a.view("<u2")
        compare("gguf", "all.gguf", name, a.reshape([int(n) for n in reversed(t.shape)]))
    assert reader.fields["n"].contents() == 5 and reader.fields["x"].contents() == 0.5
except ImportError as missing:
    print(f"round trip: gguf left out: {missing}")

try:
    from PIL import Image

    for file in [f for f in expected if f.endswith(".png")]:
        a = np.asarray(Image.open(folder / file))
        compare("pillow", file, "image", a.astype("<u2") if file.startswith("u16") else a)
except ImportError as missing:
    print(f"round trip: PNG left out: {missing}")

try:
    import pyarrow as pa
    import pyarrow.ipc
    import pyarrow.parquet

    def plain(column):
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        shape = [len(array)]
        while pa.types.is_fixed_size_list(array.type):
            shape.append(array.type.list_size)
            array = array.flatten()
        return array.to_numpy(zero_copy_only=False).reshape(shape)

    for file in [f for f in expected if f.endswith((".arrow", ".arrows", ".parquet"))]:
        if file.endswith(".parquet"):
            table = pa.parquet.read_table(folder / file)
        elif file.endswith(".arrows"):
            table = pa.ipc.open_stream(folder / file).read_all()
        else:
            table = pa.ipc.open_file(folder / file).read_all()
        table.validate(full=True)
        assert sorted(table.column_names) == sorted(expected[file]), table.column_names
        for name in table.column_names:
            compare("pyarrow", file, name, plain(table[name]))
        if file == "all.arrow":
            assert table.schema.metadata == {b"made by": b"strided", "ü".encode(): "é".encode()}, table.schema.metadata
except ImportError as missing:
    print(f"round trip: Arrow and Parquet left out: {missing}")

try:
    import zarr

    newest = int(zarr.__version__.split(".")[0])
    for file in [f for f in expected if f.endswith(".zarr")]:
        if "-v3" in file and newest < 3:
            continue
        group = zarr.open_group(str(folder / file), mode="r")
        assert group.attrs["way"] == file.split("-")[0], dict(group.attrs)
        assert sorted(k for k, _ in group.arrays()) == sorted(expected[file])
        for name, a in group.arrays():
            value = np.asarray(a[...])
            compare(f"zarr {zarr.__version__}", file, name, value.astype(value.dtype.newbyteorder("<")))
except ImportError as missing:
    print(f"round trip: zarr left out: {missing}")

for line in failures:
    print(line)
print("round trip: " + ", ".join(f"{n} arrays read by {p}" for p, n in counts.items()) + f", {len(failures)} differ")
sys.exit(1 if failures else 0)
