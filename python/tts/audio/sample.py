"""Turns a mel spectrogram in a safetensors file into a WAV by Griffin-Lim.

python -m tts.audio.sample --mel=FILE.safetensors --manifest=corpus/manifest.json -o sample.wav
"""

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path

import numpy as np

from tts.audio.features import Features
from tts.data import corpus, shards
from tts.data.errors import InputError, Parser, run_tool


def read_mel(path: Path, name: str, n_mels: int, frames: int | None) -> np.ndarray:
    """The tensor [frames, n_mels]; leading dimensions of size one are dropped, `frames` cuts padding off."""
    tensors, _ = shards.read(path)
    if name not in tensors:
        raise InputError(
            path, f"no tensor {name}", f"it holds {', '.join(sorted(tensors)[:8]) or 'none'}: choose with --tensor"
        )
    mel = tensors[name]
    while mel.ndim > 2 and mel.shape[0] == 1:
        mel = mel[0]
    if mel.ndim != 2 or mel.shape[1] != n_mels or not mel.shape[0]:
        raise InputError(
            path, f"{name} is {list(mel.shape)}, not [frames, {n_mels}]", "give one utterance of this corpus"
        )
    if not np.isfinite(mel).all():
        raise InputError(path, f"{name} has a value that is not finite", "take a sound checkpoint")
    if frames is not None and not 0 < frames <= len(mel):
        raise InputError("--frames", f"{frames} of {len(mel)} frames", "give at most the tensor's frames")
    return mel[:frames]


def log_scale(mel: np.ndarray, manifest: dict) -> np.ndarray:
    """Undoes the corpus's standardisation: stored mel = (log mel - mel_mean) / mel_std."""
    statistics = manifest["statistics"]
    return np.asarray(mel, np.float64) * statistics["mel_std"] + statistics["mel_mean"]


def main() -> int:
    parser = Parser(prog="tts.audio.sample", description=__doc__.splitlines()[0])
    parser.add_argument("--mel", type=Path, required=True, help="a safetensors file")
    parser.add_argument("--manifest", type=Path, required=True, help="manifest.json of the corpus trained on")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the WAV to write")
    parser.add_argument("--tensor", default="mel", help="name of the tensor [frames, mels] (default mel)")
    parser.add_argument("--scale", choices=["standardised", "log"], default="standardised", help="of its values")
    parser.add_argument("--frames", type=int, help="use only the first so many: the rest is padding")
    parser.add_argument("--iterations", type=int, default=60, help="of Griffin-Lim (default 60)")
    arguments = parser.parse_args()
    manifest = corpus.read_manifest(arguments.manifest)
    features = Features.from_manifest(manifest, arguments.manifest)
    mel = read_mel(arguments.mel, arguments.tensor, features.n_mels, arguments.frames)
    if arguments.scale == "standardised":
        mel = log_scale(mel, manifest)
    # The audio libraries take a while to load: after the input is known to be right.
    from tts.audio.vocoder import griffin_lim
    from tts.audio.wave import write_wav

    wave = griffin_lim(mel, features, arguments.iterations)
    write_wav(arguments.output, wave, features.sample_rate)
    print(
        f"{arguments.output}: {len(wave) / features.sample_rate:.2f} s, Griffin-Lim, {arguments.iterations} iterations"
    )
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
