"""What the entries of a step do, as the compiler's time model sees it (`tts-opt --tts-print-work`)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tts.entries import PROGRAMS


@dataclass(frozen=True)
class Product:
    """A product of matrices, or a convolution (taps > 0)."""

    precision: str
    transpose_a: bool
    transpose_b: bool
    accumulates: bool
    m: int
    n: int
    k: int
    taps: int

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.n * self.k * max(self.taps, 1)


@dataclass(frozen=True)
class Work:
    """One entry."""

    program: str
    bucket: int
    index: int
    function: str
    calls: int
    product: Product | None
    touches: tuple[tuple[int, int], ...]  # bytes, and how many others were touched since these were
    operations: dict[str, int]  # elements of each in a kernel

    @classmethod
    def of(cls, line: str) -> Work:
        row = json.loads(line)
        product = Product(**row["product"]) if "product" in row else None
        touches = tuple((size, distance) for size, distance in row["touches"])
        kind = PROGRAMS[row["program"]]
        return cls(
            kind, row["bucket"], row["index"], row["function"], row["calls"], product, touches, row["operations"]
        )


@dataclass(frozen=True)
class Observed:
    """An entry's work, its seconds in one call, how often a step calls it and the step's own seconds."""

    work: Work
    seconds: float
    calls: int
    step_seconds: float
