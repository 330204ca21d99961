"""FastSpeech 2 in plain jax.numpy: the same losses from the weights of the model file, in their own layout."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

CONVOLUTION = "lax"


def set_convolution(kind):
    """`lax`: XLA's convolution; `taps`: a sum of shifted matrix products, which XLA's CPU backend may run faster."""
    global CONVOLUTION
    CONVOLUTION = kind


class Randomness:
    """Hands out keys in order; without one there is no dropout."""

    def __init__(self, key):
        self.key = key

    def dropout(self, x, rate):
        if self.key is None or rate == 0:
            return x
        self.key, own = jax.random.split(self.key)
        return jnp.where(jax.random.bernoulli(own, 1 - rate, x.shape), x / (1 - rate), 0.0)


def mask(x, keep):
    return jnp.where(keep[..., None], x, 0.0)


def linear(p, name, x):
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def convolution(p, name, x):
    weight, bias = p[f"{name}.weight"], p[f"{name}.bias"]
    taps = weight.shape[0]
    if taps == 1:
        return x @ weight[0] + bias
    padding = (taps - 1) // 2
    if CONVOLUTION == "lax":
        return (
            lax.conv_general_dilated(x, weight, (1,), [(padding, padding)], dimension_numbers=("NWC", "WIO", "NWC"))
            + bias
        )
    padded = jnp.pad(x, ((0, 0), (padding, padding), (0, 0)))
    return sum(lax.slice_in_dim(padded, k, k + x.shape[1], axis=1) @ weight[k] for k in range(taps)) + bias


def layer_norm(p, name, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def attention(p, name, heads, x, keep):
    batch, time, channels = x.shape
    q, k, v = (linear(p, f"{name}.{n}", x).reshape(batch, time, heads, -1) for n in ("query", "key", "value"))
    attended = jax.nn.dot_product_attention(q, k, v, mask=keep[:, None, None, :])
    return linear(p, f"{name}.output", attended.reshape(batch, time, channels))


def block(p, name, c, x, keep, random):
    attended = random.dropout(attention(p, f"{name}.attention", c.heads, x, keep), c.dropout)
    x = mask(layer_norm(p, f"{name}.attention_norm", x + attended), keep)
    hidden = mask(jax.nn.relu(convolution(p, f"{name}.ffn.conv1", x)), keep)
    y = random.dropout(convolution(p, f"{name}.ffn.conv2", hidden), c.dropout)
    return mask(layer_norm(p, f"{name}.ffn_norm", x + y), keep)


def predictor(p, name, c, x, keep, random):
    for i in (1, 2):
        x = jax.nn.relu(convolution(p, f"{name}.conv{i}", mask(x, keep)))
        x = random.dropout(layer_norm(p, f"{name}.norm{i}", x), c.variance_dropout)
    return jnp.where(keep, linear(p, f"{name}.linear", x)[..., 0], 0.0)


def binned(p, name, x):
    return p[f"{name}.embedding.weight"][jnp.searchsorted(p[f"{name}.boundaries"], x)]


def positions(time, channels):
    angle = np.arange(time)[:, None] / 10000.0 ** (np.arange(0, channels, 2) / channels)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(time, channels).astype(np.float32)


def regulate(x, durations, frames):
    ends = jnp.cumsum(durations, 1)
    phone = jax.vmap(lambda e: jnp.searchsorted(e, jnp.arange(frames), side="right"))(ends)
    return jnp.take_along_axis(x, jnp.minimum(phone, durations.shape[1] - 1)[..., None], 1)


def loss(p, b, c, key=None):
    """Mean absolute error of the mels and mean squared errors of the predictors, over what is not padding."""
    random, phones, frames = Randomness(key), b["phones"].shape[1], b["mel"].shape[1]
    spoken = jnp.arange(phones)[None] < b["phone_lengths"][:, None]
    sounding = jnp.arange(frames)[None] < b["mel_lengths"][:, None]
    x = p["embedding.weight"][b["phones"]] + positions(phones, c.channels)
    for i in range(c.encoder_blocks):
        x = block(p, f"encoder.{i}", c, x, spoken, random)
    log_durations = predictor(p, "variance.duration", c, x, spoken, random)
    pitch = predictor(p, "variance.pitch", c, x, spoken, random)
    x = x + binned(p, "variance.pitch_bins", b["pitch"])
    energy = predictor(p, "variance.energy", c, x, spoken, random)
    x = mask(x + binned(p, "variance.energy_bins", b["energy"]), spoken)
    x = mask(regulate(x, b["durations"], frames), sounding) + positions(frames, c.channels)
    for i in range(c.decoder_blocks):
        x = block(p, f"decoder.{i}", c, x, sounding, random)
    total = mask(jnp.abs(linear(p, "mel", x) - b["mel"]), sounding).sum() / (b["mel_lengths"].sum() * c.mels)
    wanted = (jnp.log1p(b["durations"].astype(jnp.float32)), b["pitch"], b["energy"])
    for told, target in zip((log_durations, pitch, energy), wanted):
        total += jnp.where(spoken, jnp.square(told - target), 0.0).sum() / b["phone_lengths"].sum()
    return total
