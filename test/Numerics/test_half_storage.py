"""Activations kept in half until backward: forward's bits, gradients near those of f32, the planned bytes, budgets below f32's."""

import json
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from machine import Machine, global_error, tool, worst_error
from speech import utterances
from test_codec_lm import streams
from tts.models import codec_lm, dit
from tts.models.fastspeech2 import SIZES, text
from tts.runtime import Session

CONFIG = replace(SIZES["tiny"], batch=8, dropout=0.1, variance_dropout=0.5, buckets=({"text": 16, "frames": 64},))
MODEL = text(CONFIG)
BATCH = utterances([(16, 64), (9, 40), (5, 23), (1, 6), (12, 64), (16, 33), (2, 11), (7, 50)], CONFIG.symbols, seed=3)
HALVES = pytest.mark.parametrize("half", ["bf16", "fp16"])
FIXED = ("--threads=1",)
UNIT = {"bf16": 2.0**-9, "fp16": 2.0**-12}

# What is rounded is what backward reads of forward, each number by up to half a unit in the last place and independently.
# A gradient is a sum of products of one such number with what comes from above, where as many as 60 roundings lie
# behind each other (two in every layer of 30): √(60 / 3) units of its own size. No sign is rounded away: what a loss reads
# stays f32. A wrong mask, or a value in another's place, is an error of the order of one.
BOUND = {half: np.sqrt(60 / 3) * unit for half, unit in UNIT.items()}


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("half-storage")
    (folder / "model.mlir").write_text(MODEL)
    return folder


def smallest_budget(folder, *flags) -> int:
    refused = run(
        tool("tts-compile"), "--memory-budget=1K", *FIXED, *flags, folder / "model.mlir", "-o", folder / "none"
    )
    assert refused.returncode == 3, refused.stderr
    return int(re.search(r"smallest feasible budget: (\d+) bytes", refused.stderr).group(1))


def compiled(folder, name, *flags, budget="4G") -> tuple[Machine, dict]:
    """The library, and its certificate, which the checker accepts."""
    library, plan = folder / f"{name}.so", folder / f"{name}.plan.json"
    if not library.exists():
        done = run(
            tool("tts-compile"), f"--memory-budget={budget}", *FIXED, *flags, folder / "model.mlir", "-o", library
        )
        assert done.returncode == 0, done.stderr
        checked = run(tool("tts-check"), plan, "--executable", library)
        assert checked.returncode == 0, checked.stderr
    session = Session(library)
    return Machine(session, session.buckets[0]["micro_batch"]), json.loads(plan.read_text())


def in_half(folder, half, micro_batch, *flags) -> tuple[Machine, dict]:
    """As much in half as the least budget takes."""
    flags = (f"--half-storage={half}", f"--micro-batch={micro_batch}", *flags)
    name = "-".join(flag.strip("-").replace("=", "-") for flag in flags)
    budget = 0 if (folder / f"{name}.so").exists() else smallest_budget(folder, *flags)
    return compiled(folder, name, *flags, budget=budget)


def plain(folder, micro_batch, *flags) -> tuple[Machine, dict]:
    flags = ("--precision=fp32", f"--micro-batch={micro_batch}", *flags)
    name = "-".join(flag.strip("-").replace("=", "-") for flag in flags)
    return compiled(folder, name, *flags)


def gradients(machine, batch=BATCH):
    machine.session.initialise(2)
    losses = machine.gradients(machine.cut(dict(batch)), seed=9, update=3)
    return losses, machine.read("grad:")


@HALVES
def test_losses_are_those_of_f32_and_gradients_near(folder, half):
    machine, whole = plain(folder, 4, "--remat=none")
    losses, expected = gradients(machine)
    machine, plan = in_half(folder, half, 4, "--remat=none")
    told, found = gradients(machine)
    assert told == losses
    error, name = worst_error(found, expected, 0.02)
    assert global_error(found, expected) <= BOUND[half]
    assert error <= 3 * BOUND[half], name
    assert global_error(found, expected) > UNIT[half] / 100, "nothing was rounded"

    stored = plan["buckets"][0]["half_storage"]
    assert stored["type"] == half and len(stored["values"]) > 20
    assert plan["buckets"][0]["remat"] == "none" and plan["precision"] == "fp32"
    assert plan["changes_numerics"][0] == (
        f"bucket 0: {len(stored['values'])} activations are kept in {half} between forward and backward"
    )
    assert whole["changes_numerics"][0].startswith("bucket 0: gradients of micro-batches")
    # Most of what is live at the peak is kept for backward, and nearly all of that is in half.
    assert plan["classes"]["activations"] < 0.75 * whole["classes"]["activations"]


DIT = replace(dit.SIZES["tiny"], batch=8, dropout=0.1, buckets=CONFIG.buckets)
CODEC = replace(codec_lm.SIZES["tiny"], batch=8, buckets=({"frames": 96},))


