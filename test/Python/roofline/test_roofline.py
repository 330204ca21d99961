"""The roofline driver: its arithmetic on made-up entries, and oneDNN's limits measured for real on small shapes."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import roofline as driver
from environments import processor_flags
from table import Limits, Shape, kernel_flops, roofline, seconds_per_call, text
from tts.data.errors import InputError
from tts.entries import Entry, Operand, Profile, Timed


@pytest.fixture(autouse=True)
def small_copies(monkeypatch):
    monkeypatch.setattr(driver, "COPY_BYTES", 1 << 24)


def gemm(number, m, n, k, batch=1, beta=0, stride_c=None):
    scalars = [0, m, n, k, k, n, n, 0, 0, beta, batch, m * k, k * n, m * n if stride_c is None else stride_c, 0, 0, 0]
    operands = [
        Operand("x", "activations", 0, 4 * size, access) for size, access in ((m * k, 1), (k * n, 1), (m * n, 2))
    ]
    return Entry(number, number, "forward", "forward", 0, 0, "rt.gemm", "op", "f:1:1", tuple(operands), tuple(scalars))


def kernel(number, name, reads, writes, both=0):
    sizes = [(reads, 1), (writes, 2), (both, 3)]
    operands = tuple(Operand("x", "activations", 0, size, access) for size, access in sizes if size)
    return Entry(number, number, "forward", "forward", 0, 8, name, "op", "f:1:1", operands, ())


def profile(*timed):
    return Profile([Timed(entry, calls, wall, cpu) for entry, calls, wall, cpu in timed])


SMALL, LARGE = gemm(0, 10, 20, 30), gemm(1, 100, 20, 30)
RELU = kernel(2, "relu", 1000, 500, both=250)


def test_bytes_of_an_entry():
    assert RELU.bytes == 1000 + 500 + 2 * 250
    assert SMALL.bytes == 4 * (300 + 600 + 200)


def test_the_least_of_each_entry_counts():
    steps = [profile((SMALL, 2, 4.0, 0.2), (RELU, 1, 1.0, 0.5)), profile((SMALL, 2, 2.0, 0.4), (RELU, 1, 3.0, 0.4))]
    assert seconds_per_call(steps, processor=False) == {0: (SMALL, 2, 1.0), 2: (RELU, 1, 1.0)}
    assert seconds_per_call(steps, processor=True) == {0: (SMALL, 2, 0.1), 2: (RELU, 1, 0.4)}


def made_up(small, large, relu, outside=0.0):
    limits = Limits(
        {Shape.of(SMALL): 0.1, Shape.of(LARGE): 0.5},
        {Shape.of(SMALL): 0.15, Shape.of(LARGE): 0.75},
        copy_bytes_per_second=20_000.0,
    )
    measured = {0: (SMALL, 3, small), 1: (LARGE, 1, large), 2: (RELU, 2, relu)}
    return roofline(measured, {"relu": 4000}, limits, outside), limits


def test_shares_and_rates():
    """3·0.2 + 1 in GEMMs whose limits are 3·0.1 + 0.5, 2·0.2 in a kernel that moves 2,000 B at 20,000 B/s."""
    result, limits = made_up(0.2, 1.0, 0.2)
    assert limits.flops_per_second == 240_000  # the faster shape's: 2·100·20·30 in half a second
    assert result.step_seconds == pytest.approx(2.0) and result.gemm_share == pytest.approx(0.8)
    assert result.gemm_rate == pytest.approx(0.8 / 1.6) and result.stored_rate == pytest.approx(1.2 / 1.6)
    assert [row.name for row in result.rows] == ["gemm 100×20×30 ·", "gemm 10×20×30 ·", "relu"]
    relu = result.rows[-1]
    assert (relu.calls, relu.bytes, relu.flops) == (2, 4000, 8000)
    assert relu.of_limit == pytest.approx(0.1 / 0.2)  # its bytes bind, not 4000 flops in a sixtieth of a second
    assert not result.holds


@pytest.mark.parametrize(
    "small, relu, outside, holds",
    [(0.105, 0.05, 0.0, True), (0.2, 0.05, 0.0, False), (0.105, 0.2, 0.0, False), (0.105, 0.05, 0.3, False)],
)
def test_both_promises_must_hold(small, relu, outside, holds):
    """Slow GEMMs, slow kernels or time outside the entries each break them."""
    result, limits = made_up(small, 0.5, relu, outside)
    assert result.holds is holds
    assert ("NO" in text(result, limits)) is not holds


def test_small_rows_are_summed_up():
    result, limits = made_up(0.001, 1.0, 0.001)
    lines = text(result, limits, least_share=0.1).splitlines()
    assert lines[1].startswith("gemm 100×20×30") and lines[2].startswith("(2 smaller)") and lines[2].split()[2] == "5"


def test_shapes_are_told_apart():
    assert Shape.of(gemm(0, 2, 3, 4, batch=8, beta=1)) == Shape(2, 3, 4, 8, True, False)
    summed = Shape.of(gemm(0, 2, 3, 4, batch=8, beta=1, stride_c=0))
    assert summed == Shape(2, 3, 4, 8, True, True) and summed.flops == 2 * 2 * 3 * 4 * 8
    assert str(summed) == "gemm 2×3×4 · Σ8 +="
    entry = gemm(0, 2, 3, 4)
    transposed = replace(entry, scalars=(*entry.scalars[:7], 1, 1, *entry.scalars[9:]))
    conv = replace(entry, function="rt.conv1d", scalars=(0, 2, 8, 4, 5, 3, 1, 0, 0, 0, 0, 0))
    assert conv.is_gemm and Shape.of(conv) == Shape(16, 5, 4, 1, False, taps=3)
    assert str(Shape.of(conv)) == "conv 16×5×4 3 taps" and Shape.of(conv).flops == 2 * 16 * 5 * 4 * 3
    assert str(Shape.of(transposed)) == "gemm 2×3×4 ᵀ·ᵀ" and Shape.of(transposed) != Shape.of(entry)


def test_flops_of_kernels():
    """Moves are free, a broadcast is part of its reader, known ops cost more than one."""
    ir = """
  func.func private @relu_2x3xf32(%arg0: tensor<3xf32>, %arg1: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {rt.kernel} {
    %0 = tts.broadcast %arg0 dims [1] : tensor<3xf32> to tensor<2x3xf32>
    %1 = tts.add %arg1, %0 : tensor<2x3xf32>
    %2 = tts.relu %1 : tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
  func.func private @sum_to_3xf64(%arg0: tensor<2x3xf64>, %arg1: tensor<2xi64>) -> tensor<3xf64> attributes {rt.kernel} {
    %0 = tts.sum_to %arg0 : tensor<2x3xf64> to tensor<3xf64>
    return %0 : tensor<3xf64>
  }
  func.func private @layer_norm_2x3xf32(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) attributes {rt.kernel} {
    %y, %mean, %rstd = tts.layer_norm %arg0 {epsilon = 1.0e-05 : f64} : tensor<2x3xf32>, tensor<3xf32> to tensor<2xf32>
    return %y : tensor<2x3xf32>
  }
  func.func @forward(%arg0: tensor<2x3xf32>) {
    %0 = tts.relu %arg0 : tensor<2x3xf32>
  }
"""
    assert kernel_flops(ir) == {"relu_2x3xf32": 12, "sum_to_3xf64": 6, "layer_norm_2x3xf32": 48}


def test_a_typical_update():
    buckets = [{"micro_batch": 4}, {"micro_batch": 1}, {"micro_batch": 2}]
    assert driver.typical_update(buckets, 16, [0.5, 0.02, 0.48]) == [0, 0, 1, 2, 2, 2, 2]
    assert driver.typical_update(buckets, 16, [1, 0, 0]) == [0, 0, 0, 0]


def test_a_full_batch_fills_its_bucket():
    tensors = [
        ("phones", "I32", (2, 3)),
        ("durations", "I32", (2, 3)),
        ("mel", "F32", (2, 8, 4)),
        ("utterance", "I64", (2,)),
    ]
    inputs = [{"name": name, "dtype": dtype, "shape": shape} for name, dtype, shape in tensors]
    inputs += [{"name": "n", "dtype": "I32", "shape": (2,), "lengths": "frames"}]
    bucket = {"dims": {"text": 3, "frames": 8}, "micro_batch": 2, "inputs": inputs}
    batch = driver.full_batch(bucket, np.random.default_rng(0))
    assert (batch["durations"].sum(1) == 8).all() and (batch["n"] == 8).all() and list(batch["utterance"]) == [0, 1]
    assert batch["phones"].min() > 0 and batch["mel"].shape == (2, 8, 4)


def test_limits_are_measured(tmp_path):
    """A larger product takes longer; the rates are those of a processor and a memory, not of a clock misread."""
    shapes = [
        Shape(32, 32, 32, 1, False),
        Shape(256, 256, 256, 2, True, False, True),
        Shape(64, 32, 16, 4, True, True),
        Shape(64, 32, 16, 1, False, taps=9),
    ]
    program = driver.LimitsProgram(tmp_path, 1, shapes)
    program.round()
    limits = program.close()
    seconds = [limits.gemm_seconds[shape] for shape in shapes]
    assert seconds[1] > 10 * seconds[0] and seconds[1] > 10 * seconds[2]
    assert all(limits.stored_seconds[shape] >= limits.gemm_seconds[shape] for shape in shapes)
    assert 1e9 < limits.flops_per_second < 1e13 and 1e8 < limits.copy_bytes_per_second < 1e12


def test_the_driver_on_a_tiny_model(tmp_path, capsys, monkeypatch):
    """From the model file to the exit status; the figures of the JSON are those of the table."""
    driver.call(sys.executable, "-m", "tts.models.fastspeech2", "--size=tiny", "-o", tmp_path / "tiny.mlir")
    flags = [
        "--rounds=1",
        "--batch=2",
        "--bucket=text=8,frames=16",
        "--memory-budget=1G",
        f"--json={tmp_path / 'r.json'}",
    ]
    monkeypatch.setattr(sys, "argv", ["roofline", f"--model={tmp_path / 'tiny.mlir'}", *flags])
    if "avx512f" not in processor_flags():
        with pytest.raises(InputError, match="oneDNN does no product"):
            driver.main()
        return
    code, out, result = driver.main(), capsys.readouterr().out, json.loads((tmp_path / "r.json").read_text())
    assert code == (0 if result["holds"] else 3) and ("NO" in out) is not result["holds"]
    assert f"inside GEMMs: {result['gemm_share']:.1%}" in out
    assert 0 < result["gemm_share"] < 1 and 0 < result["gemm_rate"]
    kernels = [row for row in result["rows"] if not row["shape"]]
    assert any(row["flops"] for row in kernels) and all(row["seconds"] > 0 for row in result["rows"])
