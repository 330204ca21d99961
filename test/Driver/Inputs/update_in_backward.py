"""--optimizer-in-backward as one more choice: what budgets get with and without it, and where it is not offered."""

import json
import re
import subprocess
import sys

tool, model, path = sys.argv[1:]
ONE_BATCH = ("--threads=1", "--grad-clip=0", "--bucket=text=4", "--batch=2", "--micro-batch=2")


def plan(budget, *flags: str) -> tuple[dict | None, str]:
    """The plan's JSON, or nothing where nothing fits; and the text."""
    command = [tool, f"--memory-budget={budget}", f"--plan-json={path}", "--explain", *flags, model]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    return (json.load(open(path)) if done.returncode == 0 else None), done.stderr


def smallest(*flags: str) -> int:
    return int(re.search(r"smallest feasible budget: (\d+) bytes", plan("1K", *flags)[1])[1])


apart, either = smallest(*ONE_BATCH), smallest(*ONE_BATCH, "--optimizer-in-backward=auto")
assert either < apart, (either, apart)
assert plan(apart - 64, *ONE_BATCH)[0] is None
found, text = plan(apart - 64, *ONE_BATCH, "--optimizer-in-backward=auto")
assert found["update_in_backward"] and found["changes_numerics"] == [], found["changes_numerics"]
assert found["peak_bytes"] <= apart - 64 and found["classes"]["gradients"] == 0
assert "chosen: the fastest that fits, updated in backward" in text and "backward updates each parameter" in text, text

pinned, _ = plan("1G", *ONE_BATCH, "--optimizer-in-backward=on")
assert all(choice["update_in_backward"] for choice in pinned["considered"])
assert not any(choice["update_in_backward"] for choice in plan("1G", *ONE_BATCH)[0]["considered"])

# What an eager framework would hold has all gradients in either case.
assert pinned["eager_bytes"] == plan("1G", *ONE_BATCH)[0]["eager_bytes"]

for flags in (("--bucket=text=4", "--bucket=text=8"), ("--bucket=text=4", "--batch=2", "--micro-batch=1")):
    found, text = plan("1G", "--threads=1", "--grad-clip=0", *flags, "--optimizer-in-backward=auto")
    assert not any(choice["update_in_backward"] for choice in found["considered"]), text
    assert "updated in backward" not in text, text
