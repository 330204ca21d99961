"""Random plans: models × budgets × flags; none may be over its budget, and every arena is what was predicted, to the byte.

    .venv/bin/python benchmarks/random_plans.py [--count 2000] [--seed 1] [--compile-every 20] [--minutes 60]

A case is a model with flags; its budgets are drawn between the smallest feasible one (that of a refusal, which must work, while one byte
less must be refused) and what the fastest plan takes. More budget may never make the plan slower, nor less budget the peak larger.
The budgets of a case are looked up in one front (`--plan-front`), which makes them cheap; each is lowered and packed whole, and the compiler
fails when its bytes are not those predicted for the choice. Every `--anew-every`th is planned again without the front and must be the same; every
`--compile-every`th that this machine can run is compiled, and its executable's own tables are re-proved by tts-check. Each
fault is printed with the command that shows it; exit 1 if there is one.
"""

import argparse
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
MODELS = ("fastspeech2", "dit", "codec_lm")
WITHOUT_LIMIT = 100 << 30
SECONDS_BETWEEN_LINES = 10
NOISE = 1 + 1e-9


def run(*command) -> subprocess.CompletedProcess:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True)


class Fault(Exception):
    """A plan that is not what it should be, with the command that shows it."""

    def __init__(self, command, what: str):
        super().__init__(f"{what}\n    {shlex.join(str(part) for part in command)}")


