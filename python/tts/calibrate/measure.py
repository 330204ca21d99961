"""Compiles a model, runs training steps and tells what each entry took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts.calibrate.batch import full_batch
from tts.calibrate.work import Observed, Work
from tts.data.errors import InputError
from tts.runtime import Session

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
LEAST_STEPS, MOST_STEPS = 3, 40


def call(*command) -> str:
    """Stdout of a command that must succeed."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment)
    except FileNotFoundError:
        raise InputError(command[0], "there is no such program", "build the project, or set TTS_BIN") from None
    if done.returncode:
        words = (done.stderr.strip().splitlines() or ["it failed"])[-1]
        raise InputError(command[0], words.removeprefix("error: "), "run it by hand")
    return done.stdout


@dataclass(frozen=True)
class Run:
    """A model in one bucket, planned one way."""

    model: str
    size: str
    precision: str
    micro_batch: int
    bucket: str
    remat: str = "none"
    updates: int = 1  # micro-batches in an update
    budget: int | None = None  # bytes; without it there is enough

    def __str__(self) -> str:
        return f"{self.model} {self.size} {self.precision} {self.micro_batch} × {self.bucket}"

    def flags(self, threads: int) -> list[str]:
        return [
            f"--memory-budget={self.budget}B" if self.budget else "--memory-budget=1T",
            f"--threads={threads}",
            f"--batch={self.micro_batch * self.updates}",
            f"--micro-batch={self.micro_batch}",
            f"--precision={self.precision}",
            f"--remat={self.remat}",
            f"--bucket={self.bucket}",
        ]

    def source(self, folder: Path) -> Path:
        path = folder / f"{self.model}-{self.size}.mlir"
        if not path.exists():
            call(sys.executable, "-m", f"tts.models.{self.model}", f"--size={self.size}", "-o", path)
        return path


class Compiled:
    """A run's library, loaded, with a batch."""

    def __init__(self, run: Run, folder: Path, threads: int = 1, hardware: str = "host"):
        self.run, self.source = run, run.source(folder)
        self.flags = [*run.flags(threads), f"--hardware={hardware}"]
        name = f"{run.model}-{run.size}-{run.precision}-{run.remat}-{run.micro_batch}-{run.bucket}".replace(",", "-")
        self.stem = folder / name
        library = self.stem.with_suffix(".so")
        call(BIN / "tts-compile", *self.flags, self.source, "-o", library)
        self.plan = json.loads(library.with_suffix(".plan.json").read_text())
        self.clock = time.thread_time if threads == 1 else time.perf_counter
        self.processor = threads == 1
        self.session = Session(library)
        self.session.initialise(1)
        inputs = full_batch(self.session.buckets[0], np.random.default_rng(0))
        self.batches = [(0, inputs)] * run.updates
        self.update = 0
        self.step()  # the library's first call of each product prepares it

    def step(self) -> float:
        """One update; its seconds, the processor's with one thread: a busy machine does not distort them."""
        self.update += 1
        start = self.clock()
        self.session.step(self.batches, 1e-4, self.update, 1)
        return self.clock() - start

    def work(self) -> list[Work]:
        """What its entries do."""
        lowered = self.stem.with_suffix(".memory.mlir")
        tool = BIN / "tts-opt"
        call(tool, *self.flags, "--plan-table=none", "--stop-after=memory", self.source, "-o", lowered)
        lines = call(tool, "--tts-print-work", lowered, "-o", os.devnull).splitlines()
        return [Work.of(line) for line in lines]

    def observe(self, seconds: float) -> list[Observed]:
        """Each entry's least time over steps of so many seconds together.

        The least times of all entries do not come in one step, and a step is more than its entries: they are scaled to
        add up to the shortest whole step.
        """
        least: dict[int, float] = {}
        calls: dict[int, int] = {}
        steps, shortest, start = 0, float("inf"), time.monotonic()
        while steps < LEAST_STEPS or (time.monotonic() - start < seconds and steps < MOST_STEPS):
            with self.session.profile() as profile:
                self.step()
            for timed in profile.timed:
                number, took = timed.entry.number, timed.processor_seconds if self.processor else timed.seconds
                calls[number] = timed.calls
                least[number] = min(least.get(number, float("inf")), took / timed.calls)
            shortest = min(shortest, self.step())
            steps += 1
        scale = shortest / sum(calls[number] * took for number, took in least.items())
        entries = {(e.kind, e.index): e for e in self.session.entries if e.number in least}
        observed = []
        for work in self.work():
            entry = entries.get((work.program, work.index))
            if entry is None:
                continue  # an update that was skipped
            observed.append(Observed(work, scale * least[entry.number], calls[entry.number], shortest))
        return observed

    def close(self) -> None:
        self.session.close()
