"""The codec language model: its gradients are PyTorch's, splits and padding change rounding only, ignored targets nothing."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from machine import global_error, worst_error
from reference_codec_lm import IGNORE, CodecLm
from reference_optimizer import Optimizer
from tts.models.codec_lm import SIZES, build, text

# Twenty chunks of 32 or 64 steps: 2,100 logits of f64 are 16 kB.
CONFIG = replace(SIZES["tiny"], batch=8, tokens=2100)
LENGTHS = [96, 48, 77, 1, 30, 96, 5, 61]
TOLERANCE = {"fp64": 1e-10, "fp32": 1e-5}


def streams(lengths=LENGTHS, tokens=CONFIG.tokens, seed=3) -> dict[str, list]:
    """Random tokens whose targets are the next ones, those of a prefix ignored."""
    rng = np.random.default_rng(seed)
    whole = [rng.integers(1, tokens, n + 1) for n in lengths]
    targets = [row[1:].copy() for row in whole]
    for row in targets:
        row[: len(row) // 4] = IGNORE
    return {
        "tokens": [row[:-1].astype(np.int32) for row in whole],
        "targets": [row.astype(np.int32) for row in targets],
        "token_lengths": [np.int32(n) for n in lengths],
    }


def select(batch: dict, part) -> dict:
    return {name: [rows[i] for i in part] for name, rows in batch.items()}


def first_value(name: str, shape) -> np.ndarray:
    numbers = 0.3 * np.random.default_rng(zlib.crc32(name.encode())).normal(size=shape)
    return numbers + ("norm" in name)


def prepared(machine, config=CONFIG, micro_batch=3, precision="fp64"):
    compiled = machine(text(config), micro_batch, precision)
    compiled.write({n: first_value(n, compiled.session.read(n).shape) for n in compiled.session.parameters})
    return compiled


def reference(compiled, config=CONFIG) -> CodecLm:
    model = CodecLm(config).double()
    model.load_state_dict({n: torch.from_numpy(v.copy()).double() for n, v in compiled.read().items()})
    return model


def backward(model, batch: dict, bucket: dict = CONFIG.buckets[1]) -> float:
    """Gradients of the mean over the targets that count; returns it."""
    model.zero_grad()
    wide = lambda rows: torch.tensor(np.stack([np.pad(r, (0, bucket["frames"] - len(r))) for r in rows]))  # noqa: E731
    total, count = model.loss(wide(batch["tokens"]), wide(batch["targets"]), torch.tensor(batch["token_lengths"]))
    (total / max(count, 1)).backward()
    return float(total.detach()) / max(count, 1)


def gradients(model) -> dict[str, np.ndarray]:
    return {n: p.grad.numpy().copy() for n, p in model.named_parameters()}


def test_parameters_are_the_model_files():
    _, written = build(CONFIG)
    expected = {name: p.shape for name, p in written.named_parameters()}
    assert {name: tuple(p.shape) for name, p in CodecLm(CONFIG).named_parameters()} == expected


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_gradients_are_those_of_pytorch(machine, precision):
    compiled, batch = prepared(machine, precision=precision), streams()
    model = reference(compiled)
    expected_loss = backward(model, batch)
    losses = compiled.gradients(compiled.cut(batch, 1))
    assert losses["token"] == pytest.approx(expected_loss, rel=TOLERANCE[precision])
    error, name = worst_error(compiled.read("grad:"), gradients(model), 1e-3)
    assert error <= TOLERANCE[precision], name


def test_ten_updates(machine):
    few = replace(CONFIG, tokens=50)
    compiled, batch = prepared(machine, few), streams([48, 20, 7, 33], few.tokens)
    model = reference(compiled, few)
    told = compiled.session.manifest["optimizer"]
    keys = ("beta1", "beta2", "epsilon", "grad_clip")
    optimizer = Optimizer(model, **{key: told[key] for key in keys}, weight_decay=0.01)
    micro = compiled.cut(batch, 0)
    for update in range(1, 11):
        loss = backward(model, batch, few.buckets[0])
        optimizer.update(1e-3)
        step = compiled.step(micro, lr=1e-3, update=update, weight_decay=0.01)
        assert step["losses"]["token"] == pytest.approx(loss, rel=1e-10)
    expected = {n: p.detach().numpy() for n, p in model.named_parameters()}
    error, name = worst_error(compiled.read(), expected, 1e-3)
    assert error <= 1e-10, name


@pytest.mark.parametrize(("precision", "tolerance"), [("fp64", 1e-12), ("fp32", 1e-6)])
def test_splits_change_rounding_only(machine, precision, tolerance):
    """k × (B/k) equals B, in the loss and in every gradient, whichever utterances share a micro-batch."""
    batch, found = streams(), {}
    for micro_batch in (8, 4, 2, 1):
        compiled = prepared(machine, micro_batch=micro_batch, precision=precision)
        found[micro_batch] = compiled.gradients(compiled.cut(batch, 1)), compiled.read("grad:")
    losses, whole = found.pop(8)
    for split_losses, split in found.values():
        assert split_losses["token"] == pytest.approx(losses["token"], rel=tolerance)
        assert global_error(split, whole) <= tolerance


def test_a_longer_bucket_changes_no_bit_of_the_loss(machine):
    """Neither padding nor what stands in it; the gradients by the rounding of longer sums."""
    compiled, batch = prepared(machine, precision="fp32"), streams([48, 31, 7])
    short = compiled.gradients(compiled.cut(batch, 0)), compiled.read("grad:")
    micro = compiled.cut(batch, 1)
    for _, inputs in micro:
        for slot, length in enumerate(inputs["token_lengths"]):
            inputs["tokens"][slot, length:] = inputs["targets"][slot, length:] = 7
    long = compiled.gradients(micro), compiled.read("grad:")
    assert long[0] == short[0]
    assert global_error(long[1], short[1]) <= 1e-6


def test_all_targets_ignored_give_zero(machine):
    """Rows with nothing to predict, empty slots and a whole batch of both: 0, gradients of 0, never NaN."""
    compiled, batch = prepared(machine), streams([40, 12, 0])
    for row in batch["targets"]:
        row[:] = IGNORE
    micro = compiled.cut(batch, 0)
    compiled.load(micro[0])
    compiled.session.run("denominators")
    assert compiled.session.read("denominator:token").item() == 0
    step = compiled.step(micro, lr=0.0)
    assert step["losses"]["token"] == 0 and step["grad_norm"] == 0
    assert all(not gradient.any() for gradient in compiled.read("grad:").values())


def test_ignored_rows_beside_others_add_nothing(machine):
    compiled, batch = prepared(machine), streams([40, 12])
    one = compiled.gradients(compiled.cut(select(batch, [0]), 0)), compiled.read("grad:")
    batch["targets"][1][:] = IGNORE
    both = compiled.gradients(compiled.cut(batch, 0)), compiled.read("grad:")
    assert both[0] == pytest.approx(one[0], rel=1e-14)
    assert worst_error(both[1], one[1], 1e-3)[0] <= 1e-12


def test_what_comes_later_is_not_seen(machine):
    """The loss of the first steps does not change with the tokens behind them."""
    compiled, batch = prepared(machine), streams([40])
    batch["targets"][0][20:] = IGNORE
    first = compiled.gradients(compiled.cut(batch, 0))
    batch["tokens"][0][20:] = 1
    assert compiled.gradients(compiled.cut(batch, 0)) == first
    batch["tokens"][0][19] += 1
    assert compiled.gradients(compiled.cut(batch, 0)) != first
