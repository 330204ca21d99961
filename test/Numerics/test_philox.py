"""Philox against the known-answer vectors of Random123, and what dropout needs of it."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

import philox

# Random123's tests/kat_vectors, "philox4x32 10": counter, key, result.
KNOWN = [
    ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


@pytest.mark.parametrize("counter, key, words", KNOWN)
def test_known_answers(counter, key, words):
    assert [f"{w:08x}" for w in philox.philox4x32(counter, key)] == words.split()


def test_hashes_of_the_key():
    assert philox.fnv1a64(b"") == 0xCBF29CE484222325
    assert philox.fnv1a64(b"foobar") == 0x85944171F73967E8
    assert philox.splitmix64(0) == 0xE220A8397B1DCDAF
    assert philox.splitmix64(1234567) == 6457827717110365317


def test_mask_of_an_utterance_depends_on_nothing_else():
    """Neither padding nor its place in the batch nor the number of channels enters."""
    whole = philox.kept((3, 10, 12), 0.3, "s", 7, 5, [4, 9, 2])
    part = philox.kept((2, 6, 8), 0.3, "s", 7, 5, [9, 2])
    assert (whole[1:, :6, :8] == part).all()
    for changed in ({"stream": "t"}, {"seed": 8}, {"update": 6}):
        arguments = {"stream": "s", "seed": 7, "update": 5} | changed
        assert (philox.kept((3, 10, 12), 0.3, utterances=[4, 9, 2], **arguments) != whole).any()


def test_rate():
    assert abs(philox.kept((8, 100, 64), 0.1, "s", 1, 0, np.arange(8)).mean() - 0.9) < 0.005
    assert philox.kept((2, 5), 0.0, "s", 1, 0, [0, 1]).all()


def test_normal_numbers():
    """Each is the quantile that its word stands for, to what AS 241 promises; and they look normal."""
    found = philox.normal((4, 50, 100), "s", 3, 2, np.arange(4))
    steps, quads = np.ogrid[:50, :25]
    words = philox.philox4x32((2, np.arange(4)[:, None, None], steps, quads), philox.key_of(3, "s"))
    words = words.reshape(4, 50, 100).astype(np.float64)
    p = (words % 2**31 + 0.5) / 2**32
    expected = np.where(words >= 2**31, 1, -1) * scipy.special.ndtri(p)
    np.testing.assert_allclose(found, expected, rtol=2e-7)
    assert scipy.stats.kstest(found.ravel(), "norm").pvalue > 0.01
    assert abs(found.mean()) < 0.02 and abs(found.std() - 1) < 0.02


def test_spans():
    ids, lengths = np.arange(2000), np.full(2000, 50)
    spans = philox.span_mask((2000, 60), 0.7, 1.0, "s", 1, 4, lengths, ids)
    counts, first = spans.sum(1), spans.argmax(1)
    assert (spans[:, 50:] == 0).all() and counts.min() == 35 and counts.max() == 49
    assert abs(counts.mean() - 0.85 * 50 + 0.5) < 0.3
    rest = 50 - counts
    assert (first <= rest).all() and abs((first / rest).mean() - 0.5) < 0.02
    longer = philox.span_mask((1, 90), 0.7, 1.0, "s", 1, 4, [50], [7])
    assert (longer[0, :60] == spans[7]).all()
    assert philox.span_mask((2, 9), 0.7, 1.0, "s", 1, 4, [0, 1], [3, 4]).sum() == 0


def test_coins():
    """Flips of one stream agree: the lower threshold's zeros are the higher one's, too."""
    low, high = (np.array([philox.coin(rate, "drop", 5, u) for u in range(2000)]) for rate in (0.2, 0.44))
    assert abs(low.mean() - 0.8) < 0.03 and abs(high.mean() - 0.56) < 0.03
    assert (high <= low).all()
