"""A random corpus in the corpus format: lengths and phones drawn, mels a smooth function of them, so a model can learn it."""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts.audio.features import Features
from tts.data import corpus, duplicates, phones
from tts.data.errors import InputError

_VALIDATION = 0.1
_SMOOTH = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 9.0


@dataclass(frozen=True)
class Range:
    low: int
    high: int

    @staticmethod
    def parse(option: str, text: str) -> "Range":
        match = re.fullmatch(r"(\d+)-(\d+)", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(option, f"'{text}' is not MIN-MAX with 1 <= MIN <= MAX", "write for example 8-24")
        return Range(int(match[1]), int(match[2]))


def run(arguments: argparse.Namespace) -> None:
    text, frames = Range.parse("--text", arguments.text), Range.parse("--frames", arguments.frames)
    manifest = synthesize(
        arguments.out, arguments.utterances, arguments.seed, text, frames, arguments.mels, arguments.test
    )
    counts = ", ".join(f"{name} {split['utterances']}" for name, split in manifest["splits"].items())
    print(f"{arguments.out}: {counts} utterances")


def synthesize(
    out: Path, utterances: int, seed: int, text: Range, frames: Range, mels: int = 80, test: float = 0.0
) -> dict:
    if text.high > frames.high:
        raise InputError("--text", f"up to {text.high} phones do not fit {frames.high} frames", "raise --frames")
    if utterances < 2:
        raise InputError("--utterances", "one utterance cannot be split", "give at least 2")
    features = Features(n_mels=mels)
    made = [_utterance(seed, number, text, frames, mels) for number in range(utterances)]
    # At least one for validation, and never all.
    share = max(_VALIDATION, 1 / utterances)
    chosen = duplicates.split([u.id for u in made], [], share)
    left = [u.id for u in made if u.id not in chosen]
    tested = duplicates.split(left, [], test * utterances / len(left))
    splits = {
        "train": [u for u in made if u.id not in chosen | tested],
        "validation": [u for u in made if u.id in chosen],
    }
    if test:
        splits["test"] = [u for u in made if u.id in tested]
    return corpus.write(out, features, list(phones.SYMBOLS), splits, {"source": {"name": "synthetic", "seed": seed}})


def _utterance(seed: int, number: int, text: Range, frames: Range, mels: int) -> corpus.Utterance:
    draw = np.random.Generator(np.random.PCG64([seed, number]))
    length = int(draw.integers(text.low, text.high + 1))
    total = int(draw.integers(max(frames.low, length), frames.high + 1))
    spoken = draw.integers(1, len(phones.SYMBOLS), length)
    durations = 1 + draw.multinomial(total - length, np.full(length, 1 / length))
    pitch = 5.2 + 0.3 * np.sin(1.7 * spoken) + 0.1 * draw.standard_normal(length)
    energy = 20 + 8 * np.cos(2.3 * spoken) + 2 * draw.standard_normal(length)
    mel = _mel(np.repeat(spoken, durations), np.repeat(pitch, durations), np.repeat(energy, durations), mels)
    return corpus.Utterance(
        id=f"synthetic-{number:06d}",
        phones=spoken.astype(np.int32),
        durations=durations.astype(np.int32),
        pitch=pitch,
        energy=energy,
        mel=mel,
    )


def _mel(spoken: np.ndarray, pitch: np.ndarray, energy: np.ndarray, mels: int) -> np.ndarray:
    """Two formant-like waves over the bands set by the phone, lifted by energy, ripples spaced by pitch, blurred over time."""
    band = np.arange(mels) / mels
    shape = np.sin(6.0 * band + 1.3 * spoken[:, None]) + np.cos(11.0 * band - 0.7 * spoken[:, None])
    ripple = 0.3 * np.sin(pitch[:, None] * 8.0 * band)
    mel = -5.0 + 1.5 * shape + ripple + 0.05 * (energy[:, None] - 20)
    padded = np.pad(mel, ((2, 2), (0, 0)), mode="edge")
    smooth = sum(weight * padded[i : i + len(mel)] for i, weight in enumerate(_SMOOTH))
    return smooth.astype(np.float32)
