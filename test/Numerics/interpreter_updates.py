"""What random draws and the ops of updates mean, in NumPy and f64: more rules of the interpreter."""

import numpy as np

import philox
from interpreter import rule

# Draws


def _draw(draw):
    return (int(draw[0][0]), int(draw[0][1])) if draw else (0, 0)


@rule("normal")
def _(c, utterances, *draw):
    return philox.normal(c.sizes[0], c.stream, *_draw(draw), utterances)


@rule("uniform")
def _(c, utterances, *draw):
    return philox.uniform(c.stream, *_draw(draw), utterances)


@rule("span_mask")
def _(c, lengths, utterances, *draw):
    return philox.span_mask(c.sizes[0], c.low, c.high, c.stream, *_draw(draw), lengths, utterances)


@rule("coin")
def _(c, draw):
    return np.float64(philox.coin(c.rate, c.stream, *_draw([draw])))


# Updates


@rule("adamw")
def _(c, p, g, m, v, settings, clip):
    if not np.isfinite(clip):
        return p, m, v
    lr, beta1, beta2, epsilon, decay, c1, c2, _ = settings
    g = clip * g
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    return p * (1 - lr * decay) - lr * (m * c1) / (np.sqrt(v * c2) + epsilon), m, v


@rule("sgd")
def _(c, p, g, settings, clip):
    return p * (1 - settings[0] * settings[4]) - settings[0] * clip * g if np.isfinite(clip) else p


@rule("ema")
def _(c, e, p, settings, clip):
    return settings[7] * e + (1 - settings[7]) * p if np.isfinite(clip) else e


@rule("adopt")
def _(c, state, fresh, clip):
    return fresh if np.isfinite(clip) else state


@rule("sum_squares")
def _(c, x, acc=0.0):
    return acc + np.float64((x * x).sum())


@rule("clip_factor")
def _(c, total):
    norm = np.sqrt(total)
    limit = c.attributes.get("max_norm")
    factor = 1.0 if limit is None else min(1.0, limit / (norm + 1e-6))
    return np.float64(factor if np.isfinite(norm) else np.nan), norm