@dataclass
class Case:
    """A model with flags, and budgets as parts of the way from the smallest to that of the fastest plan."""

    model: Path
    flags: list[str]
    parts: list[float]
    anew: list[bool]
    compiles: list[bool]

    def command(self, tool: str, budget: int, *more) -> list:
        return [TOOLS / tool, f"--memory-budget={budget}B", *self.flags, *more, self.model]

    def least(self, front: str) -> int:
        """The smallest feasible budget: what a refusal says; one byte less must be refused as well."""
        budget = 1
        for _ in range(2):
            command = self.command("tts-opt", budget, front)
            done = run(*command)
            found = re.search(r"smallest feasible budget: (\d+)", done.stderr)
            if done.returncode != 3 or not found:
                raise Fault(command, f"exit {done.returncode} instead of 3: {done.stderr.strip()[-300:]}")
            budget = int(found[1]) - 1
        return budget + 1

    def plan(self, budget: int, *front: str) -> dict:
        command = self.command("tts-opt", budget, *front)
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            done = run(*command, f"--plan-json={file.name}", "-o", os.devnull)
            if done.returncode:
                raise Fault(command, f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
            plan = json.loads(Path(file.name).read_text())
        if plan["peak_bytes"] > budget:
            raise Fault(command, f"peak {plan['peak_bytes']} over the budget {budget}")
        if sum(plan["classes"].values()) != plan["peak_bytes"]:
            raise Fault(command, "the classes do not sum to the peak")
        return plan

    def compile(self, budget: int, plan: dict):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "train"
            command = self.command("tts-compile", budget, "-o", out)
            done = run(*command)
            if done.returncode:
                raise Fault(command, f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
            made = json.loads(out.with_suffix(".plan.json").read_text())
            if made["arena_bytes"] != plan["arena_bytes"]:
                raise Fault(command, f"arena {made['arena_bytes']} instead of {plan['arena_bytes']}")
            done = run(TOOLS / "tts-check", out.with_suffix(".plan.json"), "--executable", out)
            if done.returncode:
                raise Fault(command, f"tts-check: {(done.stdout + done.stderr).strip()[-300:]}")

    def compare(self, command, anew: dict, looked_up: dict):
        for name in ("arena_bytes", "peak_bytes", "predicted_step_seconds", "buckets"):
            if anew[name] != looked_up[name]:
                raise Fault(command, f"{name} {anew[name]}, looked up {looked_up[name]}")

    def check(self) -> list[float]:
        """Peak over budget of each plan."""
        with tempfile.TemporaryDirectory() as folder:
            return self.check_with(f"--plan-front={folder}/front.json")

    def check_with(self, front: str) -> list[float]:
        least = self.least(front)
        most = self.plan(WITHOUT_LIMIT, front)["peak_bytes"]
        shares, smaller = [], None
        for part, anew, compiles in zip(sorted(self.parts), self.anew, self.compiles):
            budget = least + int(part * max(most - least, 0))
            command, plan = self.command("tts-opt", budget), self.plan(budget, front)
            if smaller and plan["peak_bytes"] < smaller["peak_bytes"]:
                raise Fault(command, f"less than the peak {smaller['peak_bytes']} of less budget")
            if smaller and plan["predicted_step_seconds"] > NOISE * smaller["predicted_step_seconds"]:
                seconds = (plan["predicted_step_seconds"], smaller["predicted_step_seconds"])
                raise Fault(command, f"{seconds[0]} s, with less budget {seconds[1]} s")
            if anew:
                self.compare(command, self.plan(budget), plan)
            if compiles:
                self.compile(budget, plan)
            shares.append(plan["peak_bytes"] / budget)
            smaller = plan
        return shares


def draw_flags(draw: random.Random, model: str) -> tuple[list[str], bool]:
    """Flags, and whether this machine can run what they plan."""
    flags = [f"--batch={draw.randint(1, 16)}", f"--threads={draw.choice((1, 2))}"]
    runs = True
    if draw.random() < 0.3:
        flags.append(f"--micro-batch={draw.choice((1, 2, 4))}")
    if draw.random() < 0.3:
        flags.append(f"--remat={draw.choice(('none', 'full'))}")
    if draw.random() < 0.4:
        flags.append(f"--precision={draw.choice(('fp32', 'fp64', 'bf16', 'fp16'))}")
    if draw.random() < 0.3:
        flags.append(f"--optimizer={draw.choice(('adamw', 'sgd'))}")
    if draw.random() < 0.2:
        flags.append("--ema=0.99")
    if draw.random() < 0.2:
        flags.append("--grad-clip=1.0")
    if draw.random() < 0.5:
        ratio = draw.randint(3, 5)
        for text in sorted(draw.sample(range(4, 40), draw.choice((1, 1, 2, 3)))):
            with_text = "" if model == "codec_lm" else f"text={text},"
            flags.append(f"--bucket={with_text}frames={ratio * text}")
    if draw.random() < 0.1:
        flags.append(f"--ranks={draw.choice((2, 4))}")
        runs = False
    if draw.random() < 0.1:
        flags.append(f"--hardware={draw.choice(('a100-80g', 'l4-24g', 'rtx4090-24g'))}")
        runs = False
    return flags, runs


def draw_case(draw: random.Random, models: list[Path], o: argparse.Namespace) -> Case:
    model = draw.choice(models)
    flags, runs = draw_flags(draw, model.stem)
    parts = [draw.choice((0.0, draw.random(), draw.random(), draw.random())) for _ in range(o.budgets)]
    anew = [draw.random() * o.anew_every < 1 for _ in parts]
    return Case(model, flags, parts, anew, [runs and draw.random() * o.compile_every < 1 for _ in parts])


def make_models(names, folder: Path) -> list[Path]:
    models = []
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    for name in names:
        models.append(folder / f"{name}.mlir")
        command = [sys.executable, "-m", f"tts.models.{name}", "--size=tiny", "-o", models[-1]]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            sys.exit(f"error: tts.models.{name}: {done.stderr.strip()[-300:]}")
    return models


@dataclass
class Tally:
    """What was seen until now."""

    shares: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    compiled: int = 0

    def line(self, count: int, seconds: float) -> str:
        return (
            f"{len(self.shares)} of {count} plans, {self.compiled} compiled, {len(self.faults)} wrong, {seconds:.0f} s"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="plans")
    parser.add_argument("--budgets", type=int, default=8, help="budgets for each case of model and flags")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--anew-every", type=int, default=10)
    parser.add_argument("--compile-every", type=int, default=20)
    parser.add_argument("--minutes", type=float, help="no new case after so many")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--models", nargs="*", choices=MODELS, default=MODELS)
    o = parser.parse_args()
    tally, start, last = Tally(), time.monotonic(), 0.0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(o.jobs) as pool:
        models, draw = make_models(o.models, Path(folder)), random.Random(o.seed)
        cases = [draw_case(draw, models, o) for _ in range(-(-o.count // o.budgets))]

        def judge(case: Case):
            nonlocal last
            if o.minutes and time.monotonic() - start > 60 * o.minutes:
                return
            try:
                tally.shares.extend(case.check())
                tally.compiled += sum(case.compiles)
            except Fault as fault:
                tally.faults.append(str(fault))
                print(f"{case.model.stem}: {fault}", file=sys.stderr)
            seconds = time.monotonic() - start
            if seconds - last >= SECONDS_BETWEEN_LINES:
                last = seconds
                print(tally.line(o.count, seconds), file=sys.stderr, flush=True)

        list(pool.map(judge, cases))
    print("\n".join(tally.faults))
    print(tally.line(o.count, time.monotonic() - start))
    print(f"peak on average {sum(tally.shares) / max(len(tally.shares), 1):.3f}")
    return int(bool(tally.faults))


if __name__ == "__main__":
    sys.exit(main())
