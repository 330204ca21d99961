"""The bound on running entries side by side: which must wait for which, and what a schedule of two threads could reach."""

import pytest
from side_by_side import dependences, longest_chain, side_by_side

from tts.entries import READ, WRITE, Entry, Operand

X, Y, Z = (0, 64), (64, 64), (128, 64)


def entry(number: int, *accesses) -> Entry:
    operands = tuple(Operand("t", "activations", at, size, access) for (at, size), access in accesses)
    return Entry(number, number, "forward", "forward", 0, 1, "kernel", "k", "", operands, ())


def test_values_and_bytes():
    entries = [
        entry(0, (X, WRITE)),
        entry(1, (X, READ), (Y, WRITE)),
        entry(2, (X, WRITE)),  # another value in the same bytes
        entry(3, (X, READ), (Y, READ), (Z, WRITE)),
    ]
    assert dependences(entries, values_only=True) == [set(), {0}, set(), {1, 2}]
    assert dependences(entries, values_only=False) == [set(), {0}, {0, 1}, {1, 2}]


def test_sums_in_place_keep_their_order():
    both = READ | WRITE
    entries = [entry(0, (X, WRITE)), entry(1, (X, both)), entry(2, ((0, 32), both)), entry(3, ((32, 32), both))]
    for values_only in (True, False):
        assert dependences(entries, values_only) == [set(), {0}, {1}, {1}]


def test_chains_and_schedules():
    free, chain = [set(), set(), set()], [set(), {0}, {1}]
    assert longest_chain([1, 2, 3], free) == 3 and longest_chain([1, 2, 3], chain) == 6
    # Both threads halve nothing here: two entries in the time of one.
    assert side_by_side([1, 1], [1, 1], free[:2]) == 1
    assert side_by_side([1, 1], [1, 1], chain[:2]) == 2
    # What both threads halve is never better side by side.
    assert side_by_side([1, 1, 1], [0.5, 0.5, 0.5], free) == pytest.approx(1.5)
    # One large entry beside several small ones.
    assert side_by_side([4, 1, 1, 1], [3, 1, 1, 1], [set()] * 4) == 4
    assert side_by_side([], [], []) == 0
