"""What each op of the tts dialect means, in NumPy and f64, after the descriptions in its TableGen files."""

import math

import numpy as np

import philox

RULES = {}


def rule(*names):
    def register(function):
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


class Context:
    """What a rule knows besides operands: attributes, the results' sizes."""

    def __init__(self, attributes: dict, sizes: list[tuple[int, ...]]):
        self.attributes, self.sizes = attributes, sizes

    def __getattr__(self, name):
        return self.attributes[name]


def run(op, operands: list[np.ndarray], dims: dict[str, int]) -> list[np.ndarray]:
    """The results of one op."""
    sizes = [t.sizes(dims) for t in op.types]
    results = RULES[op.name.removeprefix("tts.")](Context(op.attributes, sizes), *operands)
    results = list(results) if isinstance(results, tuple) else [results]
    for result, size, kind in zip(results, sizes, op.types):
        assert np.shape(result) == size, f"{op.name}: {np.shape(result)} is not {size}"
        assert np.asarray(result).dtype.kind == kind.dtype[0], f"{op.name}: {np.asarray(result).dtype}"
    return results


def valid(lengths, time: int, rank: int) -> np.ndarray:
    keep = np.arange(time) < lengths[:, None]
    return keep if rank == 2 else keep[..., None]


# Element-wise

SQRT_2_PI = math.sqrt(2 / math.pi)
RULES |= {
    "add": lambda c, x, y: x + y,
    "sub": lambda c, x, y: x - y,
    "mul": lambda c, x, y: x * y,
    "div": lambda c, x, y: x / y,
    "neg": lambda c, x: -x,
    "abs": lambda c, x: np.abs(x),
    "sign": lambda c, x: np.sign(x),
    "relu": lambda c, x: np.maximum(x, 0),
    "relu_grad": lambda c, x, y: np.where(x > 0, y, 0.0),
    "gelu": lambda c, x: x / 2 * (1 + np.tanh(SQRT_2_PI * (x + 0.044715 * x**3))),
    "mish": lambda c, x: x * np.tanh(np.logaddexp(0, x)),
    "tanh": lambda c, x: np.tanh(x),
    "sigmoid": lambda c, x: 1 / (1 + np.exp(-x)),
    "silu": lambda c, x: x / (1 + np.exp(-x)),
    "exp": lambda c, x: np.exp(x),
    "log": lambda c, x: np.log(x),
    "log1p": lambda c, x: np.log1p(x),
    "sqrt": lambda c, x: np.sqrt(x),
    "rsqrt": lambda c, x: 1 / np.sqrt(x),
    "sin": lambda c, x: np.sin(x),
    "cos": lambda c, x: np.cos(x),
    "accumulate": lambda c, acc, x: acc + x,
    "cast": lambda c, x: x.astype(np.float64),
}


@rule("round_to_int")
def _(c, x):
    most = 2.0**31 - 128
    return np.clip(np.rint(np.nan_to_num(x, nan=0.0, posinf=most, neginf=-most)), -most, most).astype(np.int32)


@rule("gelu_grad")
def _(c, x, y):
    t = np.tanh(SQRT_2_PI * (x + 0.044715 * x**3))
    inner = SQRT_2_PI * (1 + 3 * 0.044715 * x**2)
    return y * ((1 + t) / 2 + x / 2 * (1 - t**2) * inner)


@rule("mish_grad")
def _(c, x, y):
    t = np.tanh(np.logaddexp(0, x))
    return y * (t + x * (1 - t * t) / (1 + np.exp(-x)))


# Shapes and gathers


@rule("full")
def _(c):
    return np.full(c.sizes[0], float(c.value))


@rule("broadcast")
def _(c, x):
    shape = [1] * len(c.sizes[0])
    for size, dim in zip(x.shape, c.dims):
        shape[dim] = size
    return np.broadcast_to(x.reshape(shape), c.sizes[0])


@rule("sum_to")
def _(c, x, acc=0.0):
    return acc + x.sum(tuple(d for d in range(x.ndim) if d not in c.dims))


@rule("squeeze", "unsqueeze")
def _(c, x):
    return x.reshape(c.sizes[0])


@rule("concat")
def _(c, *parts):
    return np.concatenate(parts, -1)


@rule("split")
def _(c, x):
    return tuple(np.split(x, np.cumsum([size[-1] for size in c.sizes])[:-1], -1))


