"""The PyTorch reference itself: parameters as in the model file, padding and splits change nothing, no NaN anywhere."""

import numpy as np
import pytest
import torch

from reference_fastspeech2 import Draw, FastSpeech2
from reference_optimizer import Optimizer, backward
from speech import padded, select, utterances
from tts.models.fastspeech2 import SIZES, build

CONFIG = SIZES["tiny"]
BATCH = utterances([(16, 64), (9, 40), (5, 23), (1, 6)], CONFIG.symbols)
SHORT, LONG = CONFIG.buckets


def make(dtype=torch.float64, seed=0):
    model = FastSpeech2(CONFIG).to(dtype)
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("boundaries"):
                p.copy_(torch.linspace(-3, 3, len(p), dtype=dtype))
            else:
                p.copy_(torch.from_numpy(rng.normal(size=p.shape, scale=0.3)))
    return model


def gradients(model):
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.requires_grad}


def test_parameters_are_the_model_files():
    _, written = build(CONFIG)
    expected = {name: (p.shape, not p.frozen) for name, p in written.named_parameters()}
    found = {name: (tuple(p.shape), p.requires_grad) for name, p in FastSpeech2(CONFIG).named_parameters()}
    assert found == expected


@pytest.mark.parametrize("parts", [[[0], [1], [2], [3]], [[0, 1], [2, 3]], [[3, 1, 0], [2]]])
def test_splits_give_the_same_gradients(parts):
    model, draw = make(), Draw(5, 2)
    whole = backward(model, [padded(BATCH, SHORT)], draw)
    expected = gradients(model)
    told = backward(model, [padded(select(BATCH, part), SHORT) for part in parts], draw)
    assert told == pytest.approx(whole, rel=1e-12)
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-9, atol=1e-12)


def test_padding_changes_nothing():
    model, draw = make(), Draw(5, 2)
    whole, expected = backward(model, [padded(BATCH, SHORT)], draw), gradients(model)
    assert backward(model, [padded(BATCH, LONG)], draw) == pytest.approx(whole, rel=1e-12)
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-9, atol=1e-12)


def test_an_empty_slot_adds_nothing():
    model = make()
    one = padded(select(BATCH, [1]), SHORT)
    expected_losses, expected = backward(model, [one], None), gradients(model)
    two = padded(select(BATCH, [1, 2]), SHORT)
    two.phone_lengths[1] = two.mel_lengths[1] = 0
    two.durations[1] = 0
    assert backward(model, [two], None) == pytest.approx(expected_losses, rel=1e-12)
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-9, atol=1e-12)


def test_the_optimizer_is_pytorchs_adamw():
    """Without EMA and with clipping by torch's own function."""
    model, other = make(), make()
    optimizer = Optimizer(model, weight_decay=0.1, grad_clip=1.0)
    torchs = torch.optim.AdamW(other.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1)
    for update in range(3):
        for m in (model, other):
            backward(m, [padded(BATCH, SHORT)], Draw(1, update))
        trained = [p for p in other.parameters() if p.requires_grad]
        norm = torch.nn.utils.clip_grad_norm_(trained, 1.0)
        assert optimizer.update(1e-3) == pytest.approx(float(norm), rel=1e-12)
        torchs.step()
    for p, q in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(p, q, rtol=1e-9, atol=1e-12)
