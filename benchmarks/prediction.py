"""Predicted beside measured time of a training step, with a description by tts.calibrate: twins × precisions × rematerialization.

    .venv/bin/python -m tts.calibrate -o host.json
    .venv/bin/python benchmarks/prediction.py --hardware=host.json [--json FILE]

Micro-batch and bucket are others than those calibrated with. A step is one update of two micro-batches, forward, backward and all; measured is the
least of several, one thread, the processor's time, so a busy machine does not distort it. `auto` is planned at a budget
halfway between those of `full` and `none`. Exit 1 if a prediction is more than 15 % off.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from tts.calibrate.measure import BIN, Compiled, Run
from tts.data.errors import Parser, run_tool

BAR = 0.15
SHAPES = {"fastspeech2": "text=32,frames=160", "dit": "text=32,frames=160", "codec_lm": "frames=160"}
PRECISIONS = {"small": ("fp32", "bf16", "fp16"), "tiny": ("fp32", "bf16", "fp16", "fp64")}
REMATS = ("none", "auto", "full")


def runs(sizes, precisions) -> Iterator[Run]:
    for size in sizes:
        for model, bucket in SHAPES.items():
            for precision in PRECISIONS[size]:
                if not precisions or precision in precisions:
                    yield Run(model, size, precision, 4, bucket, updates=2)


def peaks(run: Run, folder: Path, hardware: str) -> tuple[int, int]:
    """Of keeping everything, and the least that is feasible."""
    flags = [f for f in run.flags(1) if "remat" not in f and "budget" not in f] + [f"--hardware={hardware}"]
    command = [BIN / "tts-opt", *flags, "--plan-table=none", run.source(folder)]
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        most = [*command, "--memory-budget=1T", "--remat=none", f"--plan-json={file.name}", "-o", "/dev/null"]
        subprocess.run(most, check=True, capture_output=True)
        peak = json.loads(Path(file.name).read_text())["peak_bytes"]
    told = subprocess.run([*command, "--memory-budget=1B"], capture_output=True, text=True).stderr
    return peak, int(re.search(r"smallest feasible budget: (\d+)", told)[1])


def measure(run: Run, folder: Path, hardware: str, steps: int, seconds: float) -> tuple[float, float]:
    """Predicted and measured seconds of an update."""
    compiled = Compiled(run, folder, hardware=hardware)
    least, start = float("inf"), time.monotonic()
    for number in range(10 * steps):
        least = min(least, compiled.step())
        if number + 1 >= steps and time.monotonic() - start > seconds:
            break
    compiled.close()
    return compiled.plan["predicted_step_seconds"], least


def main() -> int:
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="host", help="the description: a name or FILE.json")
    parser.add_argument("--size", action="append", choices=list(PRECISIONS), help="only this one (repeatable)")
    parser.add_argument("--precision", action="append", help="only this one (repeatable)")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of steps for each plan, at least")
    parser.add_argument("--json", type=Path, metavar="FILE")
    o = parser.parse_args()
    rows, missed = [], 0
    print(f"{'model':<12} {'size':<6} {'precision':<10} {'remat':<6} {'predicted':>10} {'measured':>10} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for run in runs(o.size or list(PRECISIONS), o.precision):
            most, least = peaks(run, Path(folder), o.hardware)
            for remat in REMATS:
                budget = (most + least) // 2 if remat == "auto" else None
                planned = replace(run, remat=remat, budget=budget)
                predicted, measured = measure(planned, Path(folder), o.hardware, o.steps, o.seconds)
                ratio = predicted / measured
                is_off = abs(ratio - 1) > BAR
                missed += is_off
                print(
                    f"{run.model:<12} {run.size:<6} {run.precision:<10} {remat:<6} {1e3 * predicted:>7.1f} ms"
                    f" {1e3 * measured:>7.1f} ms {ratio:>7.3f}{'  off' if is_off else ''}",
                    flush=True,
                )
                rows.append(
                    {"model": run.model, "size": run.size, "precision": run.precision, "remat": remat}
                    | {"predicted": predicted, "measured": measured}
                )
    ratios = sorted(row["predicted"] / row["measured"] for row in rows)
    print(
        f"{len(rows)} plans, predicted / measured {ratios[0]:.3f} to {ratios[-1]:.3f}; {missed} more than {BAR:.0%} off"
    )
    if o.json:
        o.json.write_text(json.dumps(rows, indent=1) + "\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(run_tool(main))
