"""A certificate has the contract's fields, its sums are exact and its hash is the executable's."""

import hashlib
import itertools
import json
import sys

FIELDS = """version tool hashes budget_bytes ranks batch buckets precision state_sharding stages lr_scale
changes_experiment changes_numerics libraries classes peak_bytes arena_bytes lower_bound_bytes
predicted_step_seconds eager_bytes buffers overhead_bytes host_buffer_bytes""".split()
CLASSES = """parameters half_copies gradients optimizer ema activations batch workspace collectives buffers unused
overhead""".split()

path, executable = sys.argv[1:]
with open(path) as file:
    plan = json.load(file)
missing = [field for field in FIELDS if field not in plan]
assert not missing, missing
assert sorted(plan["classes"]) == sorted(CLASSES), plan["classes"]
assert sum(plan["classes"].values()) == plan["peak_bytes"] <= plan["budget_bytes"]
assert plan["peak_bytes"] == plan["arena_bytes"] + plan["overhead_bytes"]
assert plan["lower_bound_bytes"] <= plan["arena_bytes"] <= 1.05 * plan["lower_bound_bytes"] + 4096
for bucket in plan["buckets"]:
    assert {"dims", "micro_batch", "remat", "recompute_flops_fraction", "predicted_micro_batch_seconds"} <= set(bucket)
# Embedding, convolution, head.
assert plan["experiment"]["parameters"] == 11 * 16 + 3 * 16 * 16 + 16, plan["experiment"]
assert plan["experiment"]["batch"] == plan["batch"] and plan["experiment"]["lr"] == 1e-3
assert plan["experiment"]["schedule"] == "constant" and plan["experiment"]["corpus_hash"] is None
with open(executable, "rb") as file:
    assert plan["hashes"]["executable"] == hashlib.sha256(file.read()).hexdigest()
assert {"name", "loc", "class", "program", "offset", "size"} <= set(plan["buffers"][0])

# The programs tile the timeline, and buffers live inside theirs.
spans = sorted((p["begin"], p["begin"] + p["entries"], p["program"]) for p in plan["programs"])
assert spans[0][0] == 0 and all(a[1] == b[0] for a, b in itertools.pairwise(spans)), spans
bounds = {name: (begin, end) for begin, end, name in spans}
assert {"zero", "denominators[0]", "forward[0]", "backward[0]", "update", "eval[0]"} <= set(bounds)
for buffer in plan["buffers"]:
    if buffer["program"] != "persistent":
        begin, end = bounds[buffer["program"]][0], bounds[buffer["last_program"]][1]
        assert begin <= buffer["begin"] <= buffer["end"] < end, buffer
