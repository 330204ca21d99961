"""What shards of states cost in time: two ranks with whole states, and with the optimizer's, the gradients', the parameters' in shards.

    .venv/bin/python benchmarks/ranks/shards.py                           # FastSpeech 2 small, batch 64, one bucket
    .venv/bin/python benchmarks/ranks/shards.py --size=base --batch=16 --steps=3

The four programs are trained in turns, --rounds times, as in throughput.py. Printed for each: seconds per update, the ratio to
whole states (1.03 at most is wanted of the optimizer's, and 3 is the exit status above it), the planned peak, and what a rank
sent in an update.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from throughput import BIN, MPIRUN, ROOT, call

from tts.data.errors import Parser, run_tool

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
LEVELS = ("none", "optimizer", "gradients", "parameters")


def train(folder: Path, level: str, steps: int) -> tuple[list[float], dict]:
    """Seconds of each update but the first, and the first rank's figures."""
    log = folder / f"log-{level}"
    run = (folder / level, f"--data={folder / 'corpus'}", f"--steps={steps + 1}", f"--log-dir={log}", "--seed=1")
    call(*MPIRUN, "-n", "2", *run, env={**ENVIRONMENT, "OMP_NUM_THREADS": "1"})
    lines = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
    return [line["seconds"] for line in lines if "seconds" in line and "loss" in line][1:], lines[-1]["ranks"][0]


def main() -> int:
    parser = Parser(prog="shards", description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="small")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--bucket", default="text=32,frames=128")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    least: dict[str, list[float]] = {}
    figures: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, model = folder / "corpus", folder / "model.mlir"
        call(
            sys.executable,
            "-m",
            "tts.data",
            "synthetic",
            f"--out={corpus}",
            "--utterances=1600",
            "--seed=1",
            env=ENVIRONMENT,
        )
        flags = (f"--size={arguments.size}", f"--batch={arguments.batch}", f"--corpus={corpus}", "-o", model)
        call(sys.executable, "-m", "tts.models.fastspeech2", *flags, env=ENVIRONMENT)
        for level in LEVELS:
            flags = ("--memory-budget=16G", "--ranks=2", "--threads=1", f"--bucket={arguments.bucket}")
            call(BIN / "tts-compile", *flags, f"--shard-states={level}", model, "-o", folder / level)
        for round_ in range(arguments.rounds):
            for level in LEVELS:
                seconds, figures[level] = train(folder, level, arguments.steps)
                least[level] = [min(pair) for pair in zip(least.get(level, seconds), seconds, strict=True)]
            print(f"round {round_ + 1} of {arguments.rounds}", file=sys.stderr)
    whole = sum(least["none"])
    for level, seconds in least.items():
        sent = figures[level]["bytes_sent"] / (arguments.steps + 1)
        print(
            f"{level:12} {sum(seconds) / arguments.steps:8.4f} s/update, {sum(seconds) / whole:.3f} of whole states; "
            f"planned peak {figures[level]['planned_peak_bytes']:12}, sent {sent:12.0f} bytes an update"
        )
    return 3 if sum(least["optimizer"]) > 1.03 * whole else 0


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
