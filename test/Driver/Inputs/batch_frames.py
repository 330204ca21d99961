"""--batch-frames=F: planned as many utterances as the corpus' mean one makes of F; certificate, rate and refusals follow."""

import json
import subprocess
import sys
from pathlib import Path

tool, inputs, plan = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])


def compile_plan(*flags, model="pitch.mlir", code=0):
    plan.unlink(missing_ok=True)
    command = [tool, "--threads=1", f"--plan-json={plan}", *flags, inputs / model]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, (flags, done.returncode, done.stderr)
    return (json.loads(plan.read_text()) if code == 0 else None), done.stderr


# 6 of 10 frames, 3 of 20, 6 of 22, 1 of 60: 19.5 on average.
corpus = f"--buckets-from={inputs / 'corpus'}"
framed, table = compile_plan(corpus, "--batch-frames=195", "--lr-scale=linear")
assert (framed["batch"], framed["batch_frames"]) == (10, 195)
assert framed["experiment"]["batch_frames"] == 195
assert framed["changes_experiment"] == [
    "batch of 195 frames, about 10 utterances, instead of the model's 4",
    "lr 0.0025 instead of the model's 0.001",
], framed["changes_experiment"]
assert "batch 10 on average, 195 frames" in table, table
counted, table = compile_plan(corpus, "--batch=10")
assert counted["batch_frames"] is None and counted["peak_bytes"] == framed["peak_bytes"]
assert "on average" not in table

# Without a corpus the buckets are taken for full.
full, _ = compile_plan("--batch-frames=90", "--bucket=text=8,frames=20", "--bucket=text=16,frames=40")
assert full["batch"] == 3

# Where the batch may change, frames are halved with it.
PINNED = ["--micro-batch=64", "--remat=none", corpus]
small, _ = compile_plan(*PINNED, "--batch-frames=312")
assert small["batch"] == 16
budget = f"--memory-budget={small['smallest_budget_bytes']}"
lowered, _ = compile_plan(*PINNED, "--batch-frames=1248", "--allow-batch-change", budget)
assert (lowered["batch"], lowered["batch_frames"]) == (16, 312)

# A layer that looks at the whole update needs a fixed number of utterances.
_, error = compile_plan("--batch-frames=90", "--bucket=text=8,frames=20", model="batch-norm.mlir", code=2)
assert "error: --batch-frames: the number of utterances varies, but 'bn' needs an update in one micro-batch" in error, (
    error
)
