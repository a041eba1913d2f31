"""Dask's side of the benchmark of arrays larger than memory: one piece of work a process. Prints milliseconds, what it came to
(the mean over axis 0 of the result's first rows), and the most memory that the process had."""
import json
import resource
import sys
import time

import dask
import dask.array as da
import zarr

work, source, target, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
dask.config.set(scheduler="threads", num_workers=threads)
start = time.perf_counter()
a = da.from_zarr(source)
check = None
if work == "spread":
    mean, std = dask.compute(a.mean(axis=0), a.std(axis=0))
    check = [float(mean[0]), float(std[0]), float(mean[-1]), float(std[-1])]
elif work == "rechunk":
    chunks = [int(n) for n in sys.argv[5].split("x")]
    a.rechunk(chunks).to_zarr(target, overwrite=True, compressor=None)
elif work == "matmul":
    (a @ a).to_zarr(target, overwrite=True, compressor=None)
took = time.perf_counter() - start
if check is None:
    out = zarr.open(target, mode="r")
    check = [float(out[0, 0]), float(out[-1, -1]), float(out[7, 11])]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"milliseconds": 1000 * took, "check": check, "peak": peak}))
