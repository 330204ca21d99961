"""Gradients of compiled one-op models against central differences of their own forward program, in f64.

A case builds `op(x…)`; its loss is Σ op(x…) ⊙ fixed weights over the elements that count. A tensor operand with
symbolic dimensions is scale[channel] · data + offset, so that a parameter's gradient takes in every element of dx.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tts import nn
from tts.nn import ops

BATCH, TIME, FRAMES = 3, 6, 9
LENGTHS = [6, 4, 0]  # a full one, a padded one, an empty slot
FRAME_LENGTHS = [9, 7, 0]
BUCKET = {"text": TIME, "frames": FRAMES}


@dataclass
class Case:
    """`build(graph, make)` returns the op's result; `make` gives operands (see Maker)."""

    name: str
    build: Callable
    padding_counts: bool = False  # weights beyond the lengths too


class Maker:
    """Operands of a case and their numbers."""

    def __init__(self, graph: nn.Graph, rng: np.random.Generator):
        self.graph, self.rng = graph, rng
        self.parameters: dict[str, np.ndarray] = {}
        self.inputs: dict[str, np.ndarray] = {}
        self.lengths = self._lengths("lengths", "text", LENGTHS)

    def _lengths(self, name: str, time: str, values):
        self.inputs[name] = np.int32(values)
        return self.graph.input(name, ("batch",), "i32", lengths=time)

    def lengths_of(self, y: nn.Value):
        if "frames" not in y.shape:
            return self.lengths
        return self._lengths("frame_lengths", "frames", FRAME_LENGTHS)

    def numbers(self, shape, positive=False) -> np.ndarray:
        size = self.rng.uniform(0.3, 1.3, shape)
        return size if positive else size * self.rng.choice([-1.0, 1.0], shape)

    def parameter(self, name: str, *shape: int, positive=False):
        self.parameters[name] = self.numbers(shape, positive)
        return self.graph.parameter(name, shape, "zeros")

    def data(self, name: str, *shape, positive=False):
        sizes = {"batch": BATCH, "text": TIME, "frames": FRAMES}
        self.inputs[name] = self.numbers([sizes.get(s, s) for s in shape], positive).astype(np.float32)
        return self.graph.input(name, shape)

    def integers(self, name: str, values):
        self.inputs[name] = np.asarray(values, np.int32)
        return self.graph.input(name, ("batch", "text"), "i32")

    def operand(self, name: str, channels: int | None = 5, time: str = "text", positive=False):
        """[batch, time, channels], or [batch, time] without channels; its parameter is `name`."""
        shape = ("batch", time, channels)[: 3 if channels else 2]
        scale = self.parameter(name, *([channels] if channels else []), positive=positive)
        data = self.data(f"{name}_data", *shape, positive=positive)
        x = ops.mul(ops.broadcast(scale, shape, [2] if channels else [], name=f"{name}_scale"), data, name=f"{name}_x")
        return x if positive else ops.add(x, self.data(f"{name}_offset", *shape), name=name)


@dataclass
class Model:
    """The text of a case's model and its numbers."""

    text: str
    parameters: dict[str, np.ndarray]
    inputs: dict[str, np.ndarray]


def model(case: Case) -> Model:
    graph = nn.Graph()
    make = Maker(graph, np.random.default_rng(5 + sum(case.name.encode())))
    y = case.build(graph, make)
    if y.shape:
        weighted = ops.mul(y, _weights(make, y, case.padding_counts), name="weighted")
        y = ops.sum_to(weighted, [], name="total")
    graph.loss("l", y, ops.count(make.lengths, name="count"))
    if "utterance" in graph.arguments:
        make.inputs["utterance"] = np.int64([4, 17, -1])
    sizes = {name: size for name, size in BUCKET.items() if name == "text" or "frame_lengths" in make.inputs}
    return Model(
        graph.text(batch=BATCH, buckets=[sizes], hardware="host", optimizer="sgd"), make.parameters, make.inputs
    )


