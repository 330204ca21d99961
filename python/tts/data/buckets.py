"""Length buckets that waste little padding, from the histogram of lengths."""

import itertools
from collections import Counter
from collections.abc import Iterable

MULTIPLE, FEWEST, MOST = 8, 3, 10
_WORTH_ANOTHER = 0.015  # of the padded size: a bucket costs half a second of compiling


def round_up(value: int) -> int:
    return -(-value // MULTIPLE) * MULTIPLE


def suggest(lengths: Iterable[tuple[int, int]]) -> list[dict[str, int]]:
    """Three to ten buckets (text, frames), ascending, the last one holding the longest utterance.

    The padded size is the sum of text + frames over all utterances. A further
    bucket is taken while it lowers that by 1.5 %. Fewer than three only where
    the lengths have fewer distinct shapes.
    """
    shapes = Counter((round_up(frames), round_up(text)) for text, frames in lengths)
    points = sorted(shapes)
    cuts, sizes = _solve(points, [shapes[point] for point in points], min(MOST, len(points)))
    count = min(FEWEST, len(points))
    while count < len(cuts) and sizes[count] <= (1 - _WORTH_ANOTHER) * sizes[count - 1]:
        count += 1
    buckets, text = [], 0
    for begin, end in cuts[count - 1]:
        text = max([text] + [point[1] for point in points[begin:end]])
        buckets.append({"text": text, "frames": points[end - 1][0]})
    return _merge_equal(buckets)


def _solve(points: list[tuple[int, int]], counts: list[int], most: int):
    """For each number of buckets up to `most`: the best cut of the points, sorted by frames, and its padded size."""
    n = len(points)
    infinite = float("inf")
    # best[k][end]: the least padded size of the first `end` points in k buckets.
    best = [[infinite] * (n + 1) for _ in range(most + 1)]
    back = [[0] * (n + 1) for _ in range(most + 1)]
    best[0][0] = 0
    # Buckets ascend in both sizes, so each has the longest text up to its end.
    text = list(itertools.accumulate((point[1] for point in points), max))
    before = [0, *itertools.accumulate(counts)]

    def cost(begin: int, end: int) -> int:
        return (before[end] - before[begin]) * (text[end - 1] + points[end - 1][0])

    for k in range(1, most + 1):
        for end in range(k, n + 1):
            best[k][end], back[k][end] = min((best[k - 1][b] + cost(b, end), b) for b in range(k - 1, end))
    cuts = []
    for k in range(1, most + 1):
        end, cut = n, []
        for level in range(k, 0, -1):
            cut.append((back[level][end], end))
            end = back[level][end]
        cuts.append(cut[::-1])
    return cuts, [best[k][n] for k in range(1, most + 1)]


def _merge_equal(buckets: list[dict[str, int]]) -> list[dict[str, int]]:
    return [bucket for index, bucket in enumerate(buckets) if bucket not in buckets[:index]]


def fit(text: int, frames: int, buckets: list[dict[str, int]]) -> int | None:
    """The index of the first bucket that holds such an utterance."""
    for index, bucket in enumerate(buckets):
        if text <= bucket["text"] and frames <= bucket["frames"]:
            return index
    return None


def padding_fraction(lengths: Iterable[tuple[int, int]], buckets: list[dict[str, int]]) -> float:
    """The part of all frames that is padding when every utterance goes to its first bucket."""
    lengths = list(lengths)
    padded = sum(buckets[fit(text, frames, buckets)]["frames"] for text, frames in lengths)
    return 1 - sum(frames for _, frames in lengths) / padded
