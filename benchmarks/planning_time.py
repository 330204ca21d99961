"""What planning costs as graphs grow: wall clock, processor and memory of tts-opt, and of the look-up of another budget.

    .venv/bin/python benchmarks/planning_time.py [--blocks=10,21,41,82] [--rounds=3] [--plot=FILE.png]

A DiT 1280 wide of so many blocks, one bucket, on an H200 in fp32 at 140 GB; exact arena, all candidates. Operations are those after
Differentiate. Bars: 0.5 s for up to 2,500 operations, 5 s for up to 20,000, in proportion between, 1 GB, 0.3 s for a look-up (which
prints the plan, not the IR). Runs take turns, the least counts. Exit 1 if a bar is missed.
"""

import argparse
import dataclasses
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from compile_speed import measure

from tts.models import dit

ROOT = Path(__file__).resolve().parents[1]
TOOL = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin")) / "tts-opt"
FLAGS = ["--hardware=h200-141g", "--precision=fp32", "--plan-table=none", "--bucket=text=208,frames=1000"]
#: Operations up to which → seconds.
SMALL, LARGE = (2500, 0.5), (20000, 5.0)
LOOK_UP, MEMORY = 0.3, 1000.0


def bar_of(operations: int) -> float:
    """Seconds allowed for so many operations: the small bar, then in proportion."""
    (few, least), (many, most) = SMALL, LARGE
    return least if operations <= few else least + (most - least) * (operations - few) / (many - few)


def count_operations(text: str) -> int:
    """Operations of a printed module: one that makes nothing is a return or begins with its name."""
    return len(re.findall(r"^\s+(?:%\S+.* = |return\b)", text, re.MULTILINE))


def plan(model: Path, front: Path | None, budget: str) -> tuple[float, float, float]:
    keep = [f"--plan-front={front}"] if front else []
    return measure(
        [str(TOOL), *FLAGS, *keep, f"--memory-budget={budget}", "--stop-after=plan", str(model), "-o", os.devnull]
    )


def least(figures: list[tuple[float, float, float]]) -> tuple[float, ...]:
    return tuple(min(column) for column in zip(*figures, strict=True))


def draw(rows: list[tuple[int, float, float]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    operations = [row[0] for row in rows]
    plt.plot(operations, [row[1] for row in rows], "o-", label="wall")
    plt.plot(operations, [row[2] for row in rows], "o-", label="processor")
    plt.plot(operations, [bar_of(count) for count in operations], "k--", label="bar")
    plt.xlabel("operations after Differentiate")
    plt.ylabel("seconds of planning")
    plt.legend()
    plt.savefig(path, dpi=120)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", default="10,21,41,82")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plot")
    told = parser.parse_args()
    rows, missed = [], []
    print(
        f"{'blocks':>6} {'operations':>10} {'wall s':>8} {'cpu s':>8} {'bar s':>6} {'MB':>6} {'look-up s':>9} {'cpu s':>8}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for blocks in map(int, told.blocks.split(",")):
            model, front = Path(folder, f"{blocks}.mlir"), Path(folder, f"{blocks}.json")
            config = dataclasses.replace(dit.SIZES["500m"], blocks=blocks)
            model.write_text(dit.text(config))
            differentiated = subprocess.run(
                [TOOL, FLAGS[-1], "--stop-after=differentiate", model], capture_output=True, text=True, check=True
            )
            operations = count_operations(differentiated.stdout)
            plan(model, front, "140G")
            planned, found = [], []
            for _ in range(told.rounds):
                planned.append(plan(model, None, "140G"))
                found.append(plan(model, front, "120G"))
            wall, processor, memory = least(planned)
            look_up, its_processor, _ = least(found)
            rows.append((operations, wall, processor))
            bar = bar_of(operations)
            print(
                f"{blocks:6} {operations:10} {wall:8.2f} {processor:8.2f} {bar:6.2f} {memory:6.0f} {look_up:9.2f} {its_processor:8.2f}"
            )
            missed += [f"{blocks} blocks: planning takes {wall:.2f} s, bar {bar:.2f}"] * (wall > bar)
            missed += [f"{blocks} blocks: {memory:.0f} MB, bar {MEMORY:.0f}"] * (memory > MEMORY)
            missed += [f"{blocks} blocks: a look-up takes {look_up:.2f} s, bar {LOOK_UP}"] * (look_up > LOOK_UP)
    if told.plot:
        draw(rows, told.plot)
    for line in missed:
        print("missed:", line)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
