"""How much faster one build of the compiler makes the demo's training than another: same corpus, model, updates, turns.

Usage, with a baseline built elsewhere (docs/benchmarks.md):

    .venv/bin/python benchmarks/demo_speed.py --baseline-bin=../spine/build/bin --corpus=demo-out/corpus

Each build compiles the model under the demo's budget; then their `train` run in turns. An update's time is the least of
its repetitions. Prints mel frames a second and exits 1 if the new build is not --bar (2) times as fast.
"""

import json
import os
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from tts.data.corpus import read_manifest
from tts.data.errors import InputError, Parser, run_tool
from tts.models.fastspeech2 import SIZES, fitted, text

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Run:
    """Wall seconds and mel frames of every update, processor seconds of the whole process, where the loss came to."""

    seconds: list[float]
    frames: list[int]
    processor_seconds: float
    last_loss: float


def run(*command):
    command = [str(c) for c in command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise InputError(command[0], f"exit {done.returncode}: {done.stderr.strip()[-500:]}", "see its message")
    return done


class Build:
    """The demo's model by one tts-compile, in a folder of its own."""

    def __init__(self, name: str, tools: Path, model: Path, options):
        self.name, self.options, self.folder = name, options, options.out / name
        self.folder.mkdir(parents=True, exist_ok=True)
        flags = (f"--memory-budget={options.memory_budget}", f"--buckets-from={options.corpus}")
        compiled = run(
            tools / "tts-compile",
            *flags,
            f"--threads={options.threads}",
            model,
            "-o",
            self.folder / "train",
        )
        self.plan = [line for line in compiled.stderr.splitlines() if re.match(r"\s*(bucket|text=)", line)]

    def train(self, updates: int) -> Run:
        metrics = self.folder / "metrics.jsonl"
        metrics.unlink(missing_ok=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(
            self.folder / "train",
            f"--data={self.options.corpus}",
            f"--steps={updates}",
            "--seed=1",
            "--lr=1e-3",
            "--warmup=150",
            "--schedule=constant",
            f"--log-dir={self.folder}",
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows = [json.loads(line) for line in metrics.read_text().splitlines()]
        rows = [row for row in rows if "loss" in row and "step" in row]
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Run([row["seconds"] for row in rows], [row["frames"] for row in rows], processor, rows[-1]["loss"])


def rates(runs: list[Run], starts: list[Run]) -> dict[str, float]:
    """Mel frames a second: by the wall clock, each update at its quickest; by the processor's, less a run of one."""
    wall = sum(min(times) for times in zip(*(r.seconds for r in runs)))
    processor = min(r.processor_seconds for r in runs) - min(r.processor_seconds for r in starts)
    frames = runs[0].frames
    return {"wall": sum(frames) / wall, "cpu": (sum(frames) - frames[0]) / processor}


def parse(arguments):
    parser = Parser(prog="demo_speed.py", description="The demo's training by two builds of the compiler, in turns.")
    parser.add_argument("--baseline-bin", type=Path, required=True, help="folder with the older tts-compile")
    parser.add_argument("--baseline-model", type=Path, help="its model file, where it does not know today's")
    parser.add_argument("--bin", type=Path, default=Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin")))
    parser.add_argument("--corpus", type=Path, default=ROOT / "demo-out" / "corpus")
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory-budget", default="192M")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="which rate gates; cpu if others work")
    parser.add_argument("--bar", type=float, default=2.0)
    parser.add_argument("--out", type=Path, default=Path("demo-speed-out"), help="where programs and metrics go")
    return parser.parse_args(arguments)


def main(arguments=None) -> int:
    options = parse(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    manifest = read_manifest(options.corpus)
    config = fitted(SIZES["small"], manifest, str(options.corpus))
    (options.out / "model.mlir").write_text(text(config, manifest["features_hash"]))
    baseline = options.baseline_model or options.out / "model.mlir"
    builds = [
        Build("baseline", options.baseline_bin, baseline, options),
        Build("new", options.bin, options.out / "model.mlir", options),
    ]
    starts, runs = ({build.name: [] for build in builds} for _ in range(2))
    for turn in range(options.repeat):
        for build in builds:
            starts[build.name].append(build.train(1))
            runs[build.name].append(build.train(options.updates))
            last = runs[build.name][-1]
            print(
                f"turn {turn} {build.name}: {sum(last.seconds):.2f} s, cpu {last.processor_seconds:.2f} s",
                file=sys.stderr,
            )
    told = {build.name: rates(runs[build.name], starts[build.name]) for build in builds}
    for build in builds:
        wall, processor = told[build.name]["wall"], told[build.name]["cpu"]
        print(
            f"{build.name}: {wall:.0f} mel frames a second, {processor:.0f} a processor second, last loss {runs[build.name][-1].last_loss:.6f}"
        )
        print("\n".join(build.plan))
    ratios = {clock: told["new"][clock] / told["baseline"][clock] for clock in ("wall", "cpu")}
    (options.out / "demo_speed.json").write_text(
        json.dumps({"frames_a_second": told, "ratios": ratios}, indent=1) + "\n"
    )
    print(
        f"new / baseline: {ratios['wall']:.2f} by wall, {ratios['cpu']:.2f} by processor seconds (at least {options.bar:g})"
    )
    return int(ratios[options.clock] < options.bar)


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
