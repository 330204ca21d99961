"""Errors per phone and per frame, by hand."""

import math

import numpy as np
import pytest

from tts.audio.features import Features
from tts.evaluate import measures, prosody

STATISTICS = {"pitch_std": 0.25, "energy_std": 30.0}
RECORDED = {
    "durations": np.array([2, 5, 3], np.int32),
    "pitch": np.array([0.0, 1.0, -1.0], np.float32),
    "energy": np.array([1.0, 1.0, 1.0], np.float32),
}


def errors(**predicted) -> dict:
    told = {name: np.asarray(values, np.float32) for name, values in predicted.items()}
    return measures.values(prosody.phone_errors(told, RECORDED, STATISTICS, Features()))


def test_durations_by_hand():
    """Predicted 3, 4 and 5 frames for 2, 5 and 3: errors 1, 1, 2; 12 for 10 frames in all; a frame is 16 ms."""
    found = errors(log_durations=np.log1p([3, 4, 5]))
    assert found["duration.frames"] == pytest.approx(4 / 3, rel=1e-6)
    assert found["duration.ms"] == pytest.approx(4 / 3 * 16, rel=1e-6)
    assert found["duration.total"] == pytest.approx(20, rel=1e-5)
    assert set(found) == {"duration.frames", "duration.ms", "duration.total"}


def test_a_duration_below_zero_is_none():
    np.testing.assert_array_equal(prosody.durations_of(np.array([-3.0, 0.0])), [0.0, 0.0])


def test_total_errors_do_not_cancel_between_utterances():
    rows = {
        "long": prosody.phone_errors({"log_durations": np.log1p([3, 5, 3])}, RECORDED, STATISTICS, Features()),
        "short": prosody.phone_errors({"log_durations": np.log1p([1, 5, 3])}, RECORDED, STATISTICS, Features()),
    }
    (total,) = [metric for metric in measures.summarise(rows) if metric["key"] == "duration.total"]
    assert total["value"] == pytest.approx(10) and total["count"] == 20 and total["utterances"] == 2


def test_pitch_in_cents_and_energy_in_deviations():
    """An octave is ln 2 of log-F0; errors of 0, 0 and one octave: 1200 / sqrt(3) cents."""
    found = errors(pitch=[0, 1, -1 + math.log(2) / 0.25], energy=[1, 1, 4])
    assert found["pitch"] == pytest.approx(1200 / math.sqrt(3), rel=1e-5)
    assert found["energy"] == pytest.approx(math.sqrt(3), rel=1e-6)


def test_f0_and_voicing_along_a_path():
    """Frames 1-1 and 2-3 are voiced in both, an octave apart in the second; 0-0 in neither, 1-2 in one of two."""
    f0, reference = np.array([0.0, 200.0, 200.0]), np.array([0.0, 200.0, 0.0, 100.0])
    path = np.array([(0, 0), (1, 1), (1, 2), (2, 3)])
    found = measures.values(prosody.frame_errors(f0, reference, path, "predicted"))
    assert found["f0.predicted"] == pytest.approx(1200 / math.sqrt(2))
    assert found["voicing.predicted"] == pytest.approx(25)


def test_nothing_voiced_has_no_f0_error():
    silent = np.zeros(2)
    found = measures.values(prosody.frame_errors(silent, silent, np.array([(0, 0), (1, 1)]), "recorded"))
    assert found == {"voicing.recorded": 0.0}
