"""More budget never makes the plan slower or its peak smaller, looked up or planned anew."""

import itertools
import json
import pathlib
import subprocess
import sys

tool, model, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
folder.mkdir(exist_ok=True)
front, path = folder / "front.json", folder / "plan.json"
front.unlink(missing_ok=True)
# Random plans found here 3.50 ms where a smaller budget gave 3.33 ms.
FLAGS = ["--batch=5", "--threads=2", "--precision=bf16", *(f"--bucket=frames={frames}" for frames in (16, 52, 148))]


def plan(budget: int, *flags: str) -> tuple[float, int]:
    """Seconds and peak."""
    command = [tool, *FLAGS, f"--memory-budget={budget}B", "--plan-table=none", f"--plan-json={path}", *flags]
    subprocess.run([*command, "-o", folder / "out.mlir", model], check=True)
    found = json.loads(path.read_text())
    assert found["peak_bytes"] <= budget, (found["peak_bytes"], budget)
    return found["predicted_step_seconds"], found["peak_bytes"]


plan(1 << 30, f"--plan-front={front}")
choices = json.loads(front.read_text())["choices"]
peaks = sorted(choice["peak_bytes"] for choice in choices)
assert len(peaks) > 3, choices
known = [plan(peak, f"--plan-front={front}") for peak in peaks]
for (slow, small), (fast, large) in itertools.pairwise(known):
    assert fast <= slow and large >= small, known
for peak, found in zip(peaks, known):
    # The fastest of all that fit.
    assert found[0] == min(choice["step_seconds"] for choice in choices if choice["peak_bytes"] <= peak), peak
    assert plan(peak) == found, peak