def _weights(make: Maker, y: nn.Value, padding_counts: bool):
    """Fixed numbers in y's shape, zero beyond the lengths or not."""
    if isinstance(y.shape[0], str):
        weights = make.data("weights", *y.shape)
        if padding_counts or len(y.shape) == 1:
            return weights
        return ops.mask(weights, make.lengths_of(y), name="weights_mask")
    make.parameters["weights"] = make.numbers(y.shape)
    return make.graph.parameter("weights", y.shape, "zeros", frozen=True)


def check(compiled, case_model: Model, step: float = 2e-3) -> dict[str, float]:
    """Relative error of each parameter's gradient: |found - differences| over the norm of the larger."""
    session = compiled.session
    compiled.write(case_model.parameters)
    for name, array in case_model.inputs.items():
        session.set_input(name, 0, array)
    session.set_scalars(seed=5, update=3)
    session.set_denominators({"l": 1.0})
    session.run("zero")
    session.run("forward")
    session.run("backward")
    found = compiled.read("grad:")

    def loss(name: str, index, change: float) -> float:
        changed = np.array(case_model.parameters[name])
        changed[index] += change
        session.write(name, changed)
        session.run("forward")
        return session.read("loss:l").item()

    errors = {}
    for name, gradient in found.items():
        expected = np.zeros_like(gradient)
        for index in np.ndindex(gradient.shape):
            coarse, fine = ((loss(name, index, h) - loss(name, index, -h)) / (2 * h) for h in (step, step / 2))
            expected[index] = (4 * fine - coarse) / 3  # Richardson: the error is of fourth order
        session.write(name, case_model.parameters[name])
        scale = max(np.linalg.norm(expected), np.linalg.norm(gradient))
        errors[name] = float(np.linalg.norm(gradient - expected) / scale) if scale else 0.0
        assert scale, f"{name}: a gradient of zero proves nothing"
    return errors


# The cases


def _unary(name: str, positive=False) -> Case:
    op = getattr(ops, {"abs": "abs_"}.get(name, name))
    return Case(name, lambda g, m: op(m.operand("x", positive=positive)))


def _binary(name: str, channels: int | None) -> Case:
    op, positive = getattr(ops, name), name == "div"
    return Case(
        f"{name}_{'bt' if channels is None else 'btc'}",
        lambda g, m: op(m.operand("x", channels), m.operand("y", channels, positive=positive)),
    )


def _conv(name: str, taps: int, left: int | None) -> Case:
    return Case(name, lambda g, m: ops.conv1d(m.operand("x"), m.parameter("w", taps, 5, 4), left))


def _depthwise(name: str, taps: int, left: int | None) -> Case:
    return Case(name, lambda g, m: ops.depthwise_conv1d(m.operand("x"), m.parameter("w", taps, 5), left))


def _split(g, m: Maker):
    """The middle part goes unread."""
    first, _, last = ops.split(m.operand("x", 9), [4, 1, 4])
    return ops.mul(first, last)


def _attention(heads: int, **options) -> Case:
    return Case(
        "_".join(["attention", str(heads), *options]),
        lambda g, m: ops.attention(*(m.operand(n, 6) for n in "qkv"), m.lengths, heads, **options),
    )


def _grouped(heads: int, key_heads: int, **options) -> Case:
    """Two channels per head."""
    return Case(
        "_".join(["attention", str(heads), "on", str(key_heads), *options]),
        lambda g, m: ops.attention(
            m.operand("q", 2 * heads), *(m.operand(n, 2 * key_heads) for n in "kv"), m.lengths, heads, **options
        ),
    )


def _rms_norm(m: Maker):
    return ops.rms_norm_with_statistics(m.operand("x", 6), m.parameter("gamma", 6))


