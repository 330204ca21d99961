"""Errors of duration, pitch and energy per phone, of F0 and voicing per frame, as sums (recipes in measures.py)."""

import numpy as np

from tts.audio.features import Features
from tts.evaluate.measures import Sums


def durations_of(log_durations: np.ndarray) -> np.ndarray:
    """Frames: the model predicts ln(1 + duration)."""
    return np.maximum(np.expm1(np.asarray(log_durations, np.float64)), 0)


def phone_errors(
    predicted: dict[str, np.ndarray], recorded: dict[str, np.ndarray], statistics: dict, features: Features
) -> Sums:
    """Of what the model predicts per phone; a model without a predictor has none of its measures."""
    sums: Sums = {}
    if "log_durations" in predicted:
        told, true = durations_of(predicted["log_durations"]), recorded["durations"].astype(np.float64)
        error, phones = float(np.abs(told - true).sum()), len(true)
        sums["duration.frames"] = error, phones
        sums["duration.ms"] = error * 1000 * features.hop / features.sample_rate, phones
        sums["duration.total"] = abs(float(told.sum() - true.sum())), int(true.sum())
    for name, unit in (("pitch", statistics["pitch_std"]), ("energy", 1.0)):
        if name in predicted:
            error = (predicted[name].astype(np.float64) - recorded[name]) * unit
            sums[name] = float((error**2).sum()), len(error)
    return sums


def frame_errors(f0: np.ndarray, reference: np.ndarray, path: np.ndarray, system: str) -> Sums:
    """Of F0 in Hz (0 where unvoiced) against a reference, along an alignment."""
    ours, theirs = f0[path[:, 0]], reference[path[:, 1]]
    both = (ours > 0) & (theirs > 0)
    ratio = np.log(ours[both] / theirs[both])
    return {
        f"f0.{system}": (float((ratio**2).sum()), int(both.sum())),
        f"voicing.{system}": (float(((ours > 0) != (theirs > 0)).sum()), len(path)),
    }
