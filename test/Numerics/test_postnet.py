"""The tiny FastSpeech 2 with its PostNet against PyTorch: five losses, every gradient, running statistics, evaluation."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from machine import worst_error
from reference_batch_norm import FastSpeech2WithPostNet
from reference_fastspeech2 import Draw
from reference_optimizer import Optimizer, backward
from speech import padded, utterances
from tts.models.fastspeech2 import SIZES, text, with_postnet

CONFIG = with_postnet(replace(SIZES["tiny"], batch=6))
BATCH = utterances([(24, 96), (9, 40), (5, 23), (1, 6)], CONFIG.symbols, seed=1)  # and two empty slots
SEED = 11
TOLERANCE = {"fp64": 1e-10, "fp32": 1e-5}


def first_value(name: str, shape) -> np.ndarray:
    if name.endswith("boundaries"):
        return np.linspace(-4.0, 4.0, *shape)
    numbers = 0.15 * np.random.default_rng(zlib.crc32(name.encode())).normal(size=shape)
    if name.endswith("running_var"):
        return 1 + np.abs(numbers)
    return numbers + ("norm" in name and name.endswith("weight"))


@pytest.fixture(params=["fp64", "fp32"])
def pair(request, machine):
    """The compiled model and, in f64, the reference; PyTorch's load_state_dict takes our names as they are."""
    compiled = machine(text(CONFIG), CONFIG.batch, request.param)
    for name in compiled.session.parameters:
        compiled.session.write(name, first_value(name, compiled.session.read(name).shape))
    states = {n: torch.from_numpy(v.copy()) for n, v in compiled.read(names=compiled.session.parameters).items()}
    for name in compiled.session.trainable:
        compiled.session.write(f"ema:{name}", states[name].numpy())
    reference = FastSpeech2WithPostNet(CONFIG).double()
    reference.load_state_dict(states)
    return compiled, reference, request.param


def batches(compiled):
    return compiled.cut(BATCH), [padded(BATCH, CONFIG.buckets[0])]


def running(reference) -> dict[str, np.ndarray]:
    return {n: b.numpy() for n, b in reference.named_buffers() if "running" in n}


def test_gradients(pair):
    compiled, reference, precision = pair
    micro, whole = batches(compiled)
    expected_losses = backward(reference, whole, Draw(SEED, 6))
    assert set(expected_losses) == {"mel", "refined_mel", "duration", "pitch", "energy"}
    assert compiled.gradients(micro, seed=SEED, update=7) == pytest.approx(expected_losses, rel=TOLERANCE[precision])
    expected = {n: p.grad.numpy() for n, p in reference.named_parameters() if p.requires_grad}
    error, name = worst_error(compiled.read("grad:"), expected, 1e-3)
    assert error <= TOLERANCE[precision], name


@pytest.mark.parametrize("pair", ["fp64"], indirect=True)
def test_five_updates_and_an_evaluation(pair):
    """Weights and running statistics after them; evaluation reads the running statistics and changes none."""
    compiled, reference, _ = pair
    told = compiled.session.manifest["optimizer"]
    settings = {key: told[key] for key in ("beta1", "beta2", "epsilon", "grad_clip", "ema")}
    optimizer = Optimizer(reference, **settings)
    micro, whole = batches(compiled)
    for update in range(1, 6):
        losses = backward(reference, whole, Draw(SEED, update - 1))
        norm = optimizer.update(1e-3)
        step = compiled.step(micro, lr=1e-3, update=update, seed=SEED)
        assert step["losses"] == pytest.approx(losses, rel=1e-10)
        assert step["grad_norm"] == pytest.approx(norm, rel=1e-10)
    expected = {n: p.detach().numpy() for n, p in optimizer.trained.items()}
    assert worst_error(compiled.read(), expected, 1e-3)[0] <= 1e-9
    states = compiled.read(names=list(running(reference)))
    assert len(states) == 10
    for name, value in running(reference).items():
        np.testing.assert_allclose(states[name], value, rtol=1e-9, err_msg=name)
    reference.eval()
    expected = reference(whole[0])["mel"].detach().numpy()
    found = compiled.evaluate(micro[0])["mel"]
    for i, n in enumerate(BATCH["mel_lengths"]):
        np.testing.assert_allclose(found[i, :n], expected[i, :n], rtol=1e-9, atol=1e-10)
    after = compiled.read(names=list(states))
    assert all((after[n] == v).all() for n, v in states.items())


@pytest.mark.parametrize("pair", ["fp64"], indirect=True)
def test_infer_refines_with_the_running_statistics(pair):
    """What the program that speaks adds to its mel is the reference's PostNet on it."""
    compiled, reference, _ = pair
    reference.eval()
    phones = {"phones": BATCH["phones"][:2], "phone_lengths": BATCH["phone_lengths"][:2]}
    neutral = {"duration_scale": 1.0, "pitch_shift": 0.0, "energy_shift": 0.0}
    controls = {n: [np.full(len(p), v, np.float32) for p in phones["phones"]] for n, v in neutral.items()}
    (micro,) = compiled.cut(phones | controls, inputs_of="infer_inputs")
    found = compiled.infer(micro)
    inputs = [torch.from_numpy(np.asarray(micro[1][n])) for n in ("phones", "phone_lengths", *neutral)]
    told = reference.speak(*inputs, frames=CONFIG.buckets[0]["frames"])
    x, lengths = told["mel"], told["mel_lengths"]
    assert (found["mel_lengths"] == lengths.numpy()).all() and lengths.max() > 0
    y = x
    for layer in reference.postnet.layers:
        y = layer(y, lengths, None, None)
    expected = (x + y).detach().numpy()
    for i, n in enumerate(lengths.tolist()):
        np.testing.assert_allclose(found["mel"][i, :n], expected[i, :n], rtol=1e-9, atol=1e-10)
