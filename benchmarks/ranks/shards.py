"""What shards of states cost in time: two ranks with whole states, and with the optimizer's, the gradients', the parameters' in shards.

    .venv/bin/python benchmarks/ranks/shards.py                           # FastSpeech 2 small, batch 64, one bucket
    .venv/bin/python benchmarks/ranks/shards.py --size=base --batch=16 --steps=3
    .venv/bin/python benchmarks/ranks/shards.py --rate=1gbit --levels=none,parameters      # as root, over a link (links.py)

The programs are trained in turns, --rounds times, as in throughput.py; those that exchange while they compute also with that
switched off (TTS_PREFETCH=0). Printed for each: seconds per update, the ratio to whole states (1.03 at most is wanted of the
optimizer's on one machine, and 3 is the exit status above it), the planned peak, and what a rank sent in an update.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from pathlib import Path

from links import BIN, URGENT, call, launcher, limit, namespaces, read_metrics
from throughput import MPIRUN

from tts.data.errors import Parser, run_tool

LEVELS = ("none", "optimizer", "gradients", "parameters")


def train(folder: Path, side: str, level: str, arguments: argparse.Namespace) -> tuple[list[float], dict]:
    """Seconds of each update but the first, and the first rank's figures."""
    log = folder / f"log-{level}"
    ahead = int(side == level)
    launch = (
        launcher(folder, 2, TTS_PREFETCH=ahead)
        if arguments.rate
        else [*MPIRUN, "-n", "2", "-x", f"TTS_PREFETCH={ahead}"]
    )
    steps = (f"--steps={arguments.steps + 1}", f"--log-dir={log}", "--seed=1")
    call(*launch, *URGENT, folder / level, f"--data={folder / 'corpus'}", *steps, timeout=900)
    seconds, last = read_metrics(log)
    return seconds, last["ranks"][0]


def compile_levels(folder: Path, arguments: argparse.Namespace) -> dict[str, str]:
    """One executable per level; returns the sides with the level of each."""
    sides = {}
    flags = ("--memory-budget=16G", "--ranks=2", "--threads=1", f"--bucket={arguments.bucket}")
    for level in arguments.levels.split(","):
        call(BIN / "tts-compile", *flags, f"--shard-states={level}", folder / "model.mlir", "-o", folder / level)
        sides[level] = level
        if json.loads((folder / f"{level}.plan.json").read_text()).get("prefetch"):
            sides[f"{level}, waiting"] = level
    return sides


def main() -> int:
    parser = Parser(prog="shards", description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="small")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--bucket", default="text=32,frames=128")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--levels", default=",".join(LEVELS), help="of them, none first")
    parser.add_argument("--rate", help="of a link between two namespaces, as tc says it; without it one machine")
    arguments = parser.parse_args()
    least: dict[str, list[float]] = {}
    figures: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        corpus, model = folder / "corpus", folder / "model.mlir"
        call(sys.executable, "-m", "tts.data", "synthetic", f"--out={corpus}", "--utterances=1600", "--seed=1")
        flags = (f"--size={arguments.size}", f"--batch={arguments.batch}", f"--corpus={corpus}", "-o", model)
        call(sys.executable, "-m", "tts.models.fastspeech2", *flags)
        sides = compile_levels(folder, arguments)
        if arguments.rate:
            stack.enter_context(namespaces(2))
            limit(2, arguments.rate)
        for round_ in range(arguments.rounds):
            for side, level in sides.items():
                seconds, figures[side] = train(folder, side, level, arguments)
                least[side] = [min(pair) for pair in zip(least.get(side, seconds), seconds, strict=True)]
            print(f"round {round_ + 1} of {arguments.rounds}", file=sys.stderr)
    whole = sum(least["none"])
    for side, seconds in least.items():
        sent = figures[side]["bytes_sent"] / (arguments.steps + 1)
        print(
            f"{side:20} {sum(seconds) / arguments.steps:8.4f} s/update, {sum(seconds) / whole:.3f} of whole states; "
            f"planned peak {figures[side]['planned_peak_bytes']:12}, sent {sent:12.0f} bytes an update"
        )
    return 3 if not arguments.rate and sum(least.get("optimizer", [])) > 1.03 * whole else 0


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
