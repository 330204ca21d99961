"""The log-mel features: every parameter that changes a number, their hash, and the transform itself."""

import hashlib
import json
from dataclasses import asdict, dataclass

import numpy as np

from tts.data.errors import InputError

FRAMING = (
    "centred: reflect padding of n_fft / 2 at both ends, frames = 1 + samples // hop, frame i centred at sample i * hop"
)


@dataclass(frozen=True)
class Features:
    sample_rate: int = 16000
    n_fft: int = 1024
    hop: int = 256
    win: int = 1024
    window: str = "hann"
    n_mels: int = 80
    fmin: int = 0
    fmax: int = 8000
    mel: str = "slaney"
    mel_norm: str = "slaney"
    spectrum: str = "magnitude"
    framing: str = FRAMING
    log: str = "log(clamp 1e-5)"

    def describe(self) -> dict:
        return asdict(self)

    def hash(self) -> str:
        canonical = json.dumps(self.describe(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    @staticmethod
    def from_manifest(manifest: dict, place: object = "manifest.json") -> "Features":
        """The manifest's features, refused where this code would compute other numbers for them."""
        features = Features(**{k: v for k, v in manifest.get("features", {}).items() if k in Features().describe()})
        if features.describe() != manifest.get("features"):
            raise InputError(place, "its features have fields this version does not know", "prepare the corpus again")
        if features.hash() != manifest.get("features_hash"):
            raise InputError(place, "features_hash does not match its features", "prepare the corpus again")
        fixed = ("window", "mel", "mel_norm", "spectrum", "framing", "log")
        for name in fixed:
            if getattr(features, name) != getattr(Features(), name):
                raise InputError(place, f"features.{name} is not the one computed here", "prepare the corpus again")
        return features


def magnitude(wave: np.ndarray, features: Features) -> np.ndarray:
    """The magnitude spectrogram [1 + n_fft / 2, frames]."""
    import librosa

    spectrum = librosa.stft(
        np.asarray(wave, np.float32),
        n_fft=features.n_fft,
        hop_length=features.hop,
        win_length=features.win,
        window=features.window,
        center=True,
        pad_mode="reflect",
    )
    return np.abs(spectrum)


def mel_basis(features: Features) -> np.ndarray:
    import librosa

    return librosa.filters.mel(
        sr=features.sample_rate,
        n_fft=features.n_fft,
        n_mels=features.n_mels,
        fmin=features.fmin,
        fmax=features.fmax,
        htk=False,
        norm="slaney",
    )


def log_mel_of(spectrum: np.ndarray, features: Features) -> np.ndarray:
    mel = mel_basis(features) @ spectrum
    return np.ascontiguousarray(np.log(np.maximum(mel, 1e-5)).T, np.float32)


def log_mel(wave: np.ndarray, features: Features | None = None) -> np.ndarray:
    """The log-mel spectrogram [frames, n_mels] of a waveform in [-1, 1]; not standardised."""
    features = features or Features()
    return log_mel_of(magnitude(wave, features), features)
