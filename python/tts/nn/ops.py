"""Every op that a model may use, as functions on values; shapes are checked where the model's author can read why."""

from tts.nn.graph import Graph, Value
from tts.nn.types import GraphError, TensorType, float_text

UNARY = "neg abs relu gelu mish tanh sigmoid silu exp log log1p sqrt rsqrt sin cos".split()
BINARY = "add sub mul div".split()


def _require(condition: bool, name: str, wrong: str, advice: str):
    if not condition:
        raise GraphError(f"{name}: {wrong}; {advice}")


def _require_float(name: str, *values: Value):
    for value in values:
        _require(value.type.is_float, name, f"{value.type} is no float tensor", "convert it with ops.cast")


def _require_lengths(name: str, lengths: Value, x: Value):
    _require(
        x.type.rank in (2, 3), name, f"{x.type} has no time dimension", "give [batch, time] or [batch, time, channel]"
    )
    _require(
        lengths.type == TensorType((x.shape[0],), "i32"),
        name,
        f"lengths are {lengths.type}",
        "give an i32 [batch] tensor",
    )


def _unary(mnemonic: str):
    def op(x: Value, name: str = mnemonic) -> Value:
        place = x.graph.op_name(name)
        _require_float(place, x)
        return x.graph.emit(place, f"{mnemonic} {x.name}", str(x.type), [x.type])

    op.__name__, op.__doc__ = mnemonic, f"Element-wise `tts.{mnemonic}`."
    return op


def _binary(mnemonic: str):
    def op(x: Value, y: Value, name: str = mnemonic) -> Value:
        place = x.graph.op_name(name)
        _require_float(place, x, y)
        _require(
            x.type == y.type,
            place,
            f"{x.type} and {y.type} differ",
            "broadcast one with ops.broadcast, nothing is implicit",
        )
        return x.graph.emit(place, f"{mnemonic} {x.name}, {y.name}", str(x.type), [x.type])

    op.__name__, op.__doc__ = mnemonic, f"Element-wise `tts.{mnemonic}` of equal shapes."
    return op


neg, abs_, relu, gelu, mish, tanh, sigmoid, silu, exp, log, log1p, sqrt, rsqrt, sin, cos = map(_unary, UNARY)
add, sub, mul, div = map(_binary, BINARY)


def cast(x: Value, dtype: str = "f32", name: str = "cast") -> Value:
    """The same numbers in another element type."""
    place, to = x.graph.op_name(name), TensorType(x.shape, dtype)
    _require(to.is_float, place, f"cast to {dtype}", "cast to a float type")
    return x.graph.emit(place, f"cast {x.name}", f"{x.type} to {to}", [to])


def round_to_int(x: Value, lengths: str | None = None, name: str = "round_to_int") -> Value:
    """The nearest i32, ties to even; with `lengths`, the result is each utterance's extent along that dimension."""
    place, to = x.graph.op_name(name), TensorType(x.shape, "i32")
    _require_float(place, x)
    attributes = {"tts.lengths": lengths} if lengths else None
    return x.graph.emit(place, f"round_to_int {x.name}", f"{x.type} to {to}", [to], attributes)


# Shape


def full(graph: Graph, value: float, shape=(), dtype: str = "f32", name: str = "full") -> Value:
    """A tensor of one constant."""
    kind = TensorType(tuple(shape), dtype)
    return graph.emit(graph.op_name(name), f"full {float_text(value)}", str(kind), [kind])


def broadcast(x: Value, shape, dims, name: str = "broadcast") -> Value:
    """Repeats `x`, whose dimension i is dimension dims[i] of `shape`."""
    place, to = x.graph.op_name(name), x.type.with_shape(shape)
    _require(
        len(dims) == x.type.rank and list(dims) == sorted(set(dims)) and all(0 <= d < to.rank for d in dims),
        place,
        f"dims {list(dims)} do not place {x.type} in {to}",
        "give one ascending dimension of the result per dimension of x",
    )
    for size, dim in zip(x.shape, dims):
        _require(size == to.shape[dim], place, f"size {size} meets {to.shape[dim]}", "only new dimensions repeat")
    return x.graph.emit(place, f"broadcast {x.name} dims {list(dims)}", f"{x.type} to {to}", [to])


