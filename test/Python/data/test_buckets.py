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


def test_no_buckets_of_that_number_are_better():
    for seed in range(6):
        lengths = draw(100 + seed, 9)
        found = suggest(lengths, most=3)
        corners = list(
            itertools.product(
                sorted({round_up(text) for text, _ in lengths}), sorted({round_up(frames) for _, frames in lengths})
            )
        )
        chains = (
            [{"text": text, "frames": frames} for text, frames in (*inner, corners[-1])]
            for inner in itertools.combinations(corners[:-1], len(found) - 1)
            if all(a <= b for pair in itertools.pairwise(inner) for a, b in zip(*pair))
        )
        assert padded(lengths, found) == min(padded(lengths, chain) for chain in chains)


def test_a_long_text_of_few_frames_may_go_to_a_later_bucket():
    """Cutting the utterances in the order of their frames would give every bucket from the second on 200 of text."""
    lengths = [(10, 50)] * 40 + [(200, 55)] + [(20, 100)] * 40 + [(40, 400)] * 40
    assert suggest(lengths) == [
        {"text": 16, "frames": 56},
        {"text": 24, "frames": 104},
        {"text": 40, "frames": 400},
        {"text": 200, "frames": 400},
    ]


def test_the_bound_holds():
    lengths = draw(3, 300)
    assert [len(suggest(lengths, most=most)) for most in (1, 2, 4)] == [1, 2, 4]
    sizes = [padded(lengths, suggest(lengths, most=most)) for most in (1, 2, 4, 10)]
    assert sizes == sorted(sizes, reverse=True)


def test_few_shapes_give_few_buckets():
    assert suggest([(5, 30)] * 10) == [{"text": 8, "frames": 32}]
    assert suggest([(5, 30), (9, 60)]) == [{"text": 8, "frames": 32}, {"text": 16, "frames": 64}]


def test_an_outlier_in_text_only_fits_a_later_bucket():
    lengths = [(4, 40)] * 50 + [(30, 41)] + [(10, 80)] * 50 + [(32, 160)] * 50
    buckets = suggest(lengths)
    assert all(fit(text, frames, buckets) is not None for text, frames in lengths)