@pytest.mark.parametrize(
    "model, batch",
    [(dit.text(DIT), BATCH), (codec_lm.text(CODEC), streams(tokens=CODEC.tokens))],
    ids=["dit", "codec_lm"],
)
def test_other_models(tmp_path, model, batch):
    """Attention's probabilities are computed again from rounded queries and keys, rotary and RMS norms from rounded rows."""
    (tmp_path / "model.mlir").write_text(model)
    losses, expected = gradients(plain(tmp_path, 4, "--remat=none")[0], batch)
    machine, plan = in_half(tmp_path, "bf16", 4, "--remat=none")
    assert len(plan["buckets"][0]["half_storage"]["values"]) > 10
    told, found = gradients(machine, batch)
    assert told == losses
    assert UNIT["bf16"] / 100 < global_error(found, expected) <= BOUND["bf16"]


def recomputing(folder, half) -> tuple[Machine, dict]:
    """The first choice that both computes again and keeps in half: the fastest that fits its own peak."""
    flags = (f"--half-storage={half}", "--micro-batch=4")
    _, roomy = compiled(folder, f"roomy-{half}", *flags)
    choice = next(c for c in roomy["considered"] if c["values_in_half"] and c["remat"] != "none" and c["on_front"])
    return compiled(folder, f"recomputing-{half}", *flags, budget=choice["peak_bytes"] * 1001 // 1000)


@HALVES
def test_with_rematerialization(folder, half):
    """What is computed again from rounded values is no further off."""
    losses, expected = gradients(plain(folder, 4, "--remat=none")[0])
    machine, plan = recomputing(folder, half)
    assert plan["buckets"][0]["remat"] == "partial" and plan["buckets"][0]["half_storage"]["values"]
    told, found = gradients(machine)
    assert told == losses
    assert global_error(found, expected) <= BOUND[half]
    assert global_error(found, expected) > UNIT[half] / 100, "nothing was rounded"


def test_micro_batches(folder):
    """The rounding of a number does not ask what stands beside it: sums differ in their last bits, and with them a number
    in perhaps a thousand, where it lies by a tie, by one unit: √(1/1000) of two half units."""
    losses, expected = gradients(in_half(folder, "bf16", 8, "--remat=none")[0])
    for micro_batch in (2, 3):
        told, found = gradients(in_half(folder, "bf16", micro_batch, "--remat=none")[0])
        assert told == pytest.approx(losses, rel=2e-6), micro_batch
        assert global_error(found, expected) <= np.sqrt(1 / 1000) * 2 * UNIT["bf16"], micro_batch


def test_a_budget_that_only_half_storage_meets(folder):
    fixed = ("--micro-batch=8", "--remat=none")
    budget = smallest_budget(folder, *fixed)
    less = smallest_budget(folder, *fixed, "--half-storage=auto")
    assert less < budget - 2**19
    between = (less + budget) // 2
    command = (tool("tts-opt"), "--plan-table=none", f"--memory-budget={between}", *FIXED, *fixed)
    refused = run(*command, folder / "model.mlir", "-o", folder / "out.mlir")
    assert refused.returncode == 3
    assert "allow --half-storage=auto" in refused.stderr
    _, plan = compiled(folder, "between", *fixed, "--half-storage=auto", budget=between)
    assert plan["peak_bytes"] <= between and plan["buckets"][0]["half_storage"]["type"] == "bf16"


def test_it_is_not_used_where_f32_fits(folder):
    _, plan = compiled(folder, "roomy", "--half-storage=auto", "--micro-batch=8")
    assert plan["buckets"][0]["half_storage"] == {"type": "none", "values": []}
    assert plan["changes_numerics"] == []
    assert [c["values_in_half"] > 0 for c in plan["considered"]].count(True) > 1


@HALVES
def test_twenty_updates_train(folder, half):
    """The first loss is f32's; then, at a high rate, as near as mixed precision's curve is to be (test_loss_scale): a loss
    within 3 %, the mean of the last ten within 1 %."""
    curves = []
    for machine, _ in (
        plain(folder, 4, "--remat=none"),
        in_half(folder, half, 4, "--remat=none"),
        recomputing(folder, half),
    ):
        machine.session.initialise(5)
        batches = machine.cut(dict(BATCH))
        curves.append([machine.step(batches, lr=1e-3, update=n, seed=9)["loss"] for n in range(1, 21)])
        assert all(np.isfinite(curves[-1]))
    whole, *halves = curves
    for curve in halves:
        assert curve[0] == whole[0]
        assert curve == pytest.approx(whole, rel=0.03)
        assert np.mean(curve[10:]) == pytest.approx(np.mean(whole[10:]), rel=0.01)
        assert curve[-1] < 0.9 * curve[0]
