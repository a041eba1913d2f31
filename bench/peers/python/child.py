"""A Python contestant's own process: the same commands and answers as child.ts, on descriptors 3 and 4."""

import importlib
import json
import os
import resource
import sys
import time

THREADS = int(os.environ.get("BENCH_THREADS", os.cpu_count() or 1))
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = str(THREADS)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


class Missing(Exception):
    """The library has no such operation; the message says why."""


class Child:
    def __init__(self):
        self.ops = None
        self.task = None
        self.prepared = None

    def start(self, command):
        began = time.perf_counter()
        self.ops = importlib.import_module(command["adapter"] + "_ops")
        about = self.ops.start(THREADS)
        first = command.get("first")
        if first is None:
            return {"about": about}
        reply = self.prepare({"task": first})
        if "missing" in reply:
            return reply
        self.prepared.read()
        return {"about": about, "ms": (time.perf_counter() - began) * 1000}

    def prepare(self, command):
        from inputs import make_inputs

        self.prepared = None
        self.task = command["task"]
        entry = self.ops.OPS[self.task["op"]]
        if isinstance(entry, str):
            return {"missing": entry}
        self.prepared = entry(self.task, make_inputs(self.task["inputs"]))
        return {}

    def check(self, command):
        from inputs import difference

        return {"difference": difference(self.prepared.read(), command["file"], self.task)}

    def write(self, command):
        from inputs import as_bytes

        as_bytes(self.prepared.read(), self.task).tofile(command["file"])
        return {}

    def time(self, calls):
        run = self.prepared.run
        began = time.perf_counter()
        for _ in range(calls):
            run()
        return (time.perf_counter() - began) * 1000

    def warm(self, command):
        turn, longest = command["turn"], command["longest"]
        began, calls = time.perf_counter(), 0
        while True:
            last = self.time(1)
            calls += 1
            if (time.perf_counter() - began) * 1000 >= min(longest, 6 * turn) or calls >= 200_000:
                break
        batch = max(1, min(calls // 2, 1000))
        if batch > 1:
            last = self.time(batch) / batch
        return {"calls": max(1, round(turn / max(last, 1e-6))), "ms": last}

    def turn(self, command):
        calls = command["calls"]
        # As on the other side: the first calls after a pause pay for the pause.
        began = time.perf_counter()
        while (time.perf_counter() - began) * 1000 < command["lead"]:
            self.time(1)
        return {"ms": self.time(calls) / calls}

    def peak(self, command):
        self.time(command["calls"])
        try:
            with open("/proc/self/status") as status:
                line = next(l for l in status if l.startswith("VmHWM"))
            return {"bytes": int(line.split()[1]) * 1024}
        except (OSError, StopIteration):
            return {"bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}

    def drop(self, _command):
        self.prepared = None
        return {}


def main():
    child = Child()
    answers = os.fdopen(4, "w")
    for line in os.fdopen(3):
        command = json.loads(line)
        try:
            reply = getattr(child, command["do"])(command)
        except Missing as why:
            reply = {"missing": str(why)}
        except Exception as error:  # noqa: BLE001: whatever went wrong is the answer
            text = str(error) or type(error).__name__
            reply = {"error": text.splitlines()[0][:300]}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    sys.modules["child"] = sys.modules["__main__"]
    main()
