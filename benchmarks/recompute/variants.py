"""FastSpeech 2 in one shape, compiled by several plans; each plan's steps are timed in this process."""

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


def told(*command) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {command[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout


def add_shape(parser, rounds: int):
    """The arguments that every benchmark of recomputing takes."""
    parser.add_argument("--out", type=Path, default=Path("recompute-out"))
    parser.add_argument("--size", default="base", choices=SIZES)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--phones", type=int, default=96)
    parser.add_argument("--frames", type=int, default=576)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--plot", type=Path)


class Setting:
    """Model and batch of the shape asked for, written to its folder."""

    def __init__(self, o):
        self.folder, self.config = o.out, SIZES[o.size]
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "model.mlir").write_text(re.sub(r"tts\.ema_decay = [^,]+, ", "", text(self.config)))
        (self.folder / "config.json").write_text(json.dumps(asdict(self.config)))
        write_batch(self.folder / "batch.npz", self.config, o.batch, o.phones, o.frames)
        with np.load(self.folder / "batch.npz") as arrays:
            self.batch = {name: arrays[name] for name in arrays.files} | {"utterance": np.arange(o.batch)}
        self.flags = [
            f"--batch={o.batch}",
            f"--micro-batch={o.batch}",
            f"--bucket=text={o.phones},frames={o.frames}",
            "--threads=1",
        ]
        self.words = f"FastSpeech 2 {o.size}, batch {o.batch}, {o.phones} phones, {o.frames} frames, one thread"


class Variant:
    """One compiled plan: `entries` and `step` are the least seconds so far."""

    def __init__(self, name: str, setting: Setting, *flags):
        self.name, library = name, setting.folder / f"{name}.so"
        told(TOOLS / "tts-compile", *setting.flags, *flags, setting.folder / "model.mlir", "-o", library)
        self.plan = json.loads(library.with_suffix(".plan.json").read_text())
        self.session = Session(library)
        self.session.initialise(1)
        self.entries: dict[int, float] = {}
        self.step = float("inf")

    @property
    def activations(self) -> int:
        return self.plan["classes"]["activations"] + self.plan["classes"]["workspace"]

    @property
    def seconds(self) -> float:
        return sum(self.entries.values())

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
