"""Runs a compiled executable on the validation split: its losses, and what eval hands out per utterance."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts.data import shards
from tts.data.errors import InputError


class Refused(Exception):
    """The executable's own line and exit code."""

    def __init__(self, line: str, code: int):
        super().__init__(line)
        self.code = code


@dataclass(frozen=True)
class Evaluated:
    step: int | None
    loss: float
    losses: dict[str, float]
    outputs: dict[str, dict[str, np.ndarray]]  # by utterance, by output, without padding


def _weights_flag(weights: Path, averaged: bool, folder: Path) -> tuple[str, int | None]:
    """How `train` is told of the weights, and the update they are of; `folder` is for a file that joins two."""
    if weights.is_file() and not averaged:
        return f"--init-from={weights.absolute()}", None
    if not weights.exists():
        raise InputError(weights, "missing", "give a checkpoint's directory or a safetensors file")
    if not (weights / "state.json").exists():
        raise InputError(
            weights, "not a checkpoint: it has no state.json", "give one of its step-… directories, or best"
        )
    step = json.loads((weights / "state.json").read_text())["step"]
    if not averaged:
        return f"--resume={weights.absolute()}", step
    # The average has only what is trained; frozen parameters are the model's.
    tensors, metadata = shards.read(weights / "model.safetensors")
    tensors |= shards.read(weights / "ema.safetensors")[0]
    joined = folder / "averaged.safetensors"
    joined.write_bytes(shards.encode(tensors, metadata))
    return f"--init-from={joined}", step


def evaluate(executable: Path, weights: Path, averaged: bool, corpus: Path) -> Evaluated:
    """Twice through the split: `train` tells losses or outputs, not both."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flag, step = _weights_flag(weights, averaged, folder)
        command = [executable.absolute(), f"--data={corpus.absolute()}", "--evaluate", flag]
        _run([*command, f"--log-dir={folder}"])
        _run([*command, f"--dump-outputs={folder / 'outputs.safetensors'}"])
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        tensors, _ = shards.read(folder / "outputs.safetensors")
    told = next(line for line in lines if "val_loss" in line)
    outputs: dict[str, dict[str, np.ndarray]] = {}
    for path, tensor in tensors.items():
        identity, _, output = path.rpartition("/")
        outputs.setdefault(identity, {})[output] = tensor
        if not np.isfinite(tensor).all():
            raise InputError(weights, f"output {output} of {identity} is not finite", "take a sound checkpoint")
    return Evaluated(step, told["val_loss"], told["val_losses"], outputs)


def _run(command: list) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(
            command[0], error.strerror or "cannot be run", "give what tts-compile made for this machine"
        ) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"error: {command[0]}: died without a word; run it by hand"]
        raise Refused(lines[-1], abs(done.returncode))
