"""Length buckets that waste little padding, from the histogram of lengths."""

from collections.abc import Iterable

import numpy as np

MULTIPLE, FEWEST, MOST = 8, 3, 10
_WORTH_ANOTHER = 0.015  # of the padded size: a bucket costs half a second of compiling


def round_up(value: int) -> int:
    return -(-value // MULTIPLE) * MULTIPLE


def suggest(lengths: Iterable[tuple[int, int]], most: int = MOST) -> list[dict[str, int]]:
    """Three to `most` buckets (text, frames), ascending, the last one holding the longest of both.

    An utterance is padded to the first bucket that holds it; the padded size is the sum of text + frames over all of
    them, and no buckets of that number have a smaller one. A further bucket is taken while it lowers that by 1.5 %.
    Fewer than three only where the lengths have fewer distinct shapes, or `most` is less.
    """
    chains, sizes = _solve(list(lengths), most)
    count = min(FEWEST, len(chains))
    while count < len(chains) and sizes[count] <= (1 - _WORTH_ANOTHER) * sizes[count - 1]:
        count += 1
    return [{"text": text, "frames": frames} for text, frames in chains[count - 1]]


def _solve(lengths: list[tuple[int, int]], most: int) -> tuple[list[list[tuple[int, int]]], list[int]]:
    """For each number of buckets up to `most`: the best ascending chain of them, and its padded size.

    Every bucket of a best chain is as long as one of its texts and one of its frame counts, so those corners are all
    there is to try; what a bucket takes beyond the one before is a difference of two counts, so the best chain that
    ends in a corner follows from the best shorter ones that end inside it.
    """
    pairs = np.array([(round_up(text), round_up(frames)) for text, frames in lengths])
    texts, row = np.unique(pairs[:, 0], return_inverse=True)
    frames, column = np.unique(pairs[:, 1], return_inverse=True)
    inside = np.zeros((len(texts), len(frames)), np.int64)
    np.add.at(inside, (row, column), 1)
    inside = inside.cumsum(0).cumsum(1)
    size = texts[:, None] + frames[None, :]
    last = inside.size - 1

    best = inside * size  # of the chains that end in each corner
    backs: list[np.ndarray] = [np.full(inside.shape, -1)]
    totals = [int(best.flat[last])]
    while len(totals) < most:
        best, back = _extend(best, inside, size)
        if best.flat[last] >= totals[-1]:
            break  # fewer shapes than buckets
        backs.append(back)
        totals.append(int(best.flat[last]))

    def chain(length: int) -> list[tuple[int, int]]:
        corner, found = last, []
        for back in reversed(backs[:length]):
            i, j = divmod(corner, len(frames))
            found.append((int(texts[i]), int(frames[j])))
            corner = back[i, j]
        return found[::-1]

    return [chain(length) for length in range(1, len(totals) + 1)], totals


def _extend(best: np.ndarray, inside: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One bucket more for the chains that end in each corner: the least padded size and the corner before."""
    longer, back = best.copy(), np.full(best.shape, -1)
    width = best.shape[1]
    for i in range(best.shape[0]):
        for j in range(width):
            candidates = best[: i + 1, : j + 1] + (inside[i, j] - inside[: i + 1, : j + 1]) * size[i, j]
            index = int(candidates.argmin())
            longer[i, j] = candidates.flat[index]
            back[i, j] = index // (j + 1) * width + index % (j + 1)
    return longer, back


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
