"""Frames per phone by cumulative rounding, refusals, and cuts at silences."""

import itertools
import math

import numpy as np
import pytest

from tts.data.align import Segment
from tts.data.segments import Rejected, cut, frame_durations, shifted

RATE, HOP = 16000, 256


def chain(*ends: float) -> list[Segment]:
    return [Segment("aa", begin, end) for begin, end in zip((0.0, *ends), ends)]


def test_frames_belong_to_the_phone_at_their_centre():
    random = np.random.default_rng(3)
    for _ in range(50):
        ends = np.cumsum(random.uniform(0.03, 0.2, 30))
        samples = round(ends[-1] * RATE)
        segments = chain(*ends[:-1], samples / RATE)
        durations = frame_durations(segments, samples, RATE, HOP)
        centres = np.arange(1 + samples // HOP) * HOP / RATE
        expected = np.searchsorted(ends[:-1], centres, side="right")
        assert np.array_equal(np.repeat(np.arange(30), durations), expected)


def test_rounding_does_not_drift():
    # Phones of 2.5 frames: rounding each would give 2 (or 3) every time, 100 frames off at the end.
    length = 2.5 * HOP / RATE
    segments = chain(*(length * (i + 1) for i in range(200)))
    samples = 500 * HOP
    durations = frame_durations(segments, samples, RATE, HOP)
    assert sum(durations) == 501 == 1 + samples // HOP
    border = np.cumsum(durations)[99]
    assert border == math.ceil(250)


@pytest.mark.parametrize(
    ("ends", "samples", "wrong"),
    [
        ((0.1, 0.2), 16000, "the alignment ends at 0.200 s of 1.000 s"),
        ((0.1, 0.3), 3200, "the alignment ends at 0.300 s of 0.200 s"),
        ((0.1, 0.105, 0.2), 3200, "phone aa at 0.100 s lasts no frame"),
    ],
)
def test_what_does_not_add_up_is_rejected(ends, samples, wrong):
    with pytest.raises(Rejected, match=wrong):
        frame_durations(chain(*ends), samples, RATE, HOP)


def test_long_recordings_are_cut_in_their_silences():
    segments, time = [], 0.0
    for word in range(20):
        segments += [Segment("aa", time, time + 0.8), Segment("sil", time + 0.8, time + 1.0)]
        time += 1.0
        if word == 9:  # a silence too short to cut
            segments[-1:] = [Segment("sil", time - 0.2, time - 0.15), Segment("aa", time - 0.15, time)]
    pieces = cut(segments, 6.0)
    assert len(pieces) == 4
    assert all(piece[-1].end - piece[0].begin <= 6.0 for piece in pieces)
    assert pieces[0][0].begin == 0 and pieces[-1][-1].end == time
    for left, right in itertools.pairwise(pieces):
        assert left[-1].phone == right[0].phone == "sil" and left[-1].end == right[0].begin
    spoken = [(s.begin, s.end) for piece in pieces for s in piece if s.phone != "sil"]
    assert spoken == [(s.begin, s.end) for s in segments if s.phone != "sil"]
    assert cut(segments, 100.0) == [segments]
    assert cut(chain(4.0, 9.0), 6.0) == [chain(4.0, 9.0)]  # no silence: stays whole
    assert shifted(pieces[1], pieces[1][0].begin)[0].begin == 0
