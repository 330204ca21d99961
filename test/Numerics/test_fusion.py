"""Fusing ops into one kernel changes no bit: the same model compiled with and without."""

import subprocess

import numpy as np
import pytest

from environments import processor_flags
from machine import Machine, tool
from speech import utterances
from test_codec_lm import streams
from tts.models import codec_lm, dit, fastspeech2
from tts.runtime import Session

FASTSPEECH2 = fastspeech2.SIZES["tiny"]


def compiled(folder, fusion: str, precision: str, model: str, bucket: str) -> Session:
    source, library = folder / "model.mlir", folder / f"{fusion}-{precision}.so"
    source.write_text(model)
    flags = ["--memory-budget=4G", "--batch=3", "--micro-batch=3", f"--bucket={bucket}", f"--fusion={fusion}"]
    command = [tool("tts-compile"), *flags, f"--precision={precision}", source, "-o", library]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return Session(library)


def both(folder, precision: str, model: str, bucket: str) -> list[Session]:
    return [compiled(folder, fusion, precision, model, bucket) for fusion in ("on", "off")]


def kernels(session: Session) -> int:
    return sum(not entry.is_gemm for entry in session.entries)


def sums_in_products(session: Session) -> tuple[int, int]:
    """Calls with a bias, and calls of eval that add onto a residual as well."""
    bias, beta = -2, 9  # at the same places for products and convolutions
    biased = [entry for entry in session.entries if entry.is_gemm and entry.scalars[bias]]
    return len(biased), sum(entry.kind == "eval" and bool(entry.scalars[beta]) for entry in biased)


def launches(session: Session, *names: str) -> int:
    """Entries of kernels that are named after these ops."""
    return sum(entry.function.startswith(names) for entry in session.entries)


def assert_same_bits(sessions: list[Session], batch: dict):
    """Three updates and an evaluation: losses, all states, outputs."""
    told, states, outputs = [], [], []
    for session in sessions:
        machine = Machine(session, 3)
        session.initialise(5)
        micro = machine.cut(dict(batch))
        told.append([session.step(micro, 1e-3, update=update, seed=9) for update in (1, 2, 3)])
        states.append({n: session.read(n) for n in session.parameters} | machine.read("moment2:"))
        outputs.append(machine.evaluate(micro[0]))
        machine.close()
    assert told[0] == told[1]
    for name, values in states[0].items():
        assert np.array_equal(values, states[1][name]), name
    for name, values in outputs[0].items():
        assert np.array_equal(values, outputs[1][name]), name


@pytest.mark.parametrize("precision", ["fp32", "fp64", "bf16", "fp16"])
def test_fused_and_unfused_builds_agree_in_every_bit(tmp_path, precision):
    batch = utterances([(12, 40), (5, 23), (9, 31)], FASTSPEECH2.symbols)
    fused, plain = both(tmp_path, precision, fastspeech2.text(FASTSPEECH2), "text=12,frames=40")
    assert kernels(fused) < kernels(plain) - 50, "hardly anything was fused"
    assert sums_in_products(plain) == (0, 0)
    if precision == "fp32":
        biased, onto = sums_in_products(fused)
        if "avx512f" in processor_flags():
            assert biased > onto > 0, "no product does its sums"
        else:  # all products are kernels
            assert not any(entry.is_gemm for entry in fused.entries) and biased == 0
    # All parameters of the update, with their averages and half copies, which not all of them have.
    updates = ("adamw", "ema", "cast", "sum_squares", "full")
    of = [
        sum(e.kind in ("zero", "update") and e.function.startswith(updates) for e in s.entries) for s in (fused, plain)
    ]
    assert of[0] <= 6 and of[1] >= 4 * len(plain.trainable)
    assert_same_bits([fused, plain], batch)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_rows_with_what_stands_around_them(tmp_path, precision):
    """Modulated norms and their gradients, sums over time of products."""
    config = dit.SIZES["tiny"]
    batch = utterances([(16, 64), (9, 40), (5, 23)], config.symbols)
    fused, plain = both(tmp_path, precision, dit.text(config), "text=16,frames=64")
    assert launches(fused, "mul", "add") < launches(plain, "mul", "add") - 20
    assert_same_bits([fused, plain], batch)


def test_rms_norms_with_what_stands_around_them(tmp_path):
    config = codec_lm.SIZES["tiny"]
    fused, plain = both(tmp_path, "fp32", codec_lm.text(config), "frames=48")
    assert kernels(fused) < kernels(plain)
    assert_same_bits([fused, plain], streams([48, 17, 30], config.tokens))
