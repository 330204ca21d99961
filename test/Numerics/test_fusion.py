"""Fusing ops into one kernel changes no bit: the same model compiled with and without."""

import subprocess

import numpy as np
import pytest

from machine import Machine, tool
from speech import utterances
from tts.models.fastspeech2 import SIZES, text
from tts.runtime import Session

BUCKET = {"text": 12, "frames": 40}


def compiled(folder, fusion: str, precision: str) -> Session:
    source, library = folder / "model.mlir", folder / f"{fusion}-{precision}.so"
    source.write_text(text(SIZES["tiny"]))
    flags = ["--memory-budget=4G", "--batch=3", "--micro-batch=3", "--bucket=text=12,frames=40", f"--fusion={fusion}"]
    command = [tool("tts-compile"), *flags, f"--precision={precision}", source, "-o", library]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return Session(library)


def kernels(session: Session) -> int:
    return sum(not entry.is_gemm for entry in session.entries)


def sums_in_products(session: Session) -> tuple[int, int]:
    """Calls with a bias, and calls of eval that add onto a residual as well."""
    bias, beta = -2, 9  # at the same places for products and convolutions
    biased = [entry for entry in session.entries if entry.is_gemm and entry.scalars[bias]]
    return len(biased), sum(entry.kind == "eval" and bool(entry.scalars[beta]) for entry in biased)


@pytest.mark.parametrize("precision", ["fp32", "fp64", "bf16", "fp16"])
def test_fused_and_unfused_builds_agree_in_every_bit(tmp_path, precision):
    batch = utterances([(12, 40), (5, 23), (9, 31)], SIZES["tiny"].symbols)
    told, states, outputs = [], [], []
    sessions = [compiled(tmp_path, fusion, precision) for fusion in ("on", "off")]
    assert kernels(sessions[0]) < kernels(sessions[1]) - 50, "hardly anything was fused"
    assert sums_in_products(sessions[1]) == (0, 0)
    if precision == "fp32":
        biased, onto = sums_in_products(sessions[0])
        assert biased > onto > 0, "no product does its sums"
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
