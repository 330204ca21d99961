"""A sweep of budgets: planned and measured peak, and predicted time, of three models between their smallest budget and that of the fastest plan.

    .venv/bin/python benchmarks/budget_sweep.py [--budgets 20] [--plot sweep.png] [--hardware host.json]

Each plan is compiled and trains two updates with validation and a checkpoint on a synthetic corpus. Held for each: the measured peak (VmHWM) is at
most the budget and within 1 % + 8 MiB of the planned one, the arena's high water is the planned arena to the byte, nothing of 4 KiB is allocated after
the start; over all: more budget gives no smaller peak and no longer time. Exit 1 if one of them fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from tts.data import tokens
from tts.data.errors import run_tool
from tts.data.synthetic import Range, synthesize
from tts.models import codec_lm, dit, fastspeech2

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
MODELS = {"fastspeech2": fastspeech2, "dit": dit, "codec_lm": codec_lm}
ALLOWED = 8 << 20  # beside 1 %
NOISE = 1 + 1e-9


def run(*command, code: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"error: {command[0]}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return done


@dataclass
class Point:
    """One budget of a model."""

    budget: int
    planned: int
    measured: int
    arena: int
    high_water: int
    large_allocations: int
    seconds: float
    micro_batches: list[int]
    recomputed: float
    faults: list[str] = field(default_factory=list)

    def judge(self, smaller: Point | None) -> None:
        if max(self.planned, self.measured) > self.budget:
            self.faults.append("over the budget")
        if abs(self.measured - self.planned) > self.planned // 100 + ALLOWED:
            self.faults.append("measured far from planned")
        if self.high_water != self.arena:
            self.faults.append("high water is not the arena")
        if self.large_allocations:
            self.faults.append("allocations after the start")
        if smaller and self.planned < smaller.planned:
            self.faults.append("smaller than at less budget")
        if smaller and self.seconds > NOISE * smaller.seconds:
            self.faults.append("slower than at less budget")

    def line(self) -> str:
        mib = "".join(f"{size / (1 << 20):>10.1f}" for size in (self.budget, self.planned, self.measured))
        batches = ",".join(map(str, self.micro_batches))
        words = ", ".join(self.faults) or "holds"
        return f"{mib} {self.arena:>12} {self.high_water:>12} {1e3 * self.seconds:>9.1f} {self.recomputed:>7.1%} {batches:>8}  {words}"


HEAD = f"{'budget':>10}{'planned':>10}{'measured':>10} {'arena':>12} {'high water':>12} {'ms':>9} {'again':>7} {'at once':>8}"


class Sweep:
    """A model with its corpus."""

    def __init__(self, name: str, o: argparse.Namespace, folder: Path):
        self.name, self.folder, self.points = name, folder, []
        folder.mkdir()
        self.corpus = folder / "corpus"
        synthesize(self.corpus, 2 * o.batch, 4, Range(8, 20), Range(40, o.frames))
        if name == "codec_lm":
            tokens.make(self.corpus, folder / "tokens", stack=2, levels=1, codes=24)
            self.corpus = folder / "tokens"
        self.model = folder / "model.mlir"
        # One bucket for all, and the whole batch at once: then recomputing is what a budget changes, over a wide range.
        bucket = f"frames={o.frames // 2 + 20}" if name == "codec_lm" else f"text=20,frames={o.frames}"
        flags = [f"--size={o.size}", f"--corpus={self.corpus}", f"--batch={o.batch}", f"--bucket={bucket}"]
        flags += ["-o", str(self.model)]
        if MODELS[name].main(flags):
            sys.exit(f"error: tts.models.{name}: failed")
        self.flags = [
            f"--micro-batch={o.batch}",
            "--threads=1",
            f"--hardware={o.hardware}",
            f"--plan-front={folder / 'front.json'}",
        ]

    def ends(self) -> tuple[int, int]:
        """The smallest budget, and what the fastest plan takes."""
        told = run(TOOLS / "tts-opt", "--memory-budget=1B", *self.flags, self.model, code=3).stderr
        path = self.folder / "most.json"
        flags = [*self.flags, "--memory-budget=1T", "--plan-table=none", f"--plan-json={path}", "-o", os.devnull]
        run(TOOLS / "tts-opt", *flags, self.model)
        return int(re.search(r"smallest feasible budget: (\d+)", told)[1]), json.loads(path.read_text())["peak_bytes"]

    def measure(self, budget: int) -> Point:
        program, logs = self.folder / "train", self.folder / f"logs-{budget}"
        run(TOOLS / "tts-compile", f"--memory-budget={budget}B", *self.flags, self.model, "-o", program)
        plan = json.loads((self.folder / "train.plan.json").read_text())
        flags = [f"--data={self.corpus}", f"--log-dir={logs}", "--steps=2", "--eval-every=2", "--seed=1"]
        run(program, *flags, f"--checkpoint-dir={logs / 'checkpoints'}", "--checkpoint-every=2")
        final = json.loads((logs / "metrics.jsonl").read_text().splitlines()[-1])
        return Point(
            budget,
            final["planned_peak_bytes"],
            final["measured_peak_bytes"],
            plan["arena_bytes"],
            final["arena_high_water_bytes"],
            final["large_allocations_after_start"],
            plan["predicted_step_seconds"],
            [bucket["micro_batch"] for bucket in plan["buckets"]],
            max(bucket["recompute_flops_fraction"] for bucket in plan["buckets"]),
        )

    def run(self, budgets: int) -> None:
        least, most = self.ends()
        print(f"{self.name}: from {least} to {most} bytes\n{HEAD}", flush=True)
        for number in range(budgets):
            point = self.measure(least + (most - least) * number // max(budgets - 1, 1))
            point.judge(self.points[-1] if self.points else None)
            self.points.append(point)
            print(point.line(), flush=True)


def draw(path: Path, sweeps: list[Sweep]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, len(sweeps), figsize=(4.2 * len(sweeps), 6.4), sharex="col", squeeze=False)
    for (above, below), sweep in zip(axes.T, sweeps):
        budgets = [point.budget / (1 << 20) for point in sweep.points]
        above.plot(budgets, budgets, color="0.7", linestyle=":", label="budget")
        planned = [point.planned / (1 << 20) for point in sweep.points]
        above.step(budgets, planned, where="post", color="tab:blue", label="planned peak")
        measured = [point.measured / (1 << 20) for point in sweep.points]
        above.plot(budgets, measured, "o", color="tab:orange", markersize=4, label="measured (VmHWM)")
        above.set_title(sweep.name)
        below.plot(budgets, [1e3 * point.seconds for point in sweep.points], "o-", color="tab:green", markersize=4)
        below.set_xlabel("budget, MiB")
        below.set_ylim(bottom=0)
    axes[0][0].set_ylabel("peak, MiB")
    axes[1][0].set_ylabel("predicted ms per update")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", type=int, default=20)
    parser.add_argument("--size", default="small")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--frames", type=int, default=120, help="of the longest utterance")
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--hardware", default="host")
    parser.add_argument("--plot", type=Path)
    o = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        sweeps = [Sweep(name, o, Path(folder) / name) for name in o.models]
        for sweep in sweeps:
            sweep.run(o.budgets)
        if o.plot:
            draw(o.plot, sweeps)
    points = [point for sweep in sweeps for point in sweep.points]
    off = max(abs(point.measured - point.planned) / point.planned for point in points)
    wrong = sum(bool(point.faults) for point in points)
    print(
        f"{len(points)} plans, {wrong} wrong, measured at most {off:.1%} from planned, {time.monotonic() - start:.0f} s"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(run_tool(main))
