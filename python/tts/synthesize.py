"""Speaks text with a trained model: phones, the executable's infer program, Griffin-Lim.

python -m tts.synthesize --model=train --weights=run/best --corpus=corpus "Hello world." -o hello.wav
"""

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import math
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tts.audio.features import Features
from tts.audio.sample import log_scale
from tts.data import corpus, shards
from tts.data.errors import InputError, Parser, run_tool
from tts.data.phones import SILENCE, phones_of

# A full stop after one of these ends no sentence.
_TITLES = ("mr", "mrs", "ms", "dr", "st", "prof", "vs", "etc")


class InferFailure(Exception):
    """What the executable said, and its exit code."""

    def __init__(self, code: int, line: str):
        super().__init__(line)
        self.code = code


def sentences_of(text: str) -> list[str]:
    """The text cut behind full stops, question and exclamation marks."""
    found: list[str] = []
    for piece in re.split(r"(?<=[.!?])\s+", text.strip()):
        title = found and re.sub(r"\W", "", found[-1].split()[-1]).lower() in _TITLES
        if title:
            found[-1] += f" {piece}"
        elif piece:
            found.append(piece)
    return found


def ids_of(spoken: list[str], symbols: list[str], place: str) -> np.ndarray:
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    for phone in spoken:
        if phone not in numbers or phone == "<pad>":
            raise InputError(place, f"'{phone}' is no phone of the corpus", f"it has {' '.join(symbols[1:])}")
    return np.array([numbers[phone] for phone in spoken], np.int32)


def request(ids: np.ndarray, duration_scale=1.0, pitch_shift=0.0, energy_shift=0.0) -> dict[str, np.ndarray]:
    """The inputs of infer for one utterance; controls are one number or one per phone."""
    controls = {"duration_scale": duration_scale, "pitch_shift": pitch_shift, "energy_shift": energy_shift}
    told = {name: np.broadcast_to(np.float32(value), ids.shape).copy() for name, value in controls.items()}
    return {"phones": ids, **told}


def weights_flag(weights: Path, ema: bool, folder: Path) -> str:
    """The executable's flag for a weights file, a checkpoint, or the latest checkpoint of a directory."""
    if not weights.exists():
        raise InputError(weights, "missing", "give a checkpoint or a safetensors file of weights")
    if not ema:
        return f"--resume={weights}" if weights.is_dir() else f"--init-from={weights}"
    averages = weights / "ema.safetensors"
    if not averages.exists():
        raise InputError(weights, "no checkpoint with averaged weights", "give one, or leave --ema out")
    # The average has no frozen parameters.
    merged = shards.read(weights / "model.safetensors")[0] | shards.read(averages)[0]
    (folder / "weights.safetensors").write_bytes(shards.encode(merged, {}))
    return f"--init-from={folder / 'weights.safetensors'}"


def infer(
    model: Path, weights: Path, requests: dict[str, dict[str, np.ndarray]], features_hash: str = "", ema: bool = False
) -> dict[str, dict[str, np.ndarray]]:
    """What the executable's infer program makes of each request: mel, wanted_frames, durations, pitch, energy…"""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked, made = folder / "requests.safetensors", folder / "results.safetensors"
        tensors = {f"{key}/{name}": value for key, own in requests.items() for name, value in own.items()}
        asked.write_bytes(shards.encode(tensors, {"features_hash": features_hash} if features_hash else {}))
        command = [model.absolute(), f"--infer={asked}", f"--dump-outputs={made}", weights_flag(weights, ema, folder)]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode:
            line = (done.stderr.strip().splitlines() or [f"error: {model}: ended with {done.returncode}"])[-1]
            raise InferFailure(done.returncode, line.replace(str(asked), "text"))
        results: dict[str, dict[str, np.ndarray]] = {key: {} for key in requests}
        for name, value in shards.read(made)[0].items():
            key, _, output = name.rpartition("/")
            results[key][output] = value
    return results


