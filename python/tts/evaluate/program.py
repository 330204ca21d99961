"""Runs a compiled executable on the validation or test split: its losses, what eval hands out, and what infer speaks."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts import synthesize
from tts.audio.features import Features
from tts.data import shards
from tts.data.errors import InputError
from tts.evaluate import sounds

_USAGE = 2  # the flag is unknown to an older executable, or not for a model without the program


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
    outputs: dict[str, dict[str, np.ndarray]]  # of eval, by utterance, by output, without padding
    spoken: dict[str, np.ndarray]  # mels of infer, from phones alone
    mute: str  # why some or all of these are missing


def _step(weights: Path) -> int | None:
    """The update that the weights are of; None for a file, which does not say."""
    if not weights.is_dir():
        return None
    if not (weights / "state.json").exists():
        raise InputError(
            weights, "not a checkpoint: it has no state.json", "give one of its step-… directories, or best"
        )
    return json.loads((weights / "state.json").read_text())["step"]


def evaluate(
    executable: Path,
    weights: Path,
    averaged: bool,
    corpus: Path,
    phones: dict[str, np.ndarray],
    features: Features,
    split: str = "validation",
) -> Evaluated:
    """Twice through the split, for `train` tells losses or outputs and not both; then it speaks the phones."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [executable.absolute(), synthesize.weights_flag(weights.absolute(), averaged, folder)]
        step = _step(weights)
        validate = [*command, f"--data={corpus.absolute()}", "--evaluate"]
        validate += [f"--split={split}"] if split != "validation" else []
        _run([*validate, f"--log-dir={folder}"])
        outputs = _results(validate, folder / "outputs.safetensors", weights)
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        spoken, mute = _speak(command, folder, weights, phones, features)
    told = next(line for line in lines if "val_loss" in line)
    return Evaluated(step, told["val_loss"], told["val_losses"], outputs, spoken, mute)


def _speak(
    command: list, folder: Path, weights: Path, phones: dict[str, np.ndarray], features: Features
) -> tuple[dict[str, np.ndarray], str]:
    """Mels of the infer program with neutral controls, and why some or all are missing."""
    tensors = {f"{key}/{name}": value for key, ids in phones.items() for name, value in synthesize.request(ids).items()}
    requests = folder / "requests.safetensors"
    requests.write_bytes(shards.encode(tensors, {"features_hash": features.hash()}))
    try:
        results = _results([*command, f"--infer={requests}"], folder / "spoken.safetensors", weights)
    except Refused as refused:
        if refused.code == _USAGE:
            return {}, "the executable has no infer program"
        raise
    spoken = {key: told["mel"] for key, told in results.items()}
    cut = [key for key, told in results.items() if int(told["wanted_frames"]) > len(told["mel"])]
    short = [key for key, mel in spoken.items() if len(mel) < sounds.shortest(features)]
    reasons = [f"longer than the largest bucket and cut there: {', '.join(cut)}"] if cut else []
    reasons += [f"too few frames predicted to be a sound: {', '.join(short)}"] if short else []
    return spoken, "; ".join(reasons)


def _results(command: list, path: Path, weights: Path) -> dict[str, dict[str, np.ndarray]]:
    """What a run leaves in `path`, by utterance and output."""
    _run([*command, f"--dump-outputs={path}"])
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, tensor in shards.read(path)[0].items():
        identity, _, output = name.rpartition("/")
        found.setdefault(identity, {})[output] = _finite(tensor, f"output {output} of {identity}", weights)
    return found


def _finite(tensor: np.ndarray, what: str, weights: Path) -> np.ndarray:
    if not np.isfinite(tensor).all():
        raise InputError(weights, f"{what} is not finite", "take a sound checkpoint")
    return tensor


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
