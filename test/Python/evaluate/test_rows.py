"""Which utterances are heard and which mels they have."""

import numpy as np
import pytest

from tts.audio.features import Features
from tts.evaluate import sounds
from tts.evaluate.evaluation import _choose
from tts.evaluate.rows import Row

STATISTICS = {"mel_mean": -5.0, "mel_std": 2.0}


def row(name: str, frames: int, text: str | None, spoken: int | None = None) -> Row:
    mel = np.ones((frames, 80), np.float32)
    return Row(name, {"mel": mel}, {"mel": 2 * mel}, None if spoken is None else np.zeros((spoken, 80)), text)


def test_a_window_is_the_shortest_sound():
    assert sounds.shortest(Features()) == 5 and sounds.shortest(Features(n_fft=1000, win=1000, hop=300)) == 5


def test_those_with_words_come_first_and_too_short_ones_never():
    rows = {r.id: r for r in (row("a", 9, None), row("b", 9, "b"), row("c", 4, "c"), row("d", 9, "d"))}
    assert sorted(_choose(rows, 2, 5)) == ["b", "d"]
    assert _choose(rows, 9, 5)[2:] == ["a"]
    assert _choose(rows, 0, 5) == []


@pytest.mark.parametrize("spoken, systems", [(None, 2), (4, 2), (5, 3)])
def test_mels_are_in_log_scale_and_long_enough(spoken, systems):
    mels = row("a", 9, None, spoken).mels(STATISTICS, 5)
    assert len(mels) == systems and mels["recorded"][0, 0] == -3 and mels["predicted"][0, 0] == -1