def mel_of(results: dict[str, dict[str, np.ndarray]]) -> np.ndarray:
    """The mels of all requests, one behind the other; a mel that was cut is refused."""
    for key, told in results.items():
        wanted, there = int(told["wanted_frames"]), len(told["mel"])
        if wanted > there:
            raise InputError(
                f"text: {key}",
                f"it wants {wanted} frames, the largest bucket has {there}",
                "shorten or split it, or raise --speed",
            )
    mel = np.concatenate([told["mel"] for told in results.values()])
    if not len(mel):
        raise InputError("text", "the model predicts no frame for it", "train the model longer")
    if not np.isfinite(mel).all():
        raise InputError("weights", "they give a mel that is not finite", "take a sound checkpoint")
    return mel


def parse() -> argparse.Namespace:
    parser = Parser(prog="tts.synthesize", description=__doc__.splitlines()[0])
    parser.add_argument("text", nargs="?", help="what to say, in English")
    parser.add_argument("--model", "--executable", type=Path, required=True, help="the training executable")
    parser.add_argument("--weights", type=Path, required=True, help="a checkpoint, or a safetensors file of weights")
    parser.add_argument("--corpus", type=Path, required=True, help="the corpus trained on, for its manifest")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the WAV to write")
    parser.add_argument("--phones", help="phones to say instead of a text, separated by spaces")
    parser.add_argument("--ema", action="store_true", help="the checkpoint's averaged weights")
    parser.add_argument("--speed", type=float, default=1.0, help="2 is twice as fast (default 1)")
    parser.add_argument("--pitch", type=float, default=0.0, help="semitones up (default 0)")
    parser.add_argument("--energy", type=float, default=0.0, help="louder by so many standard deviations (default 0)")
    parser.add_argument("--iterations", type=int, default=60, help="of Griffin-Lim (default 60)")
    told = parser.parse_args()
    if (told.text is None) == (told.phones is None):
        parser.error("give a text or --phones, one of them")
    if not (told.speed > 0 and math.isfinite(told.speed)):
        parser.error(f"--speed={told.speed} is not above 0")
    if not (math.isfinite(told.pitch) and math.isfinite(told.energy)):
        parser.error("--pitch and --energy are finite numbers")
    return told


def requests_of(told: argparse.Namespace, manifest: dict) -> dict[str, dict[str, np.ndarray]]:
    if told.phones is not None:
        spoken = [told.phones.split()]
    else:
        spoken = [phones for phones in map(phones_of, sentences_of(told.text)) if phones]
    if not any(set(phones) - {SILENCE} for phones in spoken):
        raise InputError("text", "it has no word to speak", "give some words")
    shift = told.pitch * math.log(2) / 12 / manifest["statistics"]["pitch_std"]
    place = "text" if told.phones is None else "--phones"
    ids = [ids_of(phones, manifest["symbols"], place) for phones in spoken]
    return {f"sentence-{n:04d}": request(own, 1 / told.speed, shift, told.energy) for n, own in enumerate(ids, 1)}


def main() -> int:
    told = parse()
    manifest = corpus.read_manifest(told.corpus)
    features = Features.from_manifest(manifest, told.corpus)
    requests = requests_of(told, manifest)
    try:
        results = infer(told.model, told.weights, requests, manifest.get("features_hash", ""), told.ema)
    except InferFailure as failure:
        print(failure, file=sys.stderr)
        return failure.code if failure.code > 0 else 1
    mel = mel_of(results)
    # The audio libraries take a while to load: after the input is known to be right.
    from tts.audio.vocoder import griffin_lim
    from tts.audio.wave import write_wav

    wave = griffin_lim(log_scale(mel, manifest), features, told.iterations)
    write_wav(told.output, wave, features.sample_rate)
    count = sum(len(own["phones"]) for own in requests.values())
    print(
        f"{told.output}: {len(wave) / features.sample_rate:.2f} s, {count} phones, {len(mel)} frames predicted, Griffin-Lim"
    )
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