def sum_to(x: Value, dims, name: str = "sum_to") -> Value:
    """Sums over every dimension not in `dims`; `[]` gives one number."""
    place = x.graph.op_name(name)
    prefix, last, over_time = list(range(len(dims))), [x.type.rank - 1], [0, 2] if x.type.rank == 3 else None
    _require(
        list(dims) in (prefix, last, over_time),
        place,
        f"dims {list(dims)} of {x.type}",
        "keep a prefix, the last dimension, all but time, or none",
    )
    to = x.type.with_shape(x.shape[d] for d in dims)
    return x.graph.emit(place, f"sum_to {x.name} dims {list(dims)}", f"{x.type} to {to}", [to])


def concat(*parts: Value, name: str = "concat") -> Value:
    """Tensors side by side along their last dimension."""
    x = parts[0]
    place = x.graph.op_name(name)
    for part in parts:
        _require(
            isinstance(part.shape[-1], int) and part.type == x.type.with_shape((*x.shape[:-1], part.shape[-1])),
            place,
            f"{part.type} beside {x.type}",
            "give parts that differ in their last dimension only",
        )
    to = x.type.with_shape((*x.shape[:-1], sum(part.shape[-1] for part in parts)))
    names, types = ", ".join(part.name for part in parts), ", ".join(str(part.type) for part in parts)
    return x.graph.emit(place, f"concat {names}", f"{types} to {to}", [to])


def split(x: Value, sizes, name: str = "split") -> list[Value]:
    """The last dimension in parts of these sizes."""
    place, to = x.graph.op_name(name), [x.type.with_shape((*x.shape[:-1], size)) for size in sizes]
    _require(sum(sizes) == x.shape[-1], place, f"{list(sizes)} of {x.shape[-1]} channels", "give sizes that add up")
    parts = x.graph.emit(place, f"split {x.name}", f"{x.type} to {', '.join(map(str, to))}", to)
    return parts if isinstance(parts, list) else [parts]


def squeeze(x: Value, dim: int, name: str = "squeeze") -> Value:
    """Drops dimension `dim`, which has size 1."""
    place = x.graph.op_name(name)
    dim %= x.type.rank
    _require(
        x.shape[dim] == 1, place, f"dimension {dim} of {x.type} is not 1", "sum over it with ops.sum_to, or keep it"
    )
    to = x.type.with_shape(x.shape[:dim] + x.shape[dim + 1 :])
    return x.graph.emit(place, f"squeeze {x.name}", f"{x.type} to {to}", [to], {"dim": dim})


def unsqueeze(x: Value, dim: int, name: str = "unsqueeze") -> Value:
    """Inserts dimension `dim` of size 1."""
    dim %= x.type.rank + 1
    to = x.type.with_shape((*x.shape[:dim], 1, *x.shape[dim:]))
    return x.graph.emit(x.graph.op_name(name), f"unsqueeze {x.name}", f"{x.type} to {to}", [to], {"dim": dim})


def mask(x: Value, lengths: Value, name: str = "mask") -> Value:
    """Zero at time steps at or beyond the utterance's length."""
    place = x.graph.op_name(name)
    _require_lengths(place, lengths, x)
    return x.graph.emit(place, f"mask {x.name}, {lengths.name}", f"{x.type}, {lengths.type}", [x.type])


# Gathers and time


def embedding(ids: Value, table: Value, name: str = "embedding") -> Value:
    """Rows of `table`; an id outside it reads row 0."""
    place = ids.graph.op_name(name)
    _require(ids.type.dtype == "i32", place, f"ids are {ids.type}", "give i32 ids")
    _require(table.type.rank == 2, place, f"the table is {table.type}", "give [rows, channels]")
    to = table.type.with_shape((*ids.shape, table.shape[1]))
    return ids.graph.emit(place, f"embedding {ids.name}, {table.name}", f"{ids.type}, {table.type} to {to}", [to])


