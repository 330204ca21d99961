"""How a batch is cut and padded changes its gradients by rounding only."""

from dataclasses import replace

import numpy as np
import pytest

from machine import global_error, worst_error
from speech import utterances
from tts.models.fastspeech2 import SIZES, text

CONFIG = replace(SIZES["tiny"], batch=8, dropout=0.1, variance_dropout=0.5)
MODEL = text(CONFIG)
BATCH = utterances([(16, 64), (9, 40), (5, 23), (1, 6), (12, 64), (16, 33), (2, 11), (7, 50)], CONFIG.symbols, seed=3)
TOLERANCE = {"fp64": 1e-11, "fp32": 2e-6}


def gradients(compiled, bucket=0, batch=BATCH, **options):
    compiled.session.initialise(2)
    losses = compiled.gradients(compiled.cut(batch, bucket, **options), seed=9, update=3)
    return losses, compiled.read("grad:")


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_micro_batches(machine, precision):
    losses, expected = gradients(machine(MODEL, 8, precision))
    for micro_batch in (1, 2, 4, 3):  # three leaves a partial micro-batch
        compiled = machine(MODEL, micro_batch, precision)
        told, found = gradients(compiled)
        assert told == pytest.approx(losses, rel=TOLERANCE[precision]), micro_batch
        assert global_error(found, expected) <= TOLERANCE[precision], micro_batch


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_a_longer_bucket(machine, precision):
    compiled = machine(MODEL, 4, precision)
    losses, expected = gradients(compiled, 0)
    told, found = gradients(compiled, 1)
    assert told == pytest.approx(losses, rel=1e-6)
    assert worst_error(found, expected, 1e-3)[0] <= (1e-11 if precision == "fp64" else 1e-6 * 5)
    assert global_error(found, expected) <= 1e-6


@pytest.mark.parametrize("padding", [7.5, float("nan")])
def test_what_stands_in_the_padding(machine, padding):
    """Not a bit changes with the numbers in padded steps and empty slots."""
    compiled = machine(MODEL, 3, "fp32")
    losses, expected = gradients(compiled)
    told, found = gradients(compiled, padding=padding)
    assert told == losses
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_runs_are_bit_equal(machine):
    compiled = machine(MODEL, 4, "fp32")
    losses, expected = gradients(compiled)
    told, found = gradients(compiled)
    assert told == losses
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_the_checks_see_a_lost_utterance(machine):
    """Planted fault: one of eight utterances is left out."""
    compiled = machine(MODEL, 4, "fp64")
    _, expected = gradients(compiled)
    _, found = gradients(compiled, batch={name: rows[:7] for name, rows in BATCH.items()})
    assert global_error(found, expected) > 1e-3
