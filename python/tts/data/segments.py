"""From phone ends in seconds to frames per phone, and cutting long recordings at their silences."""

import math
from dataclasses import replace

from tts.data.align import Segment
from tts.data.phones import SILENCE

# The aligner's last window ends up to two of its frames before the audio does.
_TAIL_SECONDS = 0.045
_ROUNDING_SECONDS = 0.0005  # pieces of a cut recording begin and end at whole samples
_CUT_SILENCE_SECONDS = 0.1


class Rejected(Exception):
    """Why an utterance cannot be used; the message goes to the manifest."""


def frame_durations(segments: list[Segment], samples: int, rate: int, hop: int) -> list[int]:
    """Frames per segment: those whose centre (i * hop / rate) lies in it.

    Ends are rounded, never durations, so rounding does not drift; the last
    segment runs to the end of the audio. The sum is exactly 1 + samples // hop.
    """
    frames, seconds = 1 + samples // hop, samples / rate
    if not -_ROUNDING_SECONDS <= seconds - segments[-1].end <= _TAIL_SECONDS:
        raise Rejected(f"the alignment ends at {segments[-1].end:.3f} s of {seconds:.3f} s")
    ends = [math.ceil(round(segment.end * rate / hop, 6)) for segment in segments[:-1]] + [frames]
    durations = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    for segment, duration in zip(segments, durations, strict=True):
        if duration < 1:
            raise Rejected(f"phone {segment.phone} at {segment.begin:.3f} s lasts no frame")
    if sum(durations) != frames:
        raise Rejected(f"durations add up to {sum(durations)} frames, the mel has {frames}")
    return durations


def cut(segments: list[Segment], limit: float) -> list[list[Segment]]:
    """Pieces of at most `limit` seconds, cut in the middle of silences; a piece without a silence stays whole."""
    begin, end = segments[0].begin, segments[-1].end
    inner = [i for i in range(1, len(segments) - 1) if _is_cut(segments[i])]
    if end - begin <= limit or not inner:
        return [segments]
    half = (begin + end) / 2
    where = min(inner, key=lambda i: abs((segments[i].begin + segments[i].end) / 2 - half))
    middle = (segments[where].begin + segments[where].end) / 2
    left = [*segments[:where], replace(segments[where], end=middle)]
    right = [replace(segments[where], begin=middle), *segments[where + 1 :]]
    return cut(left, limit) + cut(right, limit)


def _is_cut(segment: Segment) -> bool:
    return segment.phone == SILENCE and segment.end - segment.begin >= _CUT_SILENCE_SECONDS


def shifted(segments: list[Segment], offset: float) -> list[Segment]:
    return [replace(s, begin=s.begin - offset, end=s.end - offset) for s in segments]
