"""Compiles models for the tests and drives them update by update, micro-batch by micro-batch."""

import hashlib
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from interpreted import InterpretedSession
from tts.runtime import RuntimeFailure, Session

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))


def tool(name: str) -> Path:
    """A program of the build; without it the test fails."""
    path = TOOLS / name
    if not path.exists():
        pytest.fail(f"no {path}: build first, or set TTS_BIN")
    return path


def compile_model(text: str, folder: Path, micro_batch: int, precision: str) -> Session:
    """The model as a shared library; equal text and flags are compiled once."""
    flags = [f"--micro-batch={micro_batch}", f"--precision={precision}"]
    key = hashlib.sha256("\0".join([text, *flags]).encode()).hexdigest()[:16]
    library = Path(folder) / f"model-{key}.so"
    if not library.exists():
        source = library.with_suffix(".mlir")
        source.write_text(text)
        command = [tool("tts-compile"), "--memory-budget=16G", *flags, source, "-o", library]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 0, f"exit {done.returncode}: {' '.join(map(str, command))}\n{done.stderr[-4000:]}"
    return Session(library)


def interpret(text: str, folder: Path, micro_batch: int) -> InterpretedSession:
    """What Differentiate makes of the model, for NumPy."""
    source = Path(folder) / f"interpreted-{hashlib.sha256(text.encode()).hexdigest()[:16]}.mlir"
    source.write_text(text)
    return InterpretedSession(tool("tts-opt"), source, micro_batch)


class Machine:
    """One model; batches are dictionaries of arrays over utterances, cut here into micro-batches."""

    def __init__(self, session, micro_batch: int):
        self.session, self.micro_batch = session, micro_batch
        assert all(b["micro_batch"] == micro_batch for b in session.buckets)

    def close(self):
        self.session.close()

    def write(self, values: dict):
        for name, value in values.items():
            self.session.write(name, np.asarray(value))

    def read(self, prefix: str = "", names=None) -> dict[str, np.ndarray]:
        names = self.session.trainable if names is None else names
        return {name: self.session.read(prefix + name) for name in names}

    def cut(
        self, batch: dict, bucket: int = 0, padding: float = 0.0, inputs_of: str = "inputs"
    ) -> list[tuple[int, dict]]:
        """Micro-batches in the bucket's shape: zeros where nothing is, or `padding` in float tensors; -1 in empty slots."""
        count, micro = len(next(iter(batch.values()))), []
        for begin in range(0, count, self.micro_batch):
            inputs = {}
            for told in self.session.buckets[bucket][inputs_of]:
                name, shape = told["name"], tuple(told["shape"])
                dtype, _ = self.session.describe(f"input:{name}", bucket)
                whole = np.full(shape, padding if told["dtype"].startswith("F") else 0, dtype)
                if name == "utterance":
                    whole[:] = -1
                    batch.setdefault("utterance", np.arange(count))
                for slot, row in enumerate(batch[name][begin : begin + self.micro_batch]):
                    row = np.asarray(row)
                    whole[(slot, *(slice(0, n) for n in row.shape))] = row
                inputs[name] = whole
            micro.append((bucket, inputs))
        return micro

    def load(self, micro: tuple[int, dict]):
        bucket, inputs = micro
        for name, array in inputs.items():
            self.session.set_input(name, bucket, array)

    def denominators(self, batches) -> dict[str, float]:
        """Summed over the micro-batches of an update."""
        total = dict.fromkeys(self.session.losses, 0.0)
        for micro in batches:
            self.load(micro)
            self.session.run("denominators", micro[0])
            for name in total:
                total[name] += self.session.read(f"denominator:{name}").item()
        return total

    def gradients(self, batches, seed: int = 0, update: int = 1) -> dict[str, float]:
        """Accumulates the gradients of one update; returns the losses."""
        session, told = self.session, {}
        session.set_scalars(seed=seed, update=update)
        total = self.denominators(batches)
        session.set_denominators(total)
        session.run("zero")
        for micro in batches:
            self.load(micro)
            session.run("forward", micro[0])
            for name, denominator in total.items():
                told[name] = told.get(name, 0.0) + session.read(f"loss:{name}").item() / denominator
            session.run("backward", micro[0])
        return told

    def step(self, batches, lr: float, update: int = 1, seed: int = 0, weight_decay: float = 0.0) -> dict:
        """The runtime's own update."""
        return self.session.step(batches, lr=lr, update=update, seed=seed, weight_decay=weight_decay)

    def evaluate(self, micro) -> dict[str, np.ndarray]:
        """Outputs of the evaluation program: no dropout."""
        self.load(micro)
        self.session.run("eval", micro[0])
        return {name: self.session.read(f"output:{name}", micro[0]) for name in self.session.outputs(micro[0])}

    def infer(self, micro) -> dict[str, np.ndarray]:
        """What the program that speaks hands out."""
        self.load(micro)
        self.session.run("infer", micro[0])
        names = self.session.outputs(micro[0], program="infer")
        return {name: self.session.read(f"infer:{name}", micro[0]) for name in names}


def relative_error(found: np.ndarray, expected: np.ndarray, scale: float = 0.0) -> float:
    """|found - expected| over max(|expected|, scale), in norms."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert found.shape == expected.shape
    error = float(np.linalg.norm(found - expected))
    return error / max(float(np.linalg.norm(expected)), scale, 1e-300)


def global_error(found: dict, expected: dict) -> float:
    """The norm of all differences over the norm of all gradients."""
    square = lambda arrays: sum(float(np.sum(np.square(a, dtype=np.float64))) for a in arrays)  # noqa: E731
    return np.sqrt(square(found[n] - expected[n] for n in expected) / square(expected.values()))


def worst_error(found: dict, expected: dict, floor: float) -> tuple[float, str]:
    """The largest relative error of any tensor, whose norm counts for at least floor · the norm of all."""
    whole = np.sqrt(sum(float(np.sum(np.square(np.asarray(e, np.float64)))) for e in expected.values()))
    assert set(found) == set(expected)
    return max((relative_error(found[n], expected[n], floor * whole), n) for n in expected)


__all__ = ["Machine", "RuntimeFailure", "compile_model", "global_error", "relative_error", "tool", "worst_error"]