def sinusoid(graph: Graph, time: int | str, channels: int, name: str = "sinusoid") -> Value:
    """Sinusoidal positions [time, channels]."""
    place, kind = graph.op_name(name), TensorType((time, channels))
    _require(channels % 2 == 0, place, f"{channels} channels", "give an even number, for sine and cosine pairs")
    return graph.emit(place, "sinusoid", str(kind), [kind])


def rotary(x: Value, table: Value, heads: int, name: str = "rotary") -> Value:
    """Rotary positions: rotates the channel pairs of every head by the angles of `table`, an ops.sinusoid [time, d]."""
    place = x.graph.op_name(name)
    _require(x.type.rank == 3, place, f"x is {x.type}", "give [batch, time, heads·d]")
    _require(
        heads > 0 and table.shape[0] == x.shape[1] and table.shape[1] * heads == x.shape[2],
        place,
        f"the table is {table.type} for {heads} heads of {x.type}",
        "give [time, d], d channels per head",
    )
    types = f"{x.type}, {table.type}"
    return x.graph.emit(place, f"rotary {x.name}, {table.name}", types, [x.type], {"heads": heads})


def sinusoid_at(x: Value, channels: int, scale: float = 1.0, name: str = "sinusoid_at") -> Value:
    """Sinusoidal embedding [batch, channels] of one number per utterance."""
    place, to = x.graph.op_name(name), x.type.with_shape((*x.shape, channels))
    _require_float(place, x)
    _require(channels % 2 == 0, place, f"{channels} channels", "give an even number, for sine and cosine pairs")
    return x.graph.emit(place, f"sinusoid_at {x.name}", f"{x.type} to {to}", [to], {"scale": float(scale)})


def bucketize(x: Value, boundaries: Value, name: str = "bucketize") -> Value:
    """How many boundaries lie strictly below each x."""
    place, to = x.graph.op_name(name), TensorType(x.shape, "i32")
    _require_float(place, x, boundaries)
    _require(boundaries.type.rank == 1, place, f"boundaries are {boundaries.type}", "give one ascending vector")
    types = f"{x.type}, {boundaries.type} to {to}"
    return x.graph.emit(place, f"bucketize {x.name}, {boundaries.name}", types, [to])


def length_regulate(x: Value, durations: Value, time: int | str, name: str = "length_regulate") -> Value:
    """Repeats phone n durations[b, n] times along the new dimension `time`."""
    place = x.graph.op_name(name)
    _require(x.type.rank == 3, place, f"x is {x.type}", "give [batch, text, channel]")
    _require(
        durations.type == TensorType(x.shape[:2], "i32"),
        place,
        f"durations are {durations.type}",
        "give i32 [batch, text]",
    )
    to = x.type.with_shape((x.shape[0], time, x.shape[2]))
    types = f"{x.type}, {durations.type} to {to}"
    return x.graph.emit(place, f"length_regulate {x.name}, {durations.name}", types, [to])


def dropout(x: Value, rate: float, name: str = "dropout") -> Value:
    """Zeroes elements with probability `rate` in training; the op's name is the stream of its random numbers."""
    graph, place = x.graph, x.graph.op_name(name)
    _require(0.0 <= rate < 1.0, place, f"rate {rate}", "give a rate in [0, 1)")
    _require(x.type.rank in (2, 3), place, f"x is {x.type}", "give [batch, time] or [batch, time, channel]")
    utterances, draw = graph.utterances(), graph.draw()
    types = f"{x.type}, {utterances.type}, {draw.type}"
    attributes = {"rate": float(rate), "stream": place}
    return graph.emit(place, f"dropout {x.name}, {utterances.name}, {draw.name}", types, [x.type], attributes)


# Contractions and norms


def linear(x: Value, w: Value, transpose: bool = False, name: str = "linear") -> Value:
    """x · w over the last dimension; `w` is [in, out], or [out, in] with `transpose`."""
    place = x.graph.op_name(name)
    _require(w.type.rank == 2, place, f"the weight is {w.type}", "give [in, out]")
    inputs, outputs = w.shape[::-1] if transpose else w.shape
    _require(
        x.shape[-1] == inputs,
        place,
        f"{x.type} has {x.shape[-1]} channels, the weight takes {inputs}",
        "match them",
    )
    to = x.type.with_shape((*x.shape[:-1], outputs))
    attributes = {"transpose": True} if transpose else None
    return x.graph.emit(place, f"linear {x.name}, {w.name}", f"{x.type}, {w.type} to {to}", [to], attributes)


