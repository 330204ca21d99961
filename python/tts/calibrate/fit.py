"""Figures of a machine from what entries of training steps took."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import nnls

from tts.calibrate.work import Observed, Product

ENTRY, FAR = "entry", "memory"
ROUNDS = 6  # of reweighting


@dataclass
class Fit:
    """Seconds and rates of one thread."""

    entry_seconds: float = 0.0
    bandwidths: list[float] = field(default_factory=list)  # of each cache, and of the memory
    operation_seconds: dict[str, float] = field(default_factory=dict)
    products: dict[Product, float] = field(default_factory=dict)  # flops per second

    def flops(self, precision: str) -> float | None:
        """Of all products measured in a precision together."""
        shapes = [(p, rate) for p, rate in self.products.items() if p.precision == precision]
        seconds = sum(p.flops / rate for p, rate in shapes)
        return sum(p.flops for p, _ in shapes) / seconds if shapes else None


def resolved(shape: Product) -> tuple:
    """Shapes alike to an eighth of a doubling are one: taps of a convolution differ by a row."""
    extents = (round(8 * math.log2(extent)) for extent in (shape.m, shape.n, shape.k, shape.taps + 1))
    return (shape.precision, shape.transpose_a, shape.transpose_b, shape.accumulates, *extents)


def fit_products(observed: Iterable[Observed], threads: int) -> dict[Product, float]:
    """The median of each shape, which is measured in several models and places."""
    rates: dict[tuple, list[float]] = defaultdict(list)
    shapes: dict[tuple, Product] = {}
    for o in observed:
        if o.work.product:
            key = resolved(o.work.product)
            rates[key].append(o.work.calls * o.work.product.flops / o.seconds / threads)
            shapes.setdefault(key, o.work.product)
    return {shapes[key]: statistics.median(found) for key, found in rates.items()}


def level_of(distance: int, caches: list[int]) -> int:
    """The smallest cache that still holds what was touched so many bytes ago; beyond all of them the memory."""
    return next((level for level, size in enumerate(caches) if distance < size), len(caches))


def fit_kernels(observed: Iterable[Observed], caches: list[int], threads: int) -> Fit:
    """Non-negative least squares: an entry, bytes by the cache they come from, elements by operation.

    Errors count in proportion to the root of an entry's time and by its share in the step. They are weighted by the time
    fitted, not by the one measured: that would draw every figure down. A cache may not be slower than the next.
    """
    kernels = [o for o in observed if not o.work.product]
    names = sorted({name for o in kernels for name in o.work.operations})
    # A byte out of level i costs the steps up to i: all non-negative, so a nearer level is never the slower one.
    columns = [ENTRY, *range(len(caches) + 1), *names]
    place = {name: column for column, name in enumerate(columns)}
    table = np.zeros((len(kernels), len(columns)))
    for row, o in zip(table, kernels):
        row[place[ENTRY]] = 1
        for size, distance in o.work.touches:
            for level in range(level_of(distance, caches) + 1):
                row[place[level]] += size / threads
        for name, elements in o.work.operations.items():
            row[place[name]] += elements / threads
    seconds = np.array([o.seconds for o in kernels])
    shares = np.array([o.calls / o.step_seconds for o in kernels])
    scale = np.maximum(table.max(axis=0, initial=0), 1e-30)
    fitted = seconds
    for _ in range(ROUNDS):
        weights = np.sqrt(shares / np.maximum(fitted, 1e-8))
        solution, _ = nnls(table / scale * weights[:, None], seconds * weights, maxiter=50 * len(columns))
        fitted = table / scale @ solution
    value = dict(zip(columns, (float(x) for x in solution / scale)))
    per_byte = np.cumsum([value[level] for level in range(len(caches) + 1)])
    return Fit(
        entry_seconds=value[ENTRY],
        bandwidths=[float(1 / max(cost, 1e-13)) for cost in per_byte],
        operation_seconds={name: value[name] for name in names if value[name] > 0},
    )


def fit(observed: list[Observed], caches: list[int], threads: int) -> Fit:
    found = fit_kernels(observed, caches, threads)
    found.products = fit_products(observed, threads)
    return found
