"""Batch normalisation against PyTorch's and against one written by hand over the valid frames; its running statistics.

Report 24: statistics of parts of a batch are others than the batch's, padding enters them, and a step that is run twice
advances the running ones twice.
"""

import numpy as np
import pytest
import torch

from machine import RuntimeFailure
from reference_batch_norm import MaskedNorm
from tts import nn
from tts.nn import ops

CHANNELS, TIME = 5, 6
PADDED = [6, 4, 1, 3]
FULL = [6, 6, 6, 6]


class Layer(nn.Module):
    """Linear → BatchNorm → tanh → BatchNorm: the second one's gradient goes through the first one's statistics."""

    def __init__(self, inputs: int, channels: int):
        super().__init__()
        self.linear = nn.Linear(inputs, channels)
        self.norm = nn.BatchNorm1d(channels)
        self.last = nn.BatchNorm1d(channels, epsilon=1e-3, momentum=0.3)

    def forward(self, x, lengths):
        return self.last(ops.tanh(self.norm(self.linear(x), lengths)), lengths)


class Plain(nn.Module):
    """One BatchNorm on data."""

    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm1d(channels)

    def forward(self, x, lengths):
        return self.norm(x, lengths)


def model(make, channels: int, batch: int = 4, buckets=({"text": TIME},), **settings) -> str:
    graph = nn.Graph()
    x = graph.input("x", ("batch", "text", channels))
    target = graph.input("target", ("batch", "text", channels))
    lengths = graph.input("lengths", ("batch",), "i32", lengths="text")
    y = make().bind(graph)(x, lengths)
    graph.loss("l", ops.mse_loss(y, target, lengths), ops.count(lengths))
    graph.output("y", y)
    told = {"optimizer": "sgd", "hardware": "host"} | settings
    return graph.text(batch=batch, buckets=list(buckets), **told)


def layer(**settings) -> str:
    return model(lambda: Layer(CHANNELS, CHANNELS), CHANNELS, **settings)


def batch_of(lengths, seed=0) -> dict:
    rng = np.random.default_rng(seed)
    made = {n: [np.float32(rng.normal(0.7, 2.0, (k, CHANNELS))) for k in lengths] for n in ("x", "target")}
    return made | {"lengths": np.int32(lengths)}


