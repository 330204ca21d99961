"""What recomputing costs: FastSpeech 2 at falling budgets, all compiled plans measured in turns in one run.

Usage, after the build: .venv/bin/python benchmarks/recompute/run.py [--out DIR] [--rounds N] [--plot FILE.png]

Activations are given as parts of what PyTorch 1.13 eager saves for backward on the same model and batch. Time is measured twice: the
sum over entries of each entry's shortest run, and the shortest whole step; both relative to the plan that recomputes nothing.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import numpy as np

from run import write_batch
from tts.models.fastspeech2 import SIZES, text
from tts.runtime import Session

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
#: Part of what eager saves → most added time, in per cent.
BARS = {0.5: 2.5, 0.4: 5.0, 0.3: 10.0}


def told(*command) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {command[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout


class Variant:
    """One compiled plan."""

    def __init__(self, name: str, folder: Path, flags: list[str]):
        self.name, library = name, folder / f"{name}.so"
        told(TOOLS / "tts-compile", *flags, folder / "model.mlir", "-o", library)
        self.plan = json.loads(library.with_suffix(".plan.json").read_text())
        self.session = Session(library)
        self.session.initialise(1)
        self.entries: dict[int, float] = {}
        self.step = float("inf")

    @property
    def activations(self) -> int:
        return self.plan["classes"]["activations"] + self.plan["classes"]["workspace"]

    def run(self, batch, update: int):
        inputs = {}
        for entry in self.session.buckets[0]["inputs"]:
            dtype, shape = self.session.describe(f"input:{entry['name']}")
            inputs[entry["name"]] = batch[entry["name"]].astype(dtype).reshape(shape)
        with self.session.profile() as profile:
            self.session.step([(0, inputs)], 1e-4, update, 1)
        for index, timed in enumerate(profile.timed):
            self.entries[index] = min(self.entries.get(index, float("inf")), timed.seconds)
        self.step = min(self.step, profile.seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("recompute-out"))
    parser.add_argument("--size", default="base", choices=SIZES)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--phones", type=int, default=96)
    parser.add_argument("--frames", type=int, default=576)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--plot", type=Path)
    o = parser.parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    config = SIZES[o.size]
    (o.out / "model.mlir").write_text(re.sub(r"tts\.ema_decay = [^,]+, ", "", text(config)))
    (o.out / "config.json").write_text(json.dumps(asdict(config)))
    write_batch(o.out / "batch.npz", config, o.batch, o.phones, o.frames)
    eager = int(told(sys.executable, HERE / "saved.py", o.out / "config.json", o.out / "batch.npz"))

    shape = [
        f"--batch={o.batch}",
        f"--micro-batch={o.batch}",
        f"--bucket=text={o.phones},frames={o.frames}",
        "--threads=1",
    ]
    none = Variant("none", o.out, [*shape, "--memory-budget=20G", "--remat=none"])
    fixed = none.plan["peak_bytes"] - none.activations
    variants = [none]
    for part in (0.6, *BARS, 0.25, 0.2):
        budget = int(fixed + part * eager)
        if budget < none.plan["peak_bytes"]:
            variants.append(Variant(f"{part:.2f}", o.out, [*shape, f"--memory-budget={budget}"]))

    with np.load(o.out / "batch.npz") as arrays:
        batch = {name: arrays[name] for name in arrays.files} | {"utterance": np.arange(o.batch)}
    for turn in range(o.rounds):
        for variant in variants:
            variant.run(batch, turn + 1)
            print(f"round {turn + 1} of {o.rounds}, {variant.name}: {variant.step:.3f} s", file=sys.stderr)

    base = sum(none.entries.values())
    shape = f"batch {o.batch}, {o.phones} phones, {o.frames} frames"
    print(f"FastSpeech 2 {o.size}, {shape}, one thread; eager saves {eager / 1e6:.0f} MB")
    print(f"{'plan':>6} {'bytes':>9} {'of eager':>9} {'predicted':>10} {'entries':>9} {'step':>9}  bar")
    rows, missed = [], False
    for v in variants:
        part = v.activations / eager
        predicted = v.plan["predicted_step_seconds"] / none.plan["predicted_step_seconds"] - 1
        entries, step = sum(v.entries.values()) / base - 1, v.step / none.step - 1
        rows.append((part, predicted, entries, step))
        bar = next((limit for of, limit in BARS.items() if v.name == f"{of:.2f}"), None)
        missed |= bar is not None and 100 * entries > bar
        words = "" if bar is None else f"at most +{bar} %: {'holds' if 100 * entries <= bar else 'missed'}"
        figures = "".join(f" {100 * x:>+8.1f} %" for x in (predicted, entries, step))
        print(f"{v.name:>6} {v.activations / 1e6:>6.0f} MB {100 * part:>7.0f} %{figures}  {words}")
    if o.plot:
        draw(o.plot, rows)
    return int(missed)


def draw(path: Path, rows):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    parts = [100 * row[0] for row in rows]
    for column, label in ((1, "predicted"), (2, "entries' minima"), (3, "whole step")):
        axes.plot(parts, [100 * row[column] for row in rows], "o-", label=label)
    axes.plot([100 * of for of in BARS], list(BARS.values()), "kx", label="bar")
    axes.set_xlabel("bytes kept, % of what eager saves")
    axes.set_ylabel("added time, %")
    axes.invert_xaxis()
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
