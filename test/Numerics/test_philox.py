"""Philox against the known-answer vectors of Random123, and what dropout needs of it."""

import numpy as np
import pytest

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
