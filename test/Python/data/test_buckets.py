"""Suggested buckets: legal, holding everything, and as good as trying all cuts."""

import itertools

import numpy as np

from tts.data.buckets import fit, padding_fraction, round_up, suggest


def draw(seed: int, count: int) -> list[tuple[int, int]]:
    random = np.random.default_rng(seed)
    frames = np.exp(random.normal(4.6, 0.6, count)).astype(int) + 10
    return [(max(1, int(f * random.uniform(0.1, 0.25))), int(f)) for f in frames]


def padded(lengths, buckets) -> int:
    chosen = [buckets[fit(text, frames, buckets)] for text, frames in lengths]
    return sum(b["text"] + b["frames"] for b in chosen)


def test_buckets_are_legal_and_hold_everything():
    for seed in range(5):
        lengths = draw(seed, 300)
        buckets = suggest(lengths)
        assert 3 <= len(buckets) <= 10
        assert all(b[name] % 8 == 0 for b in buckets for name in ("text", "frames"))
        for name in ("text", "frames"):
            sizes = [b[name] for b in buckets]
            assert sizes == sorted(sizes)
        assert all(fit(text, frames, buckets) is not None for text, frames in lengths)
        assert buckets[-1]["frames"] == round_up(max(frames for _, frames in lengths))
        assert buckets[-1]["text"] == round_up(max(text for text, _ in lengths))
        single = [buckets[-1]]
        assert padding_fraction(lengths, buckets) < 0.3 * padding_fraction(lengths, single)


def test_no_cut_of_the_lengths_is_better():
    for seed in range(8):
        lengths = draw(100 + seed, 14)
        buckets = suggest(lengths)
        points = sorted({(round_up(frames), round_up(text)) for text, frames in lengths})
        best = min(
            padded(lengths, make(points, (*inner, len(points))))
            for inner in itertools.combinations(range(1, len(points)), len(buckets) - 1)
        )
        assert padded(lengths, buckets) <= best


def make(points, ends) -> list[dict[str, int]]:
    made, text = [], 0
    for begin, end in zip((0, *ends), ends):
        text = max([text] + [t for _, t in points[begin:end]])
        made.append({"text": text, "frames": points[end - 1][0]})
    return made


def test_few_shapes_give_few_buckets():
    assert suggest([(5, 30)] * 10) == [{"text": 8, "frames": 32}]
    assert suggest([(5, 30), (9, 60)]) == [{"text": 8, "frames": 32}, {"text": 16, "frames": 64}]


def test_an_outlier_in_text_only_fits_a_later_bucket():
    lengths = [(4, 40)] * 50 + [(30, 41)] + [(10, 80)] * 50 + [(32, 160)] * 50
    buckets = suggest(lengths)
    assert all(fit(text, frames, buckets) is not None for text, frames in lengths)
