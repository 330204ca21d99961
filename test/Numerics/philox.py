"""Philox4x32-10 (Salmon et al., SC'11) in NumPy and the dropout masks drawn from it, independent of the compiler's."""

import numpy as np

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
WORD = 2**64 - 1


def philox4x32(counter, key) -> np.ndarray:
    """Random words [..., 4] of a counter (four arrays that broadcast) under a key of two words."""
    c0, c1, c2, c3 = (np.asarray(c, np.uint64) & LOW for c in np.broadcast_arrays(*counter))
    k0, k1 = int(key[0]), int(key[1])
    for _ in range(ROUNDS):
        p0, p1 = np.uint64(MULTIPLIERS[0]) * c0, np.uint64(MULTIPLIERS[1]) * c2
        c0, c1, c2, c3 = (
            (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0),
            p1 & LOW,
            (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1),
            p0 & LOW,
        )
        k0, k1 = (k0 + WEYL[0]) & 0xFFFFFFFF, (k1 + WEYL[1]) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], -1).astype(np.uint32)


def splitmix64(seed: int) -> int:
    """The first output of SplitMix64 from the state `seed`."""
    z = (seed + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def fnv1a64(data: bytes, h: int = 0xCBF29CE484222325) -> int:
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & WORD
    return h


def key_of(seed: int, stream: str) -> tuple[int, int]:
    """hash(seed, stream): low and high words of FNV-1a(stream) xor SplitMix64(seed)."""
    h = fnv1a64(stream.encode()) ^ splitmix64(seed & WORD)
    return h & 0xFFFFFFFF, h >> 32


def _draws(seed: int, update: int, stream: str, utterances, *counters) -> np.ndarray:
    """Words of the counters (update, utterance, …), whose arrays broadcast with utterances along dimension 0."""
    ids = np.asarray(utterances, np.int64).astype(np.uint64)
    return philox4x32(
        (np.uint64(update), ids.reshape(-1, *[1] * (np.ndim(counters[0]) - 1)), *counters), key_of(seed, stream)
    )


def kept_probabilities(shape, rate: float, stream: str, seed: int, update: int, utterances) -> np.ndarray:
    """Which of attention's [batch, heads, queries, keys] probabilities dropout keeps."""
    _, heads, queries, keys = shape
    head, query, quad = np.ogrid[:heads, :queries, : (keys + 3) // 4]
    words = _draws(seed, update, stream, utterances, query[None].astype(np.uint64), head[None] * 2**24 + quad[None])
    draws = words.reshape(*shape[:3], -1)[..., :keys]
    return draws >= np.uint32(int(rate * 2**32))


def kept(shape, rate: float, stream: str, seed: int, update: int, utterances) -> np.ndarray:
    """Which elements of a [batch, time] or [batch, time, channel] tensor dropout keeps."""
    batch, time, channels = (*shape, 1)[:3]
    steps, quad = np.ogrid[:time, : (channels + 3) // 4]
    words = _draws(seed, update, stream, utterances, steps[None].astype(np.uint64), quad[None].astype(np.uint64))
    draws = words.reshape(batch, time, -1)[:, :, :channels]
    return (draws >= np.uint32(int(rate * 2**32))).reshape(shape)


def normal(shape, stream: str, seed: int, update: int, utterances) -> np.ndarray:
    """Standard normal numbers, by Wichura's PPND7 (AS 241); `test_philox.py` compares with exact quantiles."""
    batch, time, channels = (*shape, 1)[:3]
    steps, quad = np.ogrid[:time, : (channels + 3) // 4]
    words = _draws(seed, update, stream, utterances, steps[None].astype(np.uint64), quad[None].astype(np.uint64))
    w = words.reshape(batch, time, -1)[:, :, :channels].astype(np.int64)
    m = w % 2**31
    p, q = (m + 0.5) / 2**32, (2**31 - 1 - m + 0.5) / 2**32
    central = np.polyval([59.109374720, 159.29113202, 50.434271938, 3.3871327179], 0.180625 - q * q)
    central *= q / np.polyval([67.187563600, 78.757757664, 17.895169469, 1.0], 0.180625 - q * q)
    r = np.sqrt(-np.log(p)) - 1.6
    tail = np.polyval([0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777], r)
    tail /= np.polyval([0.12021132975, 0.73700164250, 1.0], r)
    size = np.where(q <= 0.425, central, tail)
    return np.where(w >= 2**31, -size, size).reshape(shape)


def _fractions(stream: str, seed: int, update: int, utterances) -> np.ndarray:
    """[batch, 4] numbers of [0, 1) with 24 bits."""
    zero = np.zeros(1, np.uint64)
    return (_draws(seed, update, stream, utterances, zero, zero) >> np.uint32(8)) / 2.0**24


def uniform(stream: str, seed: int, update: int, utterances) -> np.ndarray:
    """A number of [0, 1) per utterance."""
    return _fractions(stream, seed, update, utterances)[:, 0]


def span_mask(shape, low: float, high: float, stream: str, seed: int, update: int, lengths, utterances) -> np.ndarray:
    """[batch, time]: 1 in each utterance's span."""
    u, v = _fractions(stream, seed, update, utterances)[:, :2].T
    lengths = np.asarray(lengths)
    count = ((low + (high - low) * u) * lengths).astype(np.int64)
    first = ((lengths - count + 1) * v).astype(np.int64)
    time = np.arange(shape[1])
    return ((time >= first[:, None]) & (time < (first + count)[:, None])).astype(np.float64)


def coin(rate: float, stream: str, seed: int, update: int) -> float:
    """0 with probability `rate`, else 1; one flip an update."""
    zero = np.zeros(1, np.uint64)
    return float(_draws(seed, update, stream, [0], zero, zero)[0, 0] >= np.uint32(int(rate * 2**32)))
