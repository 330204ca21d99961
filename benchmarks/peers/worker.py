"""What every worker does: answer the driver's commands, one line of JSON each, on the pipe it was started with.

A side is a class made from the job with `about()`, `evaluate()` → loss without dropout, `step(update)` → loss, and
optionally `save(path)` and `held()` → bytes. Between commands a worker blocks in read(): it takes no time from the others.
"""

import json
import os
import sys
import time
from types import SimpleNamespace


def resident():
    """Bytes of the process now and at its highest (VmRSS, VmHWM)."""
    told = {}
    with open("/proc/self/status") as status:
        for line in status:
            name, _, rest = line.partition(":")
            told[name] = rest
    return {key: int(told[name].split()[0]) * 1024 for key, name in (("now", "VmRSS"), ("highest", "VmHWM"))}


def limit_processors(count):
    """Thread pools that size themselves by what the process may run on get `count`; returns how to lift it."""
    everything = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(everything)[:count])

    def lift():
        for task in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(task), everything)

    return lift


def timed(call):
    """Wall and processor seconds (of all threads) of a call, and its result."""
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - wall, time.process_time() - processor, result


def answer(side, command):
    if command["do"] == "about":
        return side.about()
    if command["do"] == "evaluate":
        return {"loss": side.evaluate()}
    if command["do"] == "step":
        wall, processor, loss = timed(lambda: side.step(command["update"]))
        return {"seconds": wall, "processor_seconds": processor, "loss": loss}
    if command["do"] == "held":
        return side.held()
    if command["do"] == "save":
        side.save(command["path"])
        return {}
    return resident()


def serve(make):
    """`make(job)` makes the side after its imports; the first answer tells the memory taken by then."""
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not get between the answers
    with open(sys.argv[1]) as file:
        job = json.load(file)
    job["config"] = SimpleNamespace(**job["config"])
    baseline = resident()
    side = make(SimpleNamespace(**job))
    print(json.dumps({"baseline": baseline}), file=pipe)
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "quit":
            break
        print(json.dumps(answer(side, command)), file=pipe)
