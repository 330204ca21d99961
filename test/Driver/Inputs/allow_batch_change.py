"""Where nothing fits, --allow-batch-change halves the batch until a plan does and says so; without it exit 3 names that way out."""

import json
import subprocess
import sys
from pathlib import Path

tool, model, plan = sys.argv[1], sys.argv[2], Path(sys.argv[3])


def compile_plan(*flags, code=0):
    plan.unlink(missing_ok=True)
    command = [tool, "--threads=1", f"--plan-json={plan}", *flags, model]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, (flags, done.returncode, done.stderr)
    return (json.loads(plan.read_text()) if code == 0 else None), done.stderr


PINNED = ["--micro-batch=64", "--remat=none", "--shard-states=none"]
sixteen, _ = compile_plan(*PINNED, "--batch=16")
budget = f"--memory-budget={sixteen['smallest_budget_bytes']}"

# Kept unless it may change: exit 3 says what would do.
_, error = compile_plan(*PINNED, "--batch=64", budget, code=3)
assert "or allow --allow-batch-change or" in error, error
# No way out where even one utterance does not fit.
_, error = compile_plan(*PINNED, "--batch=64", "--memory-budget=1K", code=3)
assert "--allow-batch-change" not in error, error

# Half of it does not fit either: a quarter.
allowed = ["--allow-batch-change", "--lr-scale=linear", *PINNED]
lowered, table = compile_plan(*allowed, "--batch=64", budget)
assert lowered["batch"] == 16 and lowered["peak_bytes"] == sixteen["peak_bytes"]
assert lowered["changes_experiment"] == [
    "batch 16 instead of the model's 4",
    "lr 0.004 instead of the model's 0.001",
    f"the batch was lowered to 16: nothing fits {sixteen['smallest_budget_bytes']} bytes with 64",
], lowered["changes_experiment"]
assert "another experiment: the batch was lowered to 16" in table, table
# Kept where it fits.
kept, _ = compile_plan(*allowed, "--batch=16", budget)
assert kept["batch"] == 16 and len(kept["changes_experiment"]) == 2, kept["changes_experiment"]
# Every rank keeps an utterance.
_, error = compile_plan(*allowed, "--batch=64", "--ranks=4", "--pipeline=none", "--memory-budget=1K", code=3)
least, _ = compile_plan(*PINNED, "--batch=4", "--ranks=4", "--pipeline=none")
assert f"smallest feasible budget: {least['smallest_budget_bytes']} bytes" in error, error