def _root_mean_squares(g, m: Maker):
    y, rstd = _rms_norm(m)
    return ops.add(ops.mul(rstd, rstd), ops.sum_to(ops.mul(y, y), [0, 1]))


def _cross_entropy(name: str, targets, **options) -> Case:
    return Case(
        name,
        lambda g, m: ops.linear_cross_entropy(
            m.operand("x"), m.parameter("w", 5, 7), m.integers("targets", targets), m.lengths, **options
        ),
    )


def _rows(m: Maker):
    """[batch, 5]"""
    return ops.sum_to(m.operand("x"), [0, 2])


def _layer_norm(m: Maker):
    return ops.layer_norm_with_statistics(m.operand("x", 6), m.parameter("gamma", 6), m.parameter("beta", 6))


def _statistics(g, m: Maker):
    """The mean and 1/deviation as results like any other, y as well."""
    y, mean, rstd = _layer_norm(m)
    return ops.add(ops.add(mean, ops.mul(rstd, rstd)), ops.sum_to(ops.mul(y, y), [0, 1]))


def _batch_norm(g, m: Maker, channels: int = 6):
    states = [g.parameter(f"running_{n}", (channels,), "ones", state=True) for n in ("mean", "var")]
    gamma, beta = m.parameter("gamma", channels), m.parameter("beta", channels)
    return ops.batch_norm(m.operand("x", channels), gamma, beta, *states, m.lengths)


def _batch_statistics(g, m: Maker):
    """All three results, also where none normalises."""
    n = ops.count(m.lengths, name="n")
    mean, rstd, variance = ops.batch_statistics(m.operand("x", 6), m.lengths, n, 0.1)
    return ops.add(ops.add(mean, ops.mul(rstd, rstd)), ops.mul(variance, mean))


def _batch_normalize(g, m: Maker):
    """The statistics as parameters."""
    mean, gamma, beta = (m.parameter(n, 6) for n in ("mean", "gamma", "beta"))
    return ops.batch_normalize(m.operand("x", 6), mean, m.parameter("rstd", 6, positive=True), gamma, beta)


def _loss(name: str, channels: int | None) -> Case:
    """The target is data: Differentiate refuses one that parameters reach."""
    op, shape = getattr(ops, name), ("batch", "text", channels)[: 3 if channels else 2]
    return Case(
        f"{name}_{'bt' if channels is None else 'btc'}",
        lambda g, m: op(m.operand("prediction", channels), m.data("target", *shape), m.lengths),
    )


DURATIONS = [[2, 0, 3, 1, 1, 2], [1, 4, 2, 0, 0, 0], [0] * 6]
IDS = [[1, 0, 3, 3, 6, 2], [2, 2, 1, 0, 9, -2], [0] * 6]  # 9 and -2, in the padding, lie outside the table

TARGETS = [[1, 0, -100, 3, 6, 2], [2, 7, -1, 0, 5, 4], [0] * 6]  # 7 and -1 are no classes; 5, 4 stand in the padding

