"""Mel-cepstral distortion: zero for itself, by hand for planted cepstra, and what its alignment forgives."""

import math

import numpy as np
import pytest

from tts.evaluate import cepstra

BANDS, FRAMES = 80, 30


@pytest.fixture
def mel() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(FRAMES, BANDS)) - 5


def distortion(first: np.ndarray, second: np.ndarray) -> float:
    total, count = cepstra.distortion(first, second, cepstra.align(first, second))
    return total / count


def of_mels(first: np.ndarray, second: np.ndarray) -> float:
    return distortion(cepstra.of_mel(first), cepstra.of_mel(second))


def cosine(order: int) -> np.ndarray:
    return np.cos(math.pi * order * (np.arange(BANDS) + 0.5) / BANDS)


def test_of_itself_it_is_exactly_zero(mel):
    assert of_mels(mel, mel) == 0.0
    wave = 0.3 * np.sin(2 * math.pi * 200 * np.arange(16000) / 16000)
    planted, _ = cepstra.of_wave(wave, 16000)
    assert distortion(planted, planted) == 0.0


def test_a_mel_has_the_cepstrum_planted_in_it():
    planted = np.outer(np.arange(3), cosine(5)) + 0.25 * cosine(24) - 7
    found = cepstra.of_mel(planted)
    expected = np.zeros((3, 24))
    expected[:, 4], expected[:, 23] = np.arange(3), 0.25
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_distance_of_two_cepstra_by_hand():
    """3² + 4² = 5²: (10 / ln 10) * sqrt(2 * 25)."""
    first, second = np.zeros((1, 24)), np.zeros((1, 24))
    second[0, 0], second[0, 23] = 3, -4
    assert distortion(first, second) == pytest.approx(10 / 2.302585092994046 * 7.0710678118654755, rel=1e-15)


def test_it_is_the_root_mean_square_of_decibels(mel):
    """The formula is the difference of levels in dB, 20 log10 of magnitudes, when it is all in c_1..c_24."""
    change = 0.3 * cosine(2) - 0.1 * cosine(9)
    decibels = 20 / math.log(10) * change
    first = cepstra.of_mel(np.zeros((1, BANDS)))
    second = cepstra.of_mel(change[None])
    assert cepstra.distances(first, second)[0] == pytest.approx(math.sqrt(np.mean(decibels**2)), rel=1e-12)


def test_level_and_what_lies_above_the_order_are_out(mel):
    assert of_mels(mel, mel + 1.5) < 1e-12
    assert of_mels(mel, mel + 2 * cosine(25)) < 1e-12
    assert of_mels(mel, mel + 2 * cosine(24)) > 1


def test_a_constant_shift_of_one_coefficient(mel):
    """Frames differ much more from their neighbours than by the shift: the path is the diagonal."""
    assert of_mels(mel, mel + 0.01 * cosine(7)) == pytest.approx(10 / math.log(10) * math.sqrt(2) * 0.01, rel=1e-9)


def test_repeated_frames_cost_nothing(mel):
    slow = np.repeat(mel, np.r_[1, 3, np.ones(FRAMES - 2, int)], axis=0)
    assert of_mels(mel, slow) == 0.0 and of_mels(slow, mel) == 0.0
    path = cepstra.align(cepstra.of_mel(mel), cepstra.of_mel(slow))
    assert len(path) == FRAMES + 2
    assert [tuple(pair) for pair in path[:5]] == [(0, 0), (1, 1), (1, 2), (1, 3), (2, 4)]


def test_each_pair_on_the_path_counts_once():
    """One frame against two: both pairs are on the path, the mean is over two."""
    first, second = np.zeros((1, 24)), np.zeros((2, 24))
    second[1, 2] = 1
    assert distortion(first, second) == pytest.approx(0.5 * 10 / math.log(10) * math.sqrt(2), rel=1e-15)


def test_a_shift_in_time_is_forgiven(mel):
    late = np.concatenate([np.repeat(mel[:1], 4, axis=0), mel])
    assert of_mels(mel, late) == 0.0
    assert float(cepstra.distances(cepstra.of_mel(mel), cepstra.of_mel(late[:FRAMES])).mean()) > 1


def test_the_world_cepstrum_is_scaled_as_the_formula_wants():
    """ln magnitude 0.4 cos(3 x) on WORLD's mel axis, as a power spectrum, is c_3 = 0.4 but for its interpolation (1 %)."""
    import pyworld

    def warp(hertz):
        return 1127.01048 * np.log1p(hertz / 700)

    axis = np.clip((warp(np.linspace(0, 8000, 513)) - warp(40.0)) / (warp(8000.0) - warp(40.0)), 0, 1)
    power = np.exp(2 * (1.0 + 0.4 * np.cos(3 * math.pi * axis)))
    coded = pyworld.code_spectral_envelope(np.ascontiguousarray(np.tile(power, (2, 1))), 16000, cepstra.ORDER + 1)
    found = coded[0, 1:] / math.sqrt(2)
    assert found[2] == pytest.approx(0.4, abs=4e-3) and np.abs(np.delete(found, 2)).max() < 4e-3


def test_f0_of_a_voiced_wave():
    time = np.arange(16000) / 16000
    wave = sum(np.sin(2 * math.pi * 150 * k * time) / k for k in range(1, 20))
    _, f0 = cepstra.of_wave(0.1 * wave, 16000)
    assert np.median(f0) == pytest.approx(150, rel=0.01)
