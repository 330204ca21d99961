"""A plain codec: residual vector quantisation of mel frames, learned by k-means (arXiv:2107.03312, §III-C, without its network).

Each vector is `stack` frames side by side. Level 1 names the nearest of its codes, level 2 the nearest to what is left,
and so on; a mel is the sum of the codes named. It loses detail, and says how much.
"""

from dataclasses import dataclass

import numpy as np

_ROUNDS = 25
_MOST = 20_000  # vectors that k-means sees


@dataclass(frozen=True)
class Codec:
    stack: int
    codebooks: np.ndarray  # [levels, codes, stack · mels], f32

    @property
    def levels(self) -> int:
        return len(self.codebooks)

    @property
    def codes(self) -> int:
        return self.codebooks.shape[1]

    def encode(self, mel: np.ndarray) -> np.ndarray:
        """[vectors, levels] of code numbers; the last frame is repeated to fill the last vector."""
        left = vectors(mel, self.stack)
        named = np.empty((len(left), self.levels), np.int64)
        for level, book in enumerate(self.codebooks.astype(np.float64)):
            named[:, level] = nearest(left, book)
            left = left - book[named[:, level]]
        return named

    def decode(self, named: np.ndarray) -> np.ndarray:
        """The mel of these codes, a whole number of vectors long."""
        whole = sum(book[codes] for book, codes in zip(self.codebooks, named.T))
        return whole.reshape(len(named) * self.stack, -1)


def vectors(mel: np.ndarray, stack: int) -> np.ndarray:
    """[frames / stack, stack · mels] in f64."""
    missing = -len(mel) % stack
    padded = np.concatenate([mel, np.repeat(mel[-1:], missing, 0)]).astype(np.float64)
    return padded.reshape(len(padded) // stack, -1)


def nearest(x: np.ndarray, book: np.ndarray) -> np.ndarray:
    """The number of the code nearest to each vector, the first of equal ones."""
    return ((book**2).sum(1) - 2 * (x @ book.T)).argmin(1)


def learn(mels: list[np.ndarray], stack: int, levels: int, codes: int, seed: int) -> Codec:
    """Codebooks of the training split's mels, level by level on what the levels before leave."""
    rng = np.random.default_rng(seed)
    left = np.concatenate([vectors(mel, stack) for mel in mels])
    if len(left) > _MOST:
        left = left[np.sort(rng.choice(len(left), _MOST, replace=False))]
    books = []
    for _ in range(levels):
        book = k_means(left, codes, rng).astype(np.float32)
        left = left - book[nearest(left, book.astype(np.float64))]
        books.append(book)
    return Codec(stack, np.stack(books))


def k_means(x: np.ndarray, codes: int, rng: np.random.Generator) -> np.ndarray:
    """Lloyd's rounds from k-means++ seeds; a code that nobody is nearest to stays where it is."""
    book = x[_seeds(x, codes, rng)]
    for _ in range(_ROUNDS):
        named = nearest(x, book)
        counts = np.bincount(named, minlength=codes)
        sums = np.zeros_like(book)
        np.add.at(sums, named, x)
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], book)
        if np.array_equal(moved, book):
            break
        book = moved
    return book


def _seeds(x: np.ndarray, codes: int, rng: np.random.Generator) -> list[int]:
    """Each with a probability in proportion to its squared distance from those before (Arthur and Vassilvitskii, 2007)."""
    chosen = [int(rng.integers(len(x)))]
    distance = ((x - x[chosen[0]]) ** 2).sum(1)
    while len(chosen) < codes:
        total = distance.sum()
        # Fewer different vectors than codes: the rest stand on the first.
        chosen.append(int(rng.choice(len(x), p=distance / total)) if total > 0 else chosen[0])
        distance = np.minimum(distance, ((x - x[chosen[-1]]) ** 2).sum(1))
    return chosen


def explained(codec: Codec, mels: list[np.ndarray]) -> float:
    """1 - squared error / squared deviation from the mean, over all frames."""
    error = deviation = 0.0
    mean = np.concatenate(mels).astype(np.float64).mean(0)
    for mel in mels:
        again = codec.decode(codec.encode(mel))[: len(mel)]
        error += float(((again - mel) ** 2).sum())
        deviation += float(((mel - mean) ** 2).sum())
    return 1 - error / deviation if deviation else 1.0
