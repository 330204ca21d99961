"""Mono 16-bit WAV files."""

import os
import wave as riff
from pathlib import Path

import numpy as np

from tts.data.errors import InputError


def write_wav(path: Path | str, samples: np.ndarray, rate: int) -> None:
    """Written beside and renamed: never half there."""
    path = Path(path)
    pcm = np.clip(np.rint(np.asarray(samples, np.float64) * 32767), -32768, 32767).astype("<i2")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(temporary, "wb") as raw:
        with riff.open(raw, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(pcm.tobytes())
    temporary.replace(path)


def read_wav(path: Path | str) -> tuple[np.ndarray, int]:
    try:
        with riff.open(str(path), "rb") as file:
            if (file.getnchannels(), file.getsampwidth()) != (1, 2):
                raise InputError(path, "not mono 16-bit PCM", "convert it first")
            rate, data = file.getframerate(), file.readframes(file.getnframes())
    except (riff.Error, EOFError) as error:
        raise InputError(path, f"not a WAV file ({error})", "give a WAV file") from error
    return np.frombuffer(data, "<i2").astype(np.float32) / 32768, rate
