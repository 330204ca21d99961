"""Pitch and energy per phone: frame values by pyworld and the spectrum, averaged over each phone's frames."""

import numpy as np

from tts.audio.features import Features
from tts.data.segments import Rejected

_F0_FLOOR, _F0_CEIL = 71.0, 500.0


def log_f0(wave: np.ndarray, frames: int, features: Features) -> np.ndarray:
    """Log-F0 at each mel frame's centre, interpolated over unvoiced frames and held at the ends."""
    import pyworld

    period = 1000.0 * features.hop / features.sample_rate
    samples = np.ascontiguousarray(wave, np.float64)
    raw, times = pyworld.dio(samples, features.sample_rate, f0_floor=_F0_FLOOR, f0_ceil=_F0_CEIL, frame_period=period)
    f0 = pyworld.stonemask(samples, raw, times, features.sample_rate)
    voiced = np.flatnonzero(f0 > 0)
    if not voiced.size:
        raise Rejected("no voiced frame: it has no pitch")
    return np.interp(np.arange(frames), voiced, np.log(f0[voiced]))


def phone_means(values: np.ndarray, durations: list[int]) -> np.ndarray:
    starts = np.concatenate([[0], np.cumsum(durations)[:-1]])
    return np.add.reduceat(np.asarray(values, np.float64), starts) / np.asarray(durations)