CASES = [
    *(_unary(n) for n in "neg abs relu gelu mish tanh sigmoid silu exp sin cos".split()),
    *(_unary(n, positive=True) for n in "log log1p sqrt rsqrt".split()),
    *(_binary(n, c) for n in "add sub mul div".split() for c in (5, None)),
    Case("broadcast_0", lambda g, m: ops.broadcast(m.parameter("x"), ("batch", "text"), [])),
    Case("broadcast_1", lambda g, m: ops.broadcast(m.parameter("x", 5), ("batch", "text", 5), [2])),
    Case("broadcast_bt", lambda g, m: ops.broadcast(m.operand("x", None), ("batch", "text", 5), [0, 1])),
    Case("sum_to_prefix", lambda g, m: ops.sum_to(m.operand("x"), [0, 1])),
    Case("sum_to_batch", lambda g, m: ops.sum_to(m.operand("x"), [0])),
    Case("sum_to_last", lambda g, m: ops.sum_to(m.operand("x"), [2])),
    Case("broadcast_bc", lambda g, m: ops.broadcast(_rows(m), ("batch", "text", 5), [0, 2])),
    Case("sum_to_time", lambda g, m: ops.sum_to(m.operand("x"), [0, 2])),
    Case("sum_to_all", lambda g, m: ops.sum_to(m.operand("x"), [])),
    Case("concat", lambda g, m: ops.concat(m.operand("x", 3), m.operand("y", 1), m.operand("z", 4))),
    Case("split", _split),
    Case("squeeze", lambda g, m: ops.squeeze(m.operand("x", 1), 2)),
    Case("unsqueeze", lambda g, m: ops.unsqueeze(m.operand("x", None), 2)),
    Case("mask_btc", lambda g, m: ops.mask(m.operand("x"), m.lengths), True),
    Case("mask_bt", lambda g, m: ops.mask(m.operand("x", None), m.lengths), True),
    Case("rotary", lambda g, m: ops.rotary(m.operand("x", 12), ops.sinusoid(g, "text", 6), 2)),
    Case("rotary_one_head", lambda g, m: ops.rotary(m.operand("x", 6), ops.sinusoid(g, "text", 6), 1)),
    Case("embedding", lambda g, m: ops.embedding(m.integers("ids", IDS), m.parameter("table", 7, 5))),
    Case(
        "length_regulate",
        lambda g, m: ops.length_regulate(m.operand("x"), m.integers("durations", DURATIONS), "frames"),
    ),
    Case("dropout_btc", lambda g, m: ops.dropout(m.operand("x", 7), 0.4)),
    Case("dropout_bt", lambda g, m: ops.dropout(m.operand("x", None), 0.4)),
    Case("linear", lambda g, m: ops.linear(m.operand("x"), m.parameter("w", 5, 4))),
    Case("linear_transpose", lambda g, m: ops.linear(m.operand("x"), m.parameter("w", 4, 5), transpose=True)),
    _conv("conv1d", 3, None),
    _conv("conv1d_one_tap", 1, None),
    _conv("conv1d_causal", 4, 3),
    _conv("conv1d_longer_than_the_text", 9, None),
    Case("conv1d_groups", lambda g, m: ops.conv1d(m.operand("x", 6), m.parameter("w", 3, 2, 9), groups=3)),
    Case("conv1d_many_groups", lambda g, m: ops.conv1d(m.operand("x", 8), m.parameter("w", 4, 1, 8), groups=8)),
    _depthwise("depthwise_conv1d", 3, None),
    _depthwise("depthwise_conv1d_causal", 4, 3),
    _depthwise("depthwise_conv1d_longer_than_the_text", 13, None),
    _attention(1),
    _attention(2),
    _attention(2, causal=True),
    _attention(1, dropout=0.3),
    _attention(2, causal=True, dropout=0.3),
    _grouped(4, 2),
    _grouped(4, 2, causal=True),
    _grouped(3, 1, causal=True),
    _grouped(4, 2, causal=True, dropout=0.3),
    _cross_entropy("cross_entropy", TARGETS),
    _cross_entropy("cross_entropy_ignores_a_class", TARGETS, ignore_index=3),
    Case("rms_norm", lambda g, m: _rms_norm(m)[0]),
    Case("rms_norm_statistics", _root_mean_squares),
    Case("time_norm", lambda g, m: ops.time_norm(m.operand("x"))),
    Case("layer_norm", lambda g, m: _layer_norm(m)[0]),
    Case("layer_norm_statistics", _statistics),
    Case("batch_norm", _batch_norm),
    Case("batch_norm_padding", lambda g, m: _batch_norm(g, m, 35), True),
    Case("batch_statistics", _batch_statistics),
    Case("batch_normalize", _batch_normalize),
    *(_loss(n, c) for n in ("l1_loss", "mse_loss") for c in (5, None)),
]
