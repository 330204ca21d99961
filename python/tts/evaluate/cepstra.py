"""Mel-cepstral distortion: cepstra of mels and of waveforms, their alignment, their distance (recipes in measures.py)."""

import math

import numpy as np

ORDER = 24
FRAME_MS = 5.0
_F0_FLOOR, _F0_CEIL = 71.0, 500.0
_DECIBELS = 10 / math.log(10) * math.sqrt(2)


def of_mel(log_mel: np.ndarray) -> np.ndarray:
    """c_1..c_24 [frames, 24] of natural-log mel magnitudes [frames, bands]."""
    from scipy.fft import dct

    bands = log_mel.shape[1]
    # Orthonormal coefficients are sqrt(bands / 2) times the cosine's amplitude.
    return dct(np.asarray(log_mel, np.float64), type=2, norm="ortho")[:, 1 : ORDER + 1] * math.sqrt(2 / bands)


def of_wave(wave: np.ndarray, rate: int) -> tuple[np.ndarray, np.ndarray]:
    """c_1..c_24 [frames, 24] of the WORLD envelope, and F0 in Hz [frames], 0 where unvoiced."""
    import pyworld

    samples = np.ascontiguousarray(wave, np.float64)
    raw, times = pyworld.dio(samples, rate, f0_floor=_F0_FLOOR, f0_ceil=_F0_CEIL, frame_period=FRAME_MS)
    f0 = pyworld.stonemask(samples, raw, times, rate)
    envelope = pyworld.cheaptrick(samples, f0, times, rate)
    coded = pyworld.code_spectral_envelope(envelope, rate, ORDER + 1)
    # WORLD codes the power spectrum: for ln magnitude a + b cos(i x) it says 2 a and sqrt(2) b.
    return coded[:, 1:] / math.sqrt(2), f0


def align(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The cheapest path [pairs, 2] from the first frames to the last, every frame of both on it."""
    import librosa
    from scipy.spatial.distance import cdist

    _, path = librosa.sequence.dtw(C=cdist(first, second), backtrack=True)
    return path[::-1]


def distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """dB per pair of aligned cepstra."""
    return _DECIBELS * np.linalg.norm(first - second, axis=1)


def distortion(first: np.ndarray, second: np.ndarray, path: np.ndarray) -> tuple[float, int]:
    """The sum of dB along the path and its length."""
    return float(distances(first[path[:, 0]], second[path[:, 1]]).sum()), len(path)
