"""The layers models are made of; weights are [in, out] and [taps, in, out], initial values those of PyTorch's layers."""

import math

from tts.nn import ops
from tts.nn.graph import Value
from tts.nn.module import Module, Parameter
from tts.nn.types import float_text


def fan_in_uniform(fan_in: int) -> str:
    """Uniform in ±1/√fan_in."""
    bound = 1.0 / math.sqrt(fan_in)
    return f"uniform, {float_text(-bound)}, {float_text(bound)}"


def normal(std: float) -> str:
    return f"normal, {float_text(std)}"


def linspace(low: float, high: float) -> str:
    return f"linspace, {float_text(low)}, {float_text(high)}"


def add_bias(y: Value, bias: Value) -> Value:
    """Adds one number per channel."""
    return ops.add(y, ops.broadcast(bias, y.shape, [y.type.rank - 1], name="bias"), name="add_bias")


class Linear(Module):
    def __init__(self, inputs: int, outputs: int, bias: bool = True, init: str | None = None):
        super().__init__()
        self.weight = Parameter((inputs, outputs), init or fan_in_uniform(inputs))
        self.has_bias = bias
        if bias:
            self.bias = Parameter((outputs,), "zeros")

    def forward(self, x):
        y = ops.linear(x, self.weight)
        return add_bias(y, self.bias) if self.has_bias else y


class Conv1d(Module):
    """A convolution along time that keeps the length; `causal` reads the past only, `groups` mixes runs of channels."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int, bias: bool = True, causal: bool = False, groups: int = 1
    ):
        super().__init__()
        each = inputs // groups
        self.weight = Parameter((kernel, each, outputs), fan_in_uniform(kernel * each))
        self.left = kernel - 1 if causal else (kernel - 1) // 2
        self.groups, self.has_bias = groups, bias
        if bias:
            self.bias = Parameter((outputs,), "zeros")

    def forward(self, x):
        y = ops.conv1d(x, self.weight, self.left, self.groups)
        return add_bias(y, self.bias) if self.has_bias else y


class DepthwiseConv1d(Module):
    """A centred convolution along time for each channel by itself."""

    def __init__(self, channels: int, kernel: int):
        super().__init__()
        self.weight = Parameter((kernel, channels), fan_in_uniform(kernel))
        self.bias = Parameter((channels,), "zeros")

    def forward(self, x):
        return add_bias(ops.depthwise_conv1d(x, self.weight), self.bias)


class LayerNorm(Module):
    """With weight and bias, or without `affine`: then 1 and 0 stand in their places."""

    def __init__(self, channels: int, epsilon: float = 1e-5, affine: bool = True):
        super().__init__()
        self.channels, self.epsilon, self.affine = channels, epsilon, affine
        if affine:
            self.weight = Parameter((channels,), "ones")
            self.bias = Parameter((channels,), "zeros")

    def forward(self, x):
        if self.affine:
            return ops.layer_norm(x, self.weight, self.bias, self.epsilon)
        one, zero = (ops.full(x.graph, value, (self.channels,)) for value in (1.0, 0.0))
        return ops.layer_norm(x, one, zero, self.epsilon)


class BatchNorm1d(Module):
    """Normalises each channel over the valid frames of the whole update; the running statistics serve eval and infer.

    Names, momentum and epsilon are those of PyTorch's BatchNorm1d. Training keeps the update in one micro-batch.
    """

    def __init__(self, channels: int, epsilon: float = 1e-5, momentum: float = 0.1):
        super().__init__()
        self.weight = Parameter((channels,), "ones")
        self.bias = Parameter((channels,), "zeros")
        self.running_mean = Parameter((channels,), "zeros", state=True)
        self.running_var = Parameter((channels,), "ones", state=True)
        self.epsilon, self.momentum = epsilon, momentum

    def forward(self, x, lengths):
        running = self.running_mean, self.running_var
        if x.graph.training:
            return ops.batch_norm(x, self.weight, self.bias, *running, lengths, self.epsilon, self.momentum)
        mean, variance = running
        epsilon = ops.full(x.graph, self.epsilon, variance.shape, name="epsilon")
        rstd = ops.rsqrt(ops.add(variance, epsilon, name="variance"), name="rstd")
        return ops.batch_normalize(x, mean, rstd, self.weight, self.bias)


class RmsNorm(Module):
    def __init__(self, channels: int, epsilon: float = 1e-6):
        super().__init__()
        self.weight = Parameter((channels,), "ones")
        self.epsilon = epsilon

    def forward(self, x):
        return ops.rms_norm(x, self.weight, self.epsilon)


class Embedding(Module):
    def __init__(self, rows: int, channels: int, std: float = 1.0):
        super().__init__()
        self.weight = Parameter((rows, channels), normal(std))

    def forward(self, ids):
        return ops.embedding(ids, self.weight)


class Dropout(Module):
    """Dropout in training; with rate 0, and in infer, nothing is written."""

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        return ops.dropout(x, self.rate) if self.rate > 0 and x.graph.training else x


class SelfAttention(Module):
    """Multi-head self-attention with key lengths: query, key, value, output projections.

    `causal` hides the keys behind a query; `dropout` is the rate at which probabilities are dropped in training.
    """

    def __init__(self, channels: int, heads: int, causal: bool = False, dropout: float = 0.0):
        super().__init__()
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.query = Linear(channels, channels)
        self.key = Linear(channels, channels)
        self.value = Linear(channels, channels)
        self.output = Linear(channels, channels)

    def forward(self, x, lengths):
        q, k, v = self.query(x), self.key(x), self.value(x)
        dropout = self.dropout if x.graph.training else 0.0
        return self.output(ops.attention(q, k, v, lengths, self.heads, self.causal, dropout))


class Sinusoid(Module):
    """Adds sinusoidal positions."""

    def forward(self, x):
        positions = ops.sinusoid(x.graph, x.shape[1], x.shape[2])
        return x + ops.broadcast(positions, x.shape, [1, 2])
