"""Two ranks of one thread beside one rank of two threads and one of one, the same batch: the speed of ranks on one machine.

    chrt -f 10 .venv/bin/python benchmarks/ranks/throughput.py                           # FastSpeech 2 small, batch 64
    chrt -f 10 .venv/bin/python benchmarks/ranks/throughput.py --size=base --batch=8 --steps=4

The three programs have the micro-batches the planner gives them and are trained in turns, --rounds times, each --steps updates over the
same utterances (the order of the data knows no ranks). A program's time is the sum over the updates of each one's least
seconds in any round, the first update left out. Printed: seconds, utterances per second and the two ratios, which are to be at
least 0.9 (against two threads) and 1.7 (against one thread); 3 is the exit status where they are less. Ranks are not bound to
processors (--bind-to none). Measure on an idle machine of two processors, or with a real-time priority.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from tts.data.errors import InputError, Parser, run_tool

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none")
SIDES = {"2 ranks x 1 thread": (2, 1), "1 rank x 2 threads": (1, 2), "1 rank x 1 thread": (1, 1)}
BARS = {"1 rank x 2 threads": 0.9, "1 rank x 1 thread": 1.7}


def call(*command: object, **options: object) -> None:
    """Runs a program and hands on what it says where it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise InputError(Path(str(command[0])).name, done.stderr.strip().splitlines()[-1], "see above")


def compile_sides(folder: Path, corpus: Path, size: str, batch: int, buckets: list[str]) -> None:
    """One executable per side, by the number of ranks and of threads."""
    model = folder / "model.mlir"
    flags = (f"--size={size}", f"--batch={batch}", f"--corpus={corpus}", "-o", model)
    call(sys.executable, "-m", "tts.models.fastspeech2", *flags, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    for ranks, threads in SIDES.values():
        how = (f"--ranks={ranks}", f"--threads={threads}")
        where = (*buckets, model, "-o", folder / f"train-{ranks}-{threads}")
        call(BIN / "tts-compile", "--memory-budget=16G", *how, *where)


def train(folder: Path, corpus: Path, ranks: int, threads: int, steps: int) -> list[float]:
    """Seconds of each update but the first."""
    log = folder / f"log-{ranks}-{threads}"
    launch = [*MPIRUN, "-n", str(ranks)] if ranks > 1 else []
    run = (
        folder / f"train-{ranks}-{threads}",
        f"--data={corpus}",
        f"--steps={steps + 1}",
        f"--log-dir={log}",
        "--seed=1",
    )
    call(*launch, *run, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    lines = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
    return [line["seconds"] for line in lines if "seconds" in line and "loss" in line][1:]


def main() -> int:
    parser = Parser(prog="throughput", description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="small")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--bucket", action="append", default=[], help="instead of the corpus' buckets; repeatable")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--corpus", type=Path, help="a prepared corpus; without it a synthetic one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = arguments.corpus
        if corpus is None:
            corpus = folder / "corpus"
            flags = ("synthetic", f"--out={corpus}", "--utterances=1600", "--seed=1")
            call(sys.executable, "-m", "tts.data", *flags, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        buckets = [f"--bucket={b}" for b in arguments.bucket] or [f"--buckets-from={corpus.resolve()}"]
        compile_sides(folder, corpus.resolve(), arguments.size, arguments.batch, buckets)
        least: dict[str, list[float]] = {}
        for round_ in range(arguments.rounds):
            for side, (ranks, threads) in SIDES.items():
                seconds = train(folder, corpus.resolve(), ranks, threads, arguments.steps)
                least[side] = [min(pair) for pair in zip(least.get(side, seconds), seconds, strict=True)]
            print(f"round {round_ + 1} of {arguments.rounds}", file=sys.stderr)
    total = {side: sum(seconds) for side, seconds in least.items()}
    ours = next(iter(SIDES))
    missed = False
    for side, seconds in total.items():
        line = f"{side:20} {seconds / arguments.steps:8.3f} s/update {arguments.steps * arguments.batch / seconds:8.2f} utterances/s"
        if side in BARS:
            ratio = seconds / total[ours]
            missed |= ratio < BARS[side]
            line += f"   two ranks are {ratio:.3f} times as fast (bar {BARS[side]})"
        print(line)
    return 3 if missed else 0


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