def conv1d(x: Value, w: Value, left: int | None = None, groups: int = 1, name: str = "conv1d") -> Value:
    """Convolution along time; `w` is [taps, in/groups, out]; `left` zeros stand before, half the kernel by default."""
    place = x.graph.op_name(name)
    _require(
        x.type.rank == 3 and w.type.rank == 3,
        place,
        f"{x.type} by {w.type}",
        "give [batch, time, in] and [taps, in, out]",
    )
    _require(
        x.shape[2] == w.shape[1] * groups and w.shape[2] % groups == 0,
        place,
        f"{x.type} has {x.shape[2]} channels, the weight takes {w.shape[1] * groups} and gives {w.shape[2]}",
        f"match them, in {groups} equal groups" if groups > 1 else "match them",
    )
    attributes = {"left": (w.shape[0] - 1) // 2 if left is None else left}
    if groups > 1:
        attributes["groups"] = groups
    to = x.type.with_shape((*x.shape[:2], w.shape[2]))
    return x.graph.emit(place, f"conv1d {x.name}, {w.name}", f"{x.type}, {w.type} to {to}", [to], attributes)


def depthwise_conv1d(x: Value, w: Value, left: int | None = None, name: str = "depthwise_conv1d") -> Value:
    """A convolution along time for each channel by itself; `w` is [taps, channel]."""
    place = x.graph.op_name(name)
    _require(
        x.type.rank == 3 and w.type.rank == 2 and x.shape[2] == w.shape[1],
        place,
        f"{x.type} by {w.type}",
        "give [batch, time, channel] and [taps, channel]",
    )
    left = (w.shape[0] - 1) // 2 if left is None else left
    types = f"{x.type}, {w.type}"
    return x.graph.emit(place, f"depthwise_conv1d {x.name}, {w.name}", types, [x.type], {"left": left})


def attention(
    q: Value,
    k: Value,
    v: Value,
    lengths: Value,
    heads: int,
    causal: bool = False,
    dropout: float = 0.0,
    name: str = "attention",
) -> Value:
    """Multi-head self-attention over the keys below each utterance's length; `causal` hides the keys behind a query.

    Keys and values may have fewer heads than queries, a divisor of `heads`, as their channels tell. In training each
    probability is dropped at the rate `dropout`; the op's name is the stream of its random numbers.
    """
    graph, place = q.graph, q.graph.op_name(name)
    given = f"q, k, v are {q.type}, {k.type}, {v.type}"
    _require(k.type == v.type, place, given, "give k and v equal types")
    _require(q.type.with_shape(()) == k.type.with_shape(()), place, given, "give one element type")
    _require_lengths(place, lengths, q)
    _require(q.shape[2] % heads == 0, place, f"{q.shape[2]} channels for {heads} heads", "choose a divisor")
    depth = q.shape[2] // heads
    _require(
        k.shape[:2] == q.shape[:2] and k.shape[2] % depth == 0 and heads % (k.shape[2] // depth) == 0,
        place,
        given,
        f"give keys of {depth} channels for each of a divisor of {heads} heads",
    )
    _require(0.0 <= dropout < 1.0, place, f"dropout {dropout}", "give a rate in [0, 1)")
    operation = "attention " + ", ".join(x.name for x in (q, k, v, lengths))
    keys = "" if k.type == q.type else f" keys {k.type}"
    types, attributes = f"{q.type}{keys}, {lengths.type}", {"heads": heads}
    if causal:
        attributes["causal"] = True
    if dropout > 0:
        utterances, draw = graph.utterances(), graph.draw()
        operation += f" dropout {utterances.name}, {draw.name}"
        types += f", {utterances.type}, {draw.type}"
        attributes |= {"rate": float(dropout), "stream": place}
    return graph.emit(place, operation, types, [q.type], attributes)


def layer_norm(x: Value, gamma: Value, beta: Value, epsilon: float = 1e-5, name: str = "layer_norm") -> Value:
    """Normalises the last dimension, then gamma and beta."""
    return layer_norm_with_statistics(x, gamma, beta, epsilon, name)[0]


def layer_norm_with_statistics(x: Value, gamma: Value, beta: Value, epsilon: float = 1e-5, name: str = "layer_norm"):
    """The same with the mean and 1/deviation of each row: [y, mean, rstd]."""
    place = x.graph.op_name(name)
    _require(
        gamma.shape == beta.shape == x.shape[-1:],
        place,
        f"{x.type} with {gamma.type}, {beta.type}",
        "give one number per channel",
    )
    statistic = x.type.with_shape(x.shape[:-1])
    types = f"{x.type}, {gamma.type} to {statistic}"
    operation = f"layer_norm {x.name}, {gamma.name}, {beta.name}"
    return x.graph.emit(place, operation, types, [x.type, statistic, statistic], {"epsilon": float(epsilon)})


def batch_norm(
    x: Value,
    gamma: Value,
    beta: Value,
    running_mean: Value,
    running_variance: Value,
    lengths: Value,
    epsilon: float = 1e-5,
    momentum: float = 0.1,
    name: str = "batch_norm",
) -> Value:
    """Normalises each channel over the valid frames of the update and advances the running statistics once."""
    place = x.graph.op_name(name)
    vectors = gamma, beta, running_mean, running_variance
    _require(x.type.rank == 3, place, f"x is {x.type}", "give [batch, time, channel]")
    _require_lengths(place, lengths, x)
    _require(
        all(v.shape == x.shape[-1:] for v in vectors),
        place,
        f"{x.type} with {', '.join(str(v.type) for v in vectors)}",
        "give one number per channel",
    )
    operands = ", ".join(v.name for v in (x, *vectors, lengths))
    types = f"{x.type}, {gamma.type}, {lengths.type}"
    attributes = {"epsilon": float(epsilon), "momentum": float(momentum)}
    return x.graph.emit(place, f"batch_norm {operands}", types, [x.type], attributes)


def batch_statistics(x: Value, lengths: Value, n: Value, epsilon: float = 1e-5, name: str = "batch_statistics"):
    """Per channel over the `n` valid frames of the update: [mean, 1/√(variance + epsilon), variance]."""
    place = x.graph.op_name(name)
    _require(x.type.rank == 3, place, f"x is {x.type}", "give [batch, time, channel]")
    _require_lengths(place, lengths, x)
    to = x.type.with_shape(x.shape[-1:])
    types = f"{x.type}, {lengths.type}, {n.type} to {to}"
    operation = f"batch_statistics {x.name}, {lengths.name}, {n.name}"
    return x.graph.emit(place, operation, types, [to] * 3, {"epsilon": float(epsilon)})


def batch_normalize(
    x: Value, mean: Value, rstd: Value, gamma: Value, beta: Value, name: str = "batch_normalize"
) -> Value:
    """(x - mean) · rstd · gamma + beta, one of each per channel."""
    place, vectors = x.graph.op_name(name), (mean, rstd, gamma, beta)
    _require(
        x.type.rank == 3 and all(v.shape == x.shape[-1:] for v in vectors),
        place,
        f"{x.type} with {', '.join(str(v.type) for v in vectors)}",
        "give [batch, time, channel] and one number per channel",
    )
    operands = ", ".join(v.name for v in (x, *vectors))
    return x.graph.emit(place, f"batch_normalize {operands}", f"{x.type}, {mean.type}", [x.type])


def rms_norm(x: Value, gamma: Value, epsilon: float = 1e-6, name: str = "rms_norm") -> Value:
    """Divides the last dimension by its root mean square, then gamma."""
    return rms_norm_with_statistics(x, gamma, epsilon, name)[0]


def rms_norm_with_statistics(x: Value, gamma: Value, epsilon: float = 1e-6, name: str = "rms_norm"):
    """The same with 1/root mean square of each row: [y, rstd]."""
    place = x.graph.op_name(name)
    _require(gamma.shape == x.shape[-1:], place, f"{x.type} with {gamma.type}", "give one number per channel")
    statistic = x.type.with_shape(x.shape[:-1])
    types = f"{x.type}, {gamma.type} to {statistic}"
    return x.graph.emit(
        place, f"rms_norm {x.name}, {gamma.name}", types, [x.type, statistic], {"epsilon": float(epsilon)}
    )


def time_norm(x: Value, name: str = "time_norm") -> Value:
    """The length √Σ x² of each channel over time, [batch, channel]."""
    place = x.graph.op_name(name)
    _require(x.type.rank == 3, place, f"x is {x.type}", "give [batch, time, channel]")
    to = x.type.with_shape((x.shape[0], x.shape[2]))
    return x.graph.emit(place, f"time_norm {x.name}", f"{x.type} to {to}", [to])


# Losses


def _loss(mnemonic: str, summary: str):
    def op(prediction: Value, target: Value, lengths: Value, name: str = mnemonic) -> Value:
        place = prediction.graph.op_name(name)
        _require(
            prediction.type == target.type,
            place,
            f"prediction {prediction.type}, target {target.type}",
            "give equal types",
        )
        _require_lengths(place, lengths, prediction)
        to = prediction.type.with_shape(())
        operands = f"{prediction.name}, {target.name}, {lengths.name}"
        types = f"{prediction.type}, {lengths.type} to {to}"
        return prediction.graph.emit(place, f"{mnemonic} {operands}", types, [to])

    op.__name__, op.__doc__ = mnemonic, f"{summary} over valid time steps: a sum, to be divided by ops.count."
    return op


l1_loss = _loss("l1_loss", "Σ |prediction - target|")
mse_loss = _loss("mse_loss", "Σ (prediction - target)²")


def count(lengths: Value, per: float = 1.0, name: str = "count") -> Value:
    """per · Σ lengths: a loss's denominator."""
    graph, to = lengths.graph, TensorType(())
    return graph.emit(
        graph.op_name(name), f"count {lengths.name}", f"{lengths.type} to {to}", [to], {"per": float(per)}
    )


IGNORE_INDEX = -100  # as in PyTorch


def _require_targets(place: str, targets: Value, lengths: Value):
    _require(targets.type.dtype == "i32" and targets.type.rank == 2, place, f"targets are {targets.type}",
             "give i32 [batch, time]")  # fmt: skip
    _require_lengths(place, lengths, targets)


def linear_cross_entropy(
    x: Value, w: Value, targets: Value, lengths: Value, ignore_index: int = IGNORE_INDEX, name: str = "cross_entropy"
) -> Value:
    """Σ of the cross entropy of softmax(x·w) over the targets that count: a sum, to be divided by ops.count_targets.

    `w` is [in, classes]. Neither `ignore_index` nor what lies outside the classes or beyond the lengths counts. The
    logits of all steps never exist together.
    """
    place = x.graph.op_name(name)
    _require_targets(place, targets, lengths)
    _require(w.type.rank == 2, place, f"the weight is {w.type}", "give [in, classes]")
    _require(x.shape == (*targets.shape, w.shape[0]), place, f"x is {x.type}, targets {targets.type}, w {w.type}",
             "give [batch, time, in] and [in, classes]")  # fmt: skip
    total, lse = x.type.with_shape(()), x.type.with_shape(targets.shape)
    operands = ", ".join(v.name for v in (x, w, targets, lengths))
    types = f"{x.type}, {w.type}, {targets.type}, {lengths.type} to {total}, {lse}"
    attributes = {"ignore_index": ignore_index}
    return x.graph.emit(place, f"linear_cross_entropy {operands}", types, [total, lse], attributes)[0]


def count_targets(
    targets: Value, lengths: Value, classes: int, ignore_index: int = IGNORE_INDEX, name: str = "count_targets"
) -> Value:
    """How many targets count: the denominator of ops.linear_cross_entropy."""
    graph, place, to = targets.graph, targets.graph.op_name(name), TensorType(())
    _require_targets(place, targets, lengths)
    types = f"{targets.type}, {lengths.type} to {to}"
    attributes = {"classes": classes, "ignore_index": ignore_index}
    return graph.emit(place, f"count_targets {targets.name}, {lengths.name}", types, [to], attributes)
