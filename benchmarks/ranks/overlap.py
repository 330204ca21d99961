"""How much of the gradients' sum is hidden behind backward, on a link of 1 Gbit/s between two network namespaces.

    .venv/bin/python benchmarks/ranks/overlap.py                                # as root; the DiT twin
    .venv/bin/python benchmarks/ranks/overlap.py --rate=200mbit --batch=8

Two ranks of one thread, each in a namespace of its own, joined by a pair of virtual cards whose traffic a token bucket (tc, tbf)
limits. The same program is trained in turns, --rounds times: over the link as it is, over the link with sums made when backward
has ended (TTS_EARLY_SUMS=0), and over an unlimited link. A side's time is the sum over updates of each one's least seconds. What
the sum costs when nothing hides it is the second less the third; hidden is what of it the first does not pay. At least 80 %
is wanted; 3 is the exit status below it. Only the last backward of an update can hide anything, so a rank's share is one micro-batch. Not
with a real-time priority, by which the thread that sums would wait for the one that computes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from links import BIN, URGENT, call, launcher, limit, namespaces, read_metrics

from tts.data.errors import Parser, run_tool


def train(folder: Path, steps: int, early: bool) -> list[float]:
    """Seconds of each update but the first."""
    log = folder / "log"
    run = [folder / "train", f"--data={folder / 'corpus'}", f"--steps={steps + 1}", f"--log-dir={log}", "--seed=1"]
    call(*launcher(folder, 2, TTS_EARLY_SUMS=int(early)), *URGENT, *run, timeout=600)
    return read_metrics(log)[0]


def main() -> int:
    parser = Parser(prog="overlap", description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="dit", help="a module of tts.models")
    parser.add_argument("--size", default="small")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--bucket", default="text=24,frames=96", help="one, as large as the corpus' utterances")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", default="1gbit")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, namespaces(2):
        folder = Path(name)
        corpus, model = folder / "corpus", folder / "model.mlir"
        call(sys.executable, "-m", "tts.data", "synthetic", f"--out={corpus}", "--utterances=1600", "--seed=1")
        flags = (f"--size={arguments.size}", f"--batch={arguments.batch}", f"--corpus={corpus}", "-o", model)
        call(sys.executable, "-m", f"tts.models.{arguments.model}", *flags)
        flags = ("--memory-budget=16G", "--ranks=2", "--threads=1", f"--bucket={arguments.bucket}")
        flags += (f"--micro-batch={arguments.batch // 2}",)
        call(BIN / "tts-compile", *flags, model, "-o", folder / "train")
        sides = {"early": (arguments.rate, True), "late": (arguments.rate, False), "unlimited": (None, False)}
        least: dict[str, list[float]] = {}
        for round_ in range(arguments.rounds):
            for side, (rate, early) in sides.items():
                limit(2, rate)
                seconds = train(folder, arguments.steps, early)
                least[side] = [min(pair) for pair in zip(least.get(side, seconds), seconds, strict=True)]
            print(f"round {round_ + 1} of {arguments.rounds}", file=sys.stderr)
    total = {side: sum(seconds) / arguments.steps for side, seconds in least.items()}
    cost = total["late"] - total["unlimited"]
    hidden = (total["late"] - total["early"]) / cost
    print(
        f"sums behind backward {total['early']:.4f} s/update, after it {total['late']:.4f}, no limit {total['unlimited']:.4f}"
    )
    print(f"the sum costs {cost:.4f} s over {arguments.rate}; {100 * hidden:.1f} % of it is hidden (bar 80 %)")
    return 0 if hidden >= 0.8 else 3


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
