"""The fit of a machine's figures, on entries of a made-up machine."""

import numpy as np
import pytest

from tts.calibrate.fit import fit, fit_products, level_of
from tts.calibrate.work import Observed, Product, Work

ENTRY, BANDWIDTHS, CACHES = 2e-6, (100e9, 40e9, 10e9), [1 << 20, 1 << 25]
OPERATIONS = {"tts.exp": 4e-10, "tts.dropout": 9e-10, "tts.add": 0.0}


def kernel(touches, operations) -> Work:
    return Work("forward", 0, 0, "kernel", 0, None, touches, operations)


def product(m, n, k, calls=1, precision="fp32", taps=0) -> Work:
    shape = Product(precision, False, False, False, m, n, k, taps)
    return Work("forward", 0, 0, "rt.gemm", calls, shape, ((4 * m * n, 0),), {})


def seconds_of(work: Work, threads: int) -> float:
    traffic = sum(size / BANDWIDTHS[level_of(distance, CACHES)] for size, distance in work.touches)
    return ENTRY + (traffic + sum(OPERATIONS[name] * n for name, n in work.operations.items())) / threads


def steps(threads=1, noise=0.0) -> list[Observed]:
    draw, observed = np.random.default_rng(3), []
    for _ in range(300):
        touches = tuple(
            (int(draw.integers(1000, 4e6)), int(draw.choice((0, 1 << 22, 1 << 28)))) for _ in range(draw.integers(1, 4))
        )
        names = draw.choice(list(OPERATIONS), draw.integers(1, 3), replace=False)
        work = kernel(touches, {str(name): int(draw.integers(100, 1e6)) for name in names})
        factor = np.exp(noise * draw.standard_normal())
        observed.append(Observed(work, factor * seconds_of(work, threads), int(draw.integers(1, 5)), 0.1))
    return observed


def test_the_level_is_the_smallest_cache_that_holds_it():
    assert [level_of(d, CACHES) for d in (0, (1 << 20) - 1, 1 << 20, 1 << 25)] == [0, 0, 1, 2]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_figures_of_a_machine_are_found(threads):
    found = fit(steps(threads), CACHES, threads)
    assert found.entry_seconds == pytest.approx(ENTRY, rel=0.01)
    assert found.bandwidths == pytest.approx(BANDWIDTHS, rel=0.01)
    assert found.operation_seconds["tts.exp"] == pytest.approx(4e-10, rel=0.01)
    assert found.operation_seconds["tts.dropout"] == pytest.approx(9e-10, rel=0.01)


def test_noise_does_not_draw_the_figures_down():
    observed = steps(noise=0.3)
    found = fit(observed, CACHES, 1)
    measured = sum(o.calls * o.seconds for o in observed)
    fitted = 0.0
    for o in observed:
        traffic = sum(size / found.bandwidths[level_of(d, CACHES)] for size, d in o.work.touches)
        operations = sum(found.operation_seconds.get(name, 0) * n for name, n in o.work.operations.items())
        fitted += o.calls * (found.entry_seconds + traffic + operations)
    assert fitted == pytest.approx(measured, rel=0.02)


def test_a_shape_has_the_median_of_its_rates_and_like_shapes_are_one():
    def rate(work, flops, threads=1):
        return Observed(work, work.calls * work.product.flops / flops / threads, 1, 1.0)

    many = [rate(product(1000, 64, 64), r) for r in (1e9, 3e9, 2e9)] + [rate(product(1001, 64, 64, calls=7), 2e9)]
    found = fit_products([*many, rate(product(1000, 8, 64), 5e8), rate(product(9, 9, 9, taps=3), 4e8)], 1)
    assert sorted(found.values()) == pytest.approx([4e8, 5e8, 2e9])
    assert list(fit_products([rate(product(8, 8, 8), 1e9, threads=2)], 2).values()) == pytest.approx([1e9])


def test_the_rate_of_a_precision_is_that_of_all_its_products_together():
    work = [product(10, 10, 10), product(20, 10, 10), product(10, 10, 10, precision="bf16")]
    found = fit([Observed(w, w.product.flops / r, 1, 1.0) for w, r in zip(work, (1e9, 4e9, 5e9))] + steps(), CACHES, 1)
    assert found.flops("fp32") == pytest.approx(6000 / (2000 / 1e9 + 4000 / 4e9))
    assert found.flops("bf16") == pytest.approx(5e9)
    assert found.flops("fp16") is None
