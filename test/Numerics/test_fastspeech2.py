"""The compiled tiny FastSpeech 2 against PyTorch: outputs, losses, every gradient, ten updates; dropout on, two buckets."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from machine import worst_error
from reference_fastspeech2 import Draw, FastSpeech2, valid
from reference_optimizer import Optimizer, backward
from speech import padded, select, utterances
from tts.models.fastspeech2 import SIZES, text

CONFIG = replace(SIZES["tiny"], batch=8, dropout=0.1, variance_dropout=0.5)
# Micro-batches of three: the bucket of each utterance is the one it fits; both buckets end with a partial one.
SHORT = utterances([(16, 64), (9, 40), (5, 23), (1, 6)], CONFIG.symbols, seed=1)
LONG = utterances([(24, 96), (17, 70), (3, 65), (20, 31)], CONFIG.symbols, seed=2, first_id=40)
MICRO_BATCH, SEED = 3, 11
TOLERANCE = {"fp64": 1e-10, "fp32": 1e-5}
DTYPE = {"fp64": torch.float64, "fp32": torch.float32}


def first_value(name: str, shape) -> np.ndarray:
    """Small random numbers, about one for the weights of norms; boundaries ascend."""
    if name.endswith("boundaries"):
        return np.linspace(-4.0, 4.0, *shape)
    numbers = 0.15 * np.random.default_rng(zlib.crc32(name.encode())).normal(size=shape)
    return numbers + ("norm" in name and name.endswith("weight"))


@pytest.fixture(params=["fp64", "fp32"])
def pair(request, machine):
    """The compiled model and, in f64, the reference with the same weights."""
    compiled = machine(text(CONFIG), MICRO_BATCH, request.param)
    for name in compiled.session.parameters:
        compiled.session.write(name, first_value(name, compiled.session.read(name).shape))
    states = {name: torch.from_numpy(value.copy()) for name, value in weights(compiled).items()}
    for name in compiled.session.trainable:
        compiled.session.write(f"ema:{name}", states[name].numpy())
    reference = FastSpeech2(CONFIG).double()
    reference.load_state_dict(states)
    return compiled, reference, request.param


def weights(compiled) -> dict[str, np.ndarray]:
    return compiled.read(names=compiled.session.parameters)


def micro_batches(compiled):
    return compiled.cut(SHORT, 0) + compiled.cut(LONG, 1)


def reference_batches():
    return [padded(batch, bucket) for batch, bucket in zip((SHORT, LONG), CONFIG.buckets)]


def gradients(model) -> dict[str, np.ndarray]:
    return {n: p.grad.numpy().copy() for n, p in model.named_parameters() if p.requires_grad}


def values(tensors: dict) -> dict[str, np.ndarray]:
    return {n: t.detach().numpy() for n, t in tensors.items()}


@pytest.mark.parametrize("bucket", [0, 1])
def test_outputs(pair, bucket):
    compiled, reference, precision = pair
    batch = (SHORT, LONG)[bucket]
    expected = values(reference(padded(batch, CONFIG.buckets[bucket])))
    lengths = {"mel": batch["mel_lengths"]}
    for first, micro in zip(range(0, 4, MICRO_BATCH), compiled.cut(batch, bucket)):
        found = compiled.evaluate(micro)
        assert set(found) == set(expected)
        for name, value in found.items():
            rows = range(first, min(first + MICRO_BATCH, 4))
            pairs = {
                str(i): (value[i - first][:n], expected[name][i][:n])
                for i in rows
                for n in [lengths.get(name, batch["phone_lengths"])[i]]
            }
            error, _ = worst_error({i: f for i, (f, _) in pairs.items()}, {i: e for i, (_, e) in pairs.items()}, 1e-3)
            assert error <= TOLERANCE[precision], name


def test_gradients(pair):
    compiled, reference, precision = pair
    expected_losses = backward(reference, reference_batches(), Draw(SEED, 6))
    losses = compiled.gradients(micro_batches(compiled), seed=SEED, update=7)
    assert losses == pytest.approx(expected_losses, rel=TOLERANCE[precision])
    error, name = worst_error(compiled.read("grad:"), gradients(reference), 1e-3)
    assert error <= TOLERANCE[precision], name


# Utterances whose ten updates stay clear of kinks: where a number within rounding of one falls on its other side in
# f32, the gradient jumps by that element's share, and both sides are right.
CLEAR = 41
UPDATES = [
    utterances([(5, 23), (9, 30), (1, 6), (3, 11)], CONFIG.symbols, seed=CLEAR),
    utterances([(17, 40), (3, 65)], CONFIG.symbols, seed=CLEAR + 100, first_id=40),
]


class Kinks:
    """The least distance of any ReLU's operand or mel's error from zero, over what the reference computes."""

    def __init__(self, reference):
        self.least = np.inf
        for name, module in reference.named_modules():
            if name.endswith("conv1") or (name.startswith("variance") and name.endswith("conv2")):
                module.register_forward_hook(lambda module, inputs, output: self.see(output))
        reference.register_forward_hook(lambda module, inputs, output: self.see_mel(output["mel"], inputs[0]))

    def see(self, x: torch.Tensor):
        self.least = min(self.least, float(x.detach().abs().min()))

    def see_mel(self, mel: torch.Tensor, batch):
        self.see((mel - batch.mel)[valid(batch.mel_lengths, mel.shape[1])])


def test_ten_updates(pair):
    """In f32 the key biases are left out: their gradients are zero but for rounding, which Adam scales up to its rate."""
    compiled, reference, precision = pair
    told = compiled.session.manifest["optimizer"]
    optimizer = Optimizer(
        reference,
        **{key: told[key] for key in ("beta1", "beta2", "epsilon", "grad_clip", "ema")},
        weight_decay=0.01,
    )
    kinks = Kinks(reference)
    micro = compiled.cut(UPDATES[0], 0) + compiled.cut(UPDATES[1], 1)
    batches = [padded(batch, bucket) for batch, bucket in zip(UPDATES, CONFIG.buckets)]
    lr = 1e-3
    for update in range(1, 11):
        losses = backward(reference, batches, Draw(SEED, update - 1))
        norm = optimizer.update(lr)
        step = compiled.step(micro, lr=lr, update=update, seed=SEED, weight_decay=0.01)
        assert step["losses"] == pytest.approx(losses, rel=TOLERANCE[precision])
        assert step["grad_norm"] == pytest.approx(norm, rel=TOLERANCE[precision])
    assert kinks.least > 4e-6, "choose other utterances: these touch a kink"
    names = [n for n in compiled.session.trainable if precision == "fp64" or not n.endswith("attention.key.bias")]
    expected = {"": values(optimizer.trained), "moment1:": values(optimizer.moment1)}
    expected |= {"moment2:": values(optimizer.moment2), "ema:": values(optimizer.ema)}
    for prefix, tensors in expected.items():
        error, name = worst_error(compiled.read(prefix, names), {n: tensors[n] for n in names}, 1e-3)
        assert error <= TOLERANCE[precision], prefix + name
    frozen = set(compiled.session.parameters) - set(compiled.session.trainable)
    assert frozen == {"variance.pitch_bins.boundaries", "variance.energy_bins.boundaries"}


def test_the_comparison_sees_a_wrong_mask(pair):
    """Planted fault: the reference draws its dropout for another update."""
    compiled, reference, _ = pair
    backward(reference, reference_batches(), Draw(SEED, 7))
    compiled.gradients(micro_batches(compiled), seed=SEED, update=7)
    assert worst_error(compiled.read("grad:"), gradients(reference), 1e-3)[0] > 1e-2


def test_order_of_micro_batches_and_ids(pair):
    """Utterances in another order, with their ids, give the same gradients."""
    compiled, _, precision = pair
    compiled.gradients(micro_batches(compiled), seed=SEED)
    expected = compiled.read("grad:")
    order = [2, 0, 3, 1]
    compiled.gradients(compiled.cut(select(LONG, order), 1) + compiled.cut(select(SHORT, order), 0), seed=SEED)
    assert worst_error(compiled.read("grad:"), expected, 1e-3)[0] <= TOLERANCE[precision] / 10
