"""Random plans: models × budgets × flags; none may be over its budget, and every arena is what was predicted, to the byte.

Usage, after the build: .venv/bin/python benchmarks/random_plans.py [--count 2000] [--seed 1] [--compile-every 20]

A budget below the smallest feasible one must be refused (exit 3) and the budget named in the refusal must work. The compiler itself packs
each plan twice (for the choice, and whole) and fails when they differ by a byte; every `--compile-every`th plan is compiled, and its
executable's own tables are re-proved by tts-check.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
MODELS = ("fastspeech2", "dit", "codec_lm")


def run(*command) -> subprocess.CompletedProcess:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True)


@dataclass
class Case:
    model: Path
    flags: list[str]
    part: float  # of the way from the smallest budget to keeping everything; below 0 is infeasible

    def limits(self) -> tuple[int, int]:
        """The smallest feasible budget, and the peak when the budget is no matter."""
        least = run(TOOLS / "tts-opt", "--memory-budget=1K", *self.flags, self.model)
        found = re.search(r"smallest feasible budget: (\d+)", least.stderr)
        if least.returncode != 3 or not found:
            raise AssertionError(f"exit {least.returncode}, no smallest budget: {least.stderr.strip()[-300:]}")
        return int(found[1]), self.plan(100 << 30)["peak_bytes"]

    def plan(self, budget: int) -> dict:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            done = run(
                TOOLS / "tts-opt", f"--memory-budget={budget}B", *self.flags, f"--plan-json={file.name}", self.model
            )
            if done.returncode:
                raise AssertionError(f"exit {done.returncode} at {budget} bytes: {done.stderr.strip()[-300:]}")
            return json.loads(Path(file.name).read_text())

    def check(self, compiles: bool) -> str:
        least, most = self.limits()
        if self.part < 0:
            done = run(TOOLS / "tts-opt", f"--memory-budget={least - 1}B", *self.flags, self.model)
            if done.returncode != 3:
                raise AssertionError(f"exit {done.returncode} one byte below the smallest budget {least}")
            budget = least
        else:
            budget = int(least + self.part * max(most - least, 0))
        plan = self.plan(budget)
        if plan["peak_bytes"] > budget:
            raise AssertionError(f"peak {plan['peak_bytes']} over the budget {budget}")
        if sum(plan["classes"].values()) != plan["peak_bytes"]:
            raise AssertionError("the classes do not sum to the peak")
        if compiles:
            self.compile(budget, plan)
        return f"{plan['peak_bytes'] / budget:.3f}"

    def compile(self, budget: int, plan: dict):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "train"
            done = run(TOOLS / "tts-compile", f"--memory-budget={budget}B", *self.flags, self.model, "-o", out)
            if done.returncode:
                raise AssertionError(f"tts-compile: {done.stderr.strip()[-300:]}")
            made = json.loads(out.with_suffix(".plan.json").read_text())
            if made["arena_bytes"] != plan["arena_bytes"]:
                raise AssertionError(f"arena {made['arena_bytes']} instead of {plan['arena_bytes']}")
            done = run(TOOLS / "tts-check", out.with_suffix(".plan.json"), "--executable", out)
            if done.returncode:
                raise AssertionError(f"tts-check: {done.stdout.strip()[-300:]}")


def draw_case(draw: random.Random, models: list[Path]) -> Case:
    flags = [f"--batch={draw.randint(1, 16)}", f"--threads={draw.choice((1, 2))}"]
    if draw.random() < 0.3:
        flags.append(f"--micro-batch={draw.choice((1, 2, 4))}")
    if draw.random() < 0.3:
        flags.append(f"--remat={draw.choice(('none', 'full'))}")
    if draw.random() < 0.3:
        flags.append(f"--precision={draw.choice(('fp32', 'fp64', 'bf16'))}")
    if draw.random() < 0.3:
        flags.append(f"--optimizer={draw.choice(('adamw', 'sgd'))}")
    if draw.random() < 0.2:
        flags.append("--ema=0.99")
    return Case(draw.choice(models), flags, draw.choice((-1.0, draw.random(), draw.random(), 1.0)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile-every", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--models", nargs="*", default=MODELS)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = []
        for name in o.models:
            models.append(Path(folder) / f"{name}.mlir")
            done = run(sys.executable, "-m", f"tts.models.{name}", "--size=tiny", "-o", models[-1])
            if done.returncode:
                sys.exit(f"error: tts.models.{name}: {done.stderr.strip()[-300:]}")
        draw = random.Random(o.seed)
        cases = [draw_case(draw, models) for _ in range(o.count)]
        failures, shares = [], []

        def judge(numbered):
            number, case = numbered
            try:
                shares.append(float(case.check(number % o.compile_every == 0)))
            except AssertionError as fault:
                failures.append(f"{case.model.stem} {' '.join(case.flags)}, part {case.part:.3f}: {fault}")
            done = len(shares) + len(failures)
            if done % 20 == 0:
                print(f"{done} of {o.count}, {len(failures)} wrong", file=sys.stderr)

        with ThreadPoolExecutor(o.jobs) as pool:
            list(pool.map(judge, enumerate(cases)))
    print("\n".join(failures))
    mean = sum(shares) / max(len(shares), 1)
    print(f"{o.count} random plans, {len(failures)} wrong; peak over budget on average {mean:.3f}")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
