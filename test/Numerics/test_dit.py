"""The compiled tiny DiT against PyTorch; splits, buckets and padding; its draws; a short training."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from machine import global_error, worst_error
from reference_dit import Dit, backward, padded
from reference_fastspeech2 import Draw
from speech import select, utterances
from tts.models.dit import SIZES, build, text

CONFIG = replace(SIZES["tiny"], batch=8, dropout=0.1)
MODEL = text(CONFIG)
SHORT = utterances([(16, 64), (9, 40), (5, 23), (1, 6)], CONFIG.symbols, seed=1)
LONG = utterances([(24, 96), (17, 70), (3, 65), (20, 31)], CONFIG.symbols, seed=2, first_id=40)
MICRO_BATCH, SEED = 3, 11
# In f32 the angles of the flow's time, up to 1000, are right to 6e-5.
TOLERANCE = {"fp64": 1e-10, "fp32": 2e-5}
SPLIT = {"fp64": 1e-11, "fp32": 1e-6}


def first_value(name: str, shape) -> np.ndarray:
    """Small random numbers, about one for the weights of norms: zeros at first would hide whole gradients."""
    numbers = 0.15 * np.random.default_rng(zlib.crc32(name.encode())).normal(size=shape)
    return numbers + ("norm" in name and name.endswith("weight"))


def started(machine, micro_batch=MICRO_BATCH, precision="fp64", model=MODEL):
    compiled = machine(model, micro_batch, precision)
    for name in compiled.session.parameters:
        compiled.session.write(name, first_value(name, compiled.session.read(name).shape))
    return compiled


@pytest.fixture(params=["fp64", "fp32"])
def pair(request, machine):
    """The compiled model and, in f64, the reference with the same weights."""
    compiled = started(machine, precision=request.param)
    reference = Dit(CONFIG).double()
    reference.load_state_dict({n: torch.from_numpy(v.copy()) for n, v in compiled.read().items()})
    return compiled, reference, request.param


def micro_batches(compiled):
    return compiled.cut(SHORT, 0) + compiled.cut(LONG, 1)


def reference_batches():
    return [padded(batch, bucket) for batch, bucket in zip((SHORT, LONG), CONFIG.buckets)]


def gradients_of(model) -> dict[str, np.ndarray]:
    return {n: p.grad.numpy().copy() for n, p in model.named_parameters()}


def test_parameters_are_the_model_files():
    _, written = build(CONFIG)
    assert {n: tuple(p.shape) for n, p in Dit(CONFIG).named_parameters()} == {
        n: p.shape for n, p in written.named_parameters()
    }


def test_outputs(pair):
    """Evaluation, too, has its noise: drawn for no update, the same every time."""
    compiled, reference, precision = pair
    expected = reference(padded(SHORT, CONFIG.buckets[0]))["velocity"].detach().numpy()
    micro = compiled.cut(SHORT, 0)[0]
    compiled.session.set_scalars(seed=8, update=9)
    found = compiled.evaluate(micro)["velocity"]
    for i, n in enumerate(SHORT["mel_lengths"][:MICRO_BATCH]):
        assert worst_error({"": found[i][:n]}, {"": expected[i][:n]}, 1e-3)[0] <= TOLERANCE[precision]
    compiled.session.set_scalars(seed=1, update=2)
    np.testing.assert_array_equal(compiled.evaluate(micro)["velocity"], found)


@pytest.mark.parametrize("update", [7, 12, 11])
def test_gradients(pair, update):
    """At these updates nothing, audio, and both text and audio are dropped."""
    compiled, reference, precision = pair
    draw = Draw(SEED, update - 1)
    expected_losses = backward(reference, reference_batches(), draw)
    losses = compiled.gradients(micro_batches(compiled), seed=SEED, update=update)
    assert losses == pytest.approx(expected_losses, rel=TOLERANCE[precision])
    error, name = worst_error(compiled.read("grad:"), gradients_of(reference), 1e-3)
    assert error <= TOLERANCE[precision], name


def test_the_comparison_sees_other_draws(pair):
    """Planted fault: the reference draws for another update."""
    compiled, reference, _ = pair
    backward(reference, reference_batches(), Draw(SEED, 7))
    compiled.gradients(micro_batches(compiled), seed=SEED, update=7)
    assert worst_error(compiled.read("grad:"), gradients_of(reference), 1e-3)[0] > 1e-2


def gradients(compiled, bucket=0, **options):
    losses = compiled.gradients(compiled.cut(SHORT, bucket, **options), seed=9, update=3)
    return losses, compiled.read("grad:")


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_splits(machine, precision):
    """Four utterances at once, one by one, and in threes with two empty slots at the end."""
    losses, expected = gradients(started(machine, 4, precision))
    for micro_batch in (1, 3):
        told, found = gradients(started(machine, micro_batch, precision))
        assert told == pytest.approx(losses, rel=SPLIT[precision]), micro_batch
        assert global_error(found, expected) <= SPLIT[precision], micro_batch


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_a_longer_bucket(machine, precision):
    compiled = started(machine, 4, precision)
    losses, expected = gradients(compiled, 0)
    told, found = gradients(compiled, 1)
    assert told == pytest.approx(losses, rel=SPLIT[precision])
    assert global_error(found, expected) <= SPLIT[precision]


@pytest.mark.parametrize("padding", [7.5, float("nan")])
def test_what_stands_in_the_padding(machine, padding):
    """Not a bit changes with the numbers in padded steps and empty slots."""
    compiled = started(machine, 3, "fp32")
    losses, expected = gradients(compiled)
    told, found = gradients(compiled, padding=padding)
    assert told == losses
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_order_and_ids(pair):
    """Utterances in another order, with their ids, give the same gradients; with other ids they do not."""
    compiled, _, precision = pair
    compiled.gradients(micro_batches(compiled), seed=SEED)
    expected = compiled.read("grad:")
    order = [2, 0, 3, 1]
    turned = compiled.cut(select(LONG, order), 1) + compiled.cut(select(SHORT, order), 0)
    compiled.gradients(turned, seed=SEED)
    assert worst_error(compiled.read("grad:"), expected, 1e-3)[0] <= TOLERANCE[precision] / 10
    other = LONG | {"utterance": [1000 + i for i in range(4)]}
    compiled.gradients(compiled.cut(SHORT, 0) + compiled.cut(other, 1), seed=SEED)
    assert worst_error(compiled.read("grad:"), expected, 1e-3)[0] > 1e-3


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_speaking(machine, precision):
    """Three steps of Euler's method, with the first frames of each mel known."""
    compiled = started(machine, precision=precision, model=text(CONFIG, infer_steps=3))
    reference = Dit(CONFIG).double()
    reference.load_state_dict({n: torch.from_numpy(np.float64(v)) for n, v in compiled.read().items()})
    known = [np.where(np.arange(len(mel))[:, None] < 5, mel, 0) for mel in SHORT["mel"]]
    noise = [np.random.default_rng(i).normal(size=mel.shape).astype(np.float32) for i, mel in enumerate(known)]
    batch = padded(SHORT | {"mel": known}, CONFIG.buckets[0])
    expected = reference.speak(padded(SHORT | {"mel": noise}, CONFIG.buckets[0]).mel, batch, 3).detach().numpy()
    requests = {"phones": SHORT["phones"], "phone_lengths": SHORT["phone_lengths"], "known": known, "noise": noise}
    requests["mel_lengths"] = SHORT["mel_lengths"]
    found = compiled.infer(compiled.cut(requests, 0, inputs_of="infer_inputs")[0])["mel"]
    for i, n in enumerate(SHORT["mel_lengths"][:MICRO_BATCH]):
        assert worst_error({"": found[i][:n]}, {"": expected[i][:n]}, 1e-3)[0] <= TOLERANCE[precision]


def test_it_learns(machine):
    """From 2, the variance of the velocity between two noises, towards π/2, that of what the noisy mel leaves unknown."""
    compiled = machine(text(replace(CONFIG, dropout=0.0)), 4, "fp32")
    compiled.session.initialise(3)
    losses = [compiled.step(compiled.cut(SHORT, 0), lr=3e-3, update=u, seed=5)["loss"] for u in range(1, 121)]
    assert np.mean(losses[:5]) == pytest.approx(2, abs=0.1)
    assert np.mean(losses[-20:]) == pytest.approx(np.pi / 2, abs=0.15), losses
