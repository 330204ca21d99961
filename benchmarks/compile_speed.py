"""What compiling costs: wall clock, processor and memory of tts-compile for several models and numbers of buckets.

    .venv/bin/python benchmarks/compile_speed.py [--rounds=3] [--start=demo-out/corpus] [--keep=DIR]

Runs take turns, the least of each figure counts. Bars: the base model with one bucket under 2 s, at most 0.5 s per further
bucket, FastSpeech 2 at 500 M under 8 s and 1 GB; with --start, the executable's own word on how long it takes to the
beginning of its first update, under 1 s. On a machine with other work the wall clock says little: the processor's seconds
stand beside it, and what they would be on all cores. Exit 1 if a bar is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))

LENGTHS = ((64, 304), (96, 576), (128, 608), (160, 800), (208, 1000))


@dataclass
class Case:
    """One compilation, and its least figures so far."""

    name: str
    size: str
    buckets: int  # 0: the model's own
    wall: float = field(default=float("inf"))
    processor: float = field(default=float("inf"))
    memory: float = field(default=float("inf"))  # MB

    def command(self, model: Path, output: Path) -> list[str]:
        chosen = LENGTHS[1:2] if self.buckets == 1 else LENGTHS[: self.buckets]
        flags = [f"--bucket=text={text},frames={frames}" for text, frames in chosen]
        return [str(TOOLS / "tts-compile"), "--plan-table=none", *flags, str(model), "-o", str(output)]


CASES = (
    Case("base, 1 bucket", "base", 1),
    Case("base, 2 buckets", "base", 2),
    Case("base, 3 buckets", "base", 3),
    Case("base, 5 buckets", "base", 5),
    Case("500m, its 3 buckets", "500m", 0),
)


def measure(command: list[str]) -> tuple[float, float, float]:
    """Seconds of wall clock and of processors, MB at the peak; linking included."""
    # A process of its own asks for the usage of its children: the largest of them, not of all measured before.
    asker = (
        "import resource, subprocess, sys, json, time; start = time.monotonic(); code = subprocess.call(sys.argv[1:]); "
        "wall = time.monotonic() - start; u = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(json.dumps([code, wall, u.ru_utime + u.ru_stime, u.ru_maxrss / 1024]))"
    )
    done = subprocess.run([sys.executable, "-c", asker, *command], stdout=subprocess.PIPE, text=True, check=True)
    code, wall, processor, memory = json.loads(done.stdout.splitlines()[-1])
    if code != 0:
        sys.exit(f"error: {command[0]}: exit code {code}; run it by hand: {' '.join(command)}")
    return wall, processor, memory


def start_seconds(executable: Path, corpus: Path, folder: Path, rounds: int) -> float:
    """The executable's own figure, least of several starts."""
    least = float("inf")
    for _ in range(rounds):
        flags = [f"--data={corpus}", "--steps=1", f"--log-dir={folder}"]
        subprocess.run([executable, *flags], check=True, stdout=subprocess.DEVNULL)
        last = (folder / "metrics.jsonl").read_text().splitlines()[-1]
        least = min(least, json.loads(last)["start_seconds"])
    return least


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--start", type=Path, metavar="CORPUS", help="a corpus to start the base model's executable on")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave models and executables there")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = told.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for size in {case.size for case in CASES}:
            write_model(folder, size)
        for _ in range(told.rounds):
            for case in CASES:
                figures = measure(case.command(folder / f"{case.size}.mlir", folder / "train"))
                case.wall, case.processor, case.memory = map(min, (case.wall, case.processor, case.memory), figures)
        start = None
        if told.start:
            corpus = told.start.resolve()
            write_model(folder, "base", f"--corpus={corpus}", name="fitted")
            measure(
                [
                    str(TOOLS / "tts-compile"),
                    "--plan-table=none",
                    str(folder / "fitted.mlir"),
                    "-o",
                    str(folder / "train"),
                ]
            )
            start = start_seconds(folder / "train", corpus, folder / "log", told.rounds)
    return report(start)


def write_model(folder: Path, size: str, *flags: str, name: str = "") -> None:
    command = [sys.executable, "-m", "tts.models.fastspeech2", f"--size={size}", *flags]
    command += ["-o", str(folder / f"{name or size}.mlir")]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    subprocess.run(command, check=True, env=environment, stderr=subprocess.DEVNULL)


def report(start: float | None) -> int:
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} cores, load {os.getloadavg()[0]:.1f}, least of the rounds")
    print(f"{'':22} {'wall s':>8} {'processor s':>12} {'on all cores s':>15} {'MB':>6}")
    for case in CASES:
        ideal = case.processor / cores
        print(f"{case.name:22} {case.wall:8.2f} {case.processor:12.2f} {ideal:15.2f} {case.memory:6.0f}")
    one, *_, five, large = CASES
    further = (five.wall - one.wall) / (five.buckets - one.buckets)
    bars = [
        ("base with one bucket", one.wall, 2.0, "s"),
        ("each further bucket", further, 0.5, "s"),
        ("500m", large.wall, 8.0, "s"),
        ("500m", large.memory, 1000.0, "MB"),
    ]
    if start is not None:
        bars.append(("start of base to its first update", start, 1.0, "s"))
    missed = 0
    for name, figure, bar, unit in bars:
        held = figure < bar
        missed += not held
        print(f"{'holds ' if held else 'MISSED'} {name}: {figure:.2f} {unit} (bar {bar:g} {unit})")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