def weights(seed=1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    drawn = {"linear.weight": rng.normal(size=(CHANNELS, CHANNELS)), "linear.bias": rng.normal(size=CHANNELS)}
    for norm in ("norm", "last"):
        drawn |= {f"{norm}.weight": rng.uniform(0.5, 2, CHANNELS), f"{norm}.bias": rng.normal(size=CHANNELS)}
    return drawn


class WholeNorm(torch.nn.BatchNorm1d):
    """PyTorch's own, which knows no padding."""

    def forward(self, x, keep):
        assert keep.all()
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class Reference(torch.nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.linear = torch.nn.Linear(CHANNELS, CHANNELS)
        self.norm, self.last = norm(CHANNELS), norm(CHANNELS, eps=1e-3, momentum=0.3)
        self.double()

    def forward(self, x, keep):
        return self.last(torch.tanh(self.norm(self.linear(x), keep)), keep)

    def load(self, values: dict):
        """Our linear weights are [in, out]."""
        told = {n: torch.tensor(v.T if n == "linear.weight" else v) for n, v in values.items()}
        self.load_state_dict(told, strict=False)

    def read(self, of) -> dict[str, np.ndarray]:
        found = {n: of(p) for n, p in self.named_parameters()}
        return {n: v.detach().numpy().T if n == "linear.weight" else v.detach().numpy() for n, v in found.items()}


def reference_step(reference, micro, lr: float) -> float:
    (_, inputs) = micro
    x, target = (torch.tensor(inputs[n], dtype=torch.float64) for n in ("x", "target"))
    keep = torch.arange(x.shape[1])[None] < torch.tensor(inputs["lengths"])[:, None]
    reference.zero_grad()
    loss = ((reference(x, keep) - target)[keep] ** 2).sum() / keep.sum()
    loss.backward()
    with torch.no_grad():
        for p in reference.parameters():
            p -= lr * p.grad
    return loss.item()


def states_of(compiled) -> dict[str, np.ndarray]:
    names = [f"{norm}.{kind}" for norm in ("norm", "last") for kind in ("running_mean", "running_var")]
    return compiled.read("", names)


@pytest.mark.parametrize("norm, lengths", [(WholeNorm, FULL), (MaskedNorm, FULL), (MaskedNorm, PADDED)])
def test_updates_are_pytorchs(machine, norm, lengths):
    """Three updates: losses, gradients, weights and running statistics."""
    compiled, reference = machine(layer(), 4), Reference(norm)
    compiled.session.initialise(0)
    compiled.write(weights())
    reference.load(weights())
    for update in (1, 2, 3):
        (micro,) = compiled.cut(batch_of(lengths, seed=update))
        told = compiled.step([micro], lr=0.1, update=update)
        found = compiled.read("grad:")
        assert told["loss"] == pytest.approx(reference_step(reference, micro, 0.1), rel=1e-12)
        for name, expected in reference.read(lambda p: p.grad).items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-9, atol=1e-12, err_msg=name)
    for name, expected in reference.read(lambda p: p).items():
        np.testing.assert_allclose(compiled.read()[name], expected, rtol=1e-10, err_msg=name)
    running = {n: b.numpy() for n, b in reference.named_buffers() if "running" in n}
    for name, expected in running.items():
        np.testing.assert_allclose(states_of(compiled)[name], expected, rtol=1e-10, err_msg=name)


def test_evaluation_takes_the_running_statistics(machine):
    compiled, reference = machine(layer(), 4), Reference(WholeNorm)
    compiled.session.initialise(0)
    compiled.write(weights())
    reference.load(weights())
    (micro,) = compiled.cut(batch_of(FULL))
    compiled.step([micro], lr=0.0)
    reference_step(reference, micro, 0.0)
    before = states_of(compiled)
    y = compiled.evaluate(micro)["y"]
    reference.eval()
    x = torch.tensor(micro[1]["x"], dtype=torch.float64)
    expected = reference(x, torch.ones(x.shape[:2], dtype=torch.bool)).detach().numpy()
    np.testing.assert_allclose(y, expected, rtol=1e-10, atol=1e-12)
    assert all((before[n] == v).all() for n, v in states_of(compiled).items()), "evaluation moved a state"


@pytest.mark.parametrize("padding", [0.0, 7.0])
@pytest.mark.parametrize("bucket", [{"text": TIME}, {"text": 11}])
def test_padding_and_empty_slots_weigh_nothing(machine, padding, bucket):
    """The same three utterances alone, without a slot or a frame too many."""
    alone = machine(model(lambda: Layer(CHANNELS, CHANNELS), CHANNELS, batch=3), 3)
    other = machine(layer(buckets=[bucket]), 4)
    for compiled, value in ((alone, 0.0), (other, padding)):
        compiled.session.initialise(0)
        compiled.write(weights())
        compiled.step(compiled.cut(batch_of([6, 2, 5]), padding=value), lr=0.1)
    for prefix, names in (("grad:", None), ("", None), ("", list(states_of(alone)))):
        expected = alone.read(prefix, names)
        for name, value in other.read(prefix, names).items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_an_update_without_frames(machine):
    """Nothing becomes NaN, nothing moves."""
    compiled = machine(layer(), 4)
    compiled.session.initialise(0)
    compiled.write(weights())
    before = compiled.read() | states_of(compiled)
    told = compiled.step(compiled.cut(batch_of([0, 0, 0, 0])), lr=0.1)
    assert told["loss"] == 0.0 and told["grad_norm"] == 0.0
    for name, value in (compiled.read() | states_of(compiled)).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_a_single_frame(machine):
    """Its variance is 0, biased or not."""
    compiled = machine(model(lambda: Plain(1), 1), 4)
    compiled.session.initialise(0)
    one = {"x": [np.float32([[4.0]])], "target": [np.float32([[1.0]])], "lengths": np.int32([1])}
    told = compiled.step(compiled.cut(one), lr=0.0)
    assert told["loss"] == 1.0
    assert compiled.read("", ["norm.running_mean", "norm.running_var"]) == {
        "norm.running_mean": pytest.approx(0.4),
        "norm.running_var": pytest.approx(0.9),
    }


# Report 24, in its own numbers


def frames(*values):
    rows = [np.float32([[v]]) for v in values]
    return {"x": rows, "target": [0 * r for r in rows], "lengths": np.int32([1] * len(rows))}


def running(compiled):
    return tuple(compiled.session.read(f"norm.running_{kind}").item() for kind in ("mean", "var"))


def plain(machine):
    compiled = machine(model(lambda: Plain(1), 1), 4)
    compiled.session.initialise(0)
    return compiled


def test_report_24(machine):
    compiled = plain(machine)
    (micro,) = compiled.cut(frames(0, 2, 4, 6))
    told = compiled.step([micro], lr=0.0)
    assert told["loss"] == pytest.approx(5 / (5 + 1e-5)), "Σ y² / n is the share of the variance"
    assert running(compiled) == pytest.approx((0.3, 0.9 + 0.1 * 20 / 3), rel=1e-12)


def test_report_24_planted(machine):
    """Two micro-batches that each take statistics of their own: 0.59 and 1.19."""
    compiled = plain(machine)
    for update, half in enumerate(((0, 2), (4, 6)), 1):
        compiled.step(compiled.cut(frames(*half)), lr=0.0, update=update)
    assert running(compiled) == pytest.approx((0.59, 1.19), rel=1e-12)


def test_running_forward_again_advances_nothing(machine):
    """As recomputation does, or a search for the first NaN: only update takes the new statistics over."""
    compiled = plain(machine)
    (micro,) = compiled.cut(frames(0, 2, 4, 6))
    for _ in range(3):
        compiled.gradients([micro])
        assert compiled.session.read("next:norm.running_mean").item() == pytest.approx(0.3, rel=1e-12)
    assert running(compiled) == (0.0, 1.0)
    compiled.step([micro], lr=0.0)
    assert running(compiled) == pytest.approx((0.3, 0.9 + 0.1 * 20 / 3), rel=1e-12)


def test_a_non_finite_update_leaves_the_running_statistics(machine):
    compiled = plain(machine)
    bad = frames(0, 2, 4, 6)
    bad["target"][1] = np.float32([[np.inf]])
    with pytest.raises(RuntimeFailure) as failure:
        compiled.step(compiled.cut(bad), lr=0.1)
    assert failure.value.code == 5
    assert running(compiled) == (0.0, 1.0)


@pytest.mark.parametrize("machine", ["compiled"], indirect=True)
def test_the_library_refuses_a_split_update(machine):
    compiled = plain(machine)
    halves = [compiled.cut(frames(*half))[0] for half in ((0, 2), (4, 6))]
    with pytest.raises(RuntimeFailure, match=r"norm\.batch_norm: .*together.* 2 micro-batches; give one") as failure:
        compiled.step(halves, lr=0.1)
    assert failure.value.code == 1
    assert running(compiled) == (0.0, 1.0)