@rule("mask")
def _(c, x, lengths):
    return np.where(valid(lengths, x.shape[1], x.ndim), x, 0.0)


@rule("embedding")
def _(c, ids, table):
    return table[np.where((ids >= 0) & (ids < len(table)), ids, 0)]


@rule("embedding_grad")
def _(c, ids, dy, acc=None):
    table = np.zeros(c.sizes[0]) if acc is None else acc.copy()
    inside = (ids >= 0) & (ids < len(table))
    np.add.at(table, ids[inside], dy[inside])
    return table


@rule("sinusoid")
def _(c):
    return _sinusoid(np.arange(c.sizes[0][0]), c.sizes[0][1])


@rule("sinusoid_at")
def _(c, x):
    return _sinusoid(c.scale * x, c.sizes[0][1])


def _sinusoid(places, channels: int):
    angle = places[:, None] / 10000.0 ** (2 * np.arange(channels // 2) / channels)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(len(places), channels)


@rule("rotary")
def _(c, x, table):
    z = x.reshape(*x.shape[:2], c.heads, -1, 2)
    turn = table[:, None, 1::2] + 1j * table[:, None, ::2]  # cos + i sin of each pair
    y = (z[..., 0] + 1j * z[..., 1]) * (turn.conj() if c.attributes.get("inverse") else turn)
    return np.stack([y.real, y.imag], -1).reshape(x.shape)


@rule("bucketize")
def _(c, x, boundaries):
    return (boundaries < x[..., None]).sum(-1).astype(np.int32)


def _repeats(durations, frames: int) -> np.ndarray:
    """[batch, frames, text]: one where frame t comes from phone n."""
    ends = np.cumsum(np.maximum(durations, 0), 1)
    starts = ends - np.maximum(durations, 0)
    t = np.arange(frames)[:, None]
    return ((starts[:, None] <= t) & (t < ends[:, None])).astype(np.float64)


@rule("length_regulate")
def _(c, x, durations):
    return _repeats(durations, c.sizes[0][1]) @ x


@rule("length_regulate_grad")
def _(c, dy, durations):
    return np.swapaxes(_repeats(durations, dy.shape[1]), 1, 2) @ dy


@rule("dropout")
def _(c, x, utterances, draw):
    kept = philox.kept(x.shape, c.rate, c.stream, int(draw[0]), int(draw[1]), utterances)
    return np.where(kept, x * (1 / (1 - c.rate)), 0.0)


# Contractions


@rule("linear")
def _(c, x, w):
    return x @ (w.T if c.attributes.get("transpose") else w)


@rule("weight_grad")
def _(c, x, dy, acc=0.0):
    return acc + x.reshape(-1, x.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])


def _taps(x, taps: int, left: int):
    """[taps, batch, time, channels]: x shifted to each tap, zeros outside."""
    padded = np.pad(x, ((0, 0), (left, max(taps - 1 - left, 0)), (0, 0)))
    return np.stack([padded[:, j : j + x.shape[1]] for j in range(taps)])


def _grouped(x, groups: int):
    """The last dimension as [groups, channels of each]."""
    return x.reshape(*x.shape[:-1], groups, -1)


@rule("conv1d")
def _(c, x, w):
    groups = c.attributes.get("groups", 1)
    taps = _grouped(_taps(x, len(w), c.left), groups)
    return np.einsum("jbtgi,jigo->btgo", taps, _grouped(w, groups)).reshape(c.sizes[0])


@rule("conv1d_input_grad")
def _(c, dy, w):
    groups = c.attributes.get("groups", 1)
    taps = _grouped(_taps(dy, len(w), len(w) - 1 - c.left), groups)
    return np.einsum("jbtgo,jigo->btgi", taps, _grouped(w[::-1], groups)).reshape(c.sizes[0])


@rule("conv1d_filter_grad")
def _(c, x, dy, acc=0.0):
    groups = c.attributes.get("groups", 1)
    taps = _grouped(_taps(x, c.sizes[0][0], c.left), groups)
    return acc + np.einsum("jbtgi,btgo->jigo", taps, _grouped(dy, groups)).reshape(c.sizes[0])


@rule("depthwise_conv1d")
def _(c, x, w):
    if c.attributes.get("transposed"):
        return np.einsum("jbtc,jc->btc", _taps(x, len(w), len(w) - 1 - c.left), w[::-1])
    return np.einsum("jbtc,jc->btc", _taps(x, len(w), c.left), w)


@rule("depthwise_conv1d_filter_grad")
def _(c, x, dy, acc=0.0):
    return acc + np.einsum("jbtc,btc->jc", _taps(x, c.sizes[0][0], c.left), dy)


def _heads(x, heads: int):
    batch, time, channels = x.shape
    return x.reshape(batch, time, heads, channels // heads).swapaxes(1, 2)


def _joined(x):
    batch, heads, time, size = x.shape
    return x.swapaxes(1, 2).reshape(batch, time, heads * size)


def _probabilities(c, q, k, lengths):
    """Softmax over the keys below each length, up to the query if causal; 0 everywhere without one."""
    keys = np.arange(k.shape[2])
    keep = (keys < lengths[:, None])[:, None, None]
    if c.attributes.get("causal"):
        keep = keep & (keys <= keys[:, None])
    scores = np.where(keep, q @ k.swapaxes(2, 3) / math.sqrt(q.shape[3]), -np.inf)
    top = np.maximum(scores.max(-1, keepdims=True), np.finfo(float).min)
    weights = np.where(keep, np.exp(scores - top), 0.0)
    return weights / np.maximum(weights.sum(-1, keepdims=True), np.finfo(float).tiny)


def _dropping(c, p, random):
    """What dropout multiplies each probability with; `random` are utterances and draw, or nothing."""
    if not random:
        return 1.0
    utterances, draw = random
    kept = philox.kept_probabilities(p.shape, c.rate, c.stream, int(draw[0]), int(draw[1]), utterances)
    return np.where(kept, 1 / (1 - c.rate), 0.0)


def _attention_operands(c, lengths, *tensors):
    clean = (np.where(valid(lengths, t.shape[1], 3), t, 0.0) if i in (1, 2) else t for i, t in enumerate(tensors))
    # A head of keys serves a group of query heads: repeated, each has its own.
    depth = tensors[0].shape[2] // c.heads
    split = [_heads(t, t.shape[2] // depth) for t in clean]
    return [np.repeat(t, c.heads // t.shape[1], 1) for t in split]


def _summed(gradient, like):
    """The gradient of keys that were repeated for a group of query heads."""
    batch, _, time, depth = gradient.shape
    return gradient.reshape(batch, like.shape[2] // depth, -1, time, depth).sum(2)


@rule("attention")
def _(c, q, k, v, lengths, *random):
    q, k, v = _attention_operands(c, lengths, q, k, v)
    p = _probabilities(c, q, k, lengths)
    return _joined((p * _dropping(c, p, random)) @ v)


@rule("attention_grad")
def _(c, dy, q, k, v, lengths, *random):
    keys = k
    q, k, v, dy = _attention_operands(c, lengths, q, k, v, dy)
    p = _probabilities(c, q, k, lengths)
    dropping = _dropping(c, p, random)
    dp = (dy @ v.swapaxes(2, 3)) * dropping
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) / math.sqrt(q.shape[3])
    dk, dv = ds.swapaxes(2, 3) @ q, (p * dropping).swapaxes(2, 3) @ dy
    return tuple(_joined(g) for g in (ds @ k, _summed(dk, keys), _summed(dv, keys)))


# Norms


def _normalised(x, mean, rstd):
    return (x - mean[..., None]) * rstd[..., None]


@rule("layer_norm")
def _(c, x, gamma, beta):
    mean = x.mean(-1)
    rstd = 1 / np.sqrt(((x - mean[..., None]) ** 2).mean(-1) + c.epsilon)
    return _normalised(x, mean, rstd) * gamma + beta, mean, rstd


@rule("layer_norm_grad")
def _(c, dy, x, mean, rstd, gamma):
    xhat, g = _normalised(x, mean, rstd), dy * gamma
    return rstd[..., None] * (g - g.mean(-1, keepdims=True) - xhat * (g * xhat).mean(-1, keepdims=True))


@rule("layer_norm_gamma_grad")
def _(c, dy, x, mean, rstd, acc=0.0):
    return acc + (dy * _normalised(x, mean, rstd)).reshape(-1, x.shape[-1]).sum(0)


@rule("batch_statistics")
def _(c, x, lengths, n):
    frames = x[valid(lengths, x.shape[1], 2)]
    mean = frames.sum(0) / max(n, 1)
    variance = ((frames - mean) ** 2).sum(0) / max(n, 1)
    return mean, 1 / np.sqrt(variance + c.epsilon), variance


@rule("batch_statistics_grad")
def _(c, x, mean, rstd, dmean, drstd, lengths, n):
    dx = (dmean - drstd * rstd**3 * (x - mean)) / max(n, 1)
    return np.where(valid(lengths, x.shape[1], 3), dx, 0.0)


@rule("batch_normalize")
def _(c, x, mean, rstd, gamma, beta):
    return (x - mean) * rstd * gamma + beta


@rule("batch_normalize_grad")
def _(c, dy, rstd, gamma):
    return dy * rstd * gamma


@rule("batch_normalize_gamma_grad")
def _(c, dy, x, mean, rstd, acc=0.0):
    return acc + (dy * (x - mean) * rstd).sum((0, 1))


@rule("running_average")
def _(c, running, batch, n):
    scale = n / max(n - 1, 1) if c.attributes.get("unbiased") else 1.0
    return (1 - c.momentum) * running + c.momentum * scale * batch if n > 0 else running


@rule("rms_norm")
def _(c, x, gamma):
    rstd = 1 / np.sqrt((x**2).mean(-1) + c.epsilon)
    return x * rstd[..., None] * gamma, rstd


@rule("rms_norm_grad")
def _(c, dy, x, rstd, gamma):
    xhat, g = x * rstd[..., None], dy * gamma
    return rstd[..., None] * (g - xhat * (g * xhat).mean(-1, keepdims=True))


@rule("rms_norm_gamma_grad")
def _(c, dy, x, rstd, acc=0.0):
    return acc + (dy * x * rstd[..., None]).reshape(-1, x.shape[-1]).sum(0)


@rule("time_norm")
def _(c, x):
    return np.sqrt((x * x).sum(1))


@rule("time_norm_grad")
def _(c, x, n, dn):
    return x * np.divide(dn, n, out=np.zeros_like(n), where=n != 0)[:, None]


# Losses


@rule("l1_loss")
def _(c, prediction, target, lengths):
    return np.where(valid(lengths, target.shape[1], target.ndim), np.abs(prediction - target), 0).sum()


@rule("mse_loss")
def _(c, prediction, target, lengths):
    return np.where(valid(lengths, target.shape[1], target.ndim), (prediction - target) ** 2, 0).sum()


@rule("l1_loss_grad")
def _(c, prediction, target, lengths, dsum):
    return np.where(valid(lengths, target.shape[1], target.ndim), dsum * np.sign(prediction - target), 0)


@rule("mse_loss_grad")
def _(c, prediction, target, lengths, dsum):
    return np.where(valid(lengths, target.shape[1], target.ndim), dsum * 2 * (prediction - target), 0)


@rule("count")
def _(c, lengths):
    return np.float64(c.attributes.get("per", 1.0) * lengths.sum())


def _that_count(c, targets, lengths, classes):
    """[batch, time]: which targets count."""
    inside = (targets >= 0) & (targets < classes) & (targets != c.attributes.get("ignore_index", -100))
    return inside & valid(lengths, targets.shape[1], 2)


@rule("count_targets")
def _(c, targets, lengths):
    return np.float64(_that_count(c, targets, lengths, c.classes).sum())


@rule("linear_cross_entropy")
def _(c, x, w, targets, lengths):
    counts, logits = _that_count(c, targets, lengths, w.shape[1]), x @ w
    top = logits.max(-1)
    lse = np.where(counts, top + np.log(np.exp(logits - top[..., None]).sum(-1)), 0.0)
    told = np.take_along_axis(logits, np.where(counts, targets, 0)[..., None], -1)[..., 0]
    return np.where(counts, lse - told, 0.0).sum(), lse


@rule("linear_cross_entropy_grad")
def _(c, x, w, targets, lengths, lse, dsum, acc=0.0):
    counts = _that_count(c, targets, lengths, w.shape[1])
    hot = np.arange(w.shape[1]) == targets[..., None]
    dlogits = np.where(counts[..., None], dsum * (np.exp(x @ w - lse[..., None]) - hot), 0.0)
    flat = dlogits.reshape(-1, w.shape[1])
    return acc + x.reshape(len(flat), -1).T @ flat, dlogits @ w.T
