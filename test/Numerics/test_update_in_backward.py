"""Updating each parameter in backward changes no bit, saves the gradients' bytes and gives up the guard."""

import json
import subprocess

import numpy as np
import pytest

from machine import Machine, tool
from test_remat import SHORT, compiled, trained
from test_reports import TWO_WEIGHTS, frames, one_weight
from test_twin import SYMBOLS, utterance
from tts.audio.features import Features
from tts.data import corpus
from tts.models.fastspeech2 import SIZES, text, with_postnet
from tts.runtime import RuntimeFailure, Session

UNCLIPPED = ("--memory-budget=4G", "--micro-batch=4", "--grad-clip=0", *SHORT)
IN_BACKWARD = "--optimizer-in-backward=on"


@pytest.mark.parametrize("precision, postnet", [("fp32", False), ("bf16", False), ("fp32", True)])
def test_it_changes_no_bit(tmp_path, precision, postnet):
    """Twenty updates: losses, norm, weights and moments; with dropout, with clones that read parameters, with states."""
    fixed = (text(with_postnet(SIZES["tiny"]) if postnet else SIZES["tiny"]), f"--precision={precision}", *UNCLIPPED)
    apart, without = compiled(tmp_path, "apart", *fixed, "--remat=none")
    kept, with_it = compiled(tmp_path, "kept", *fixed, "--remat=none", IN_BACKWARD)
    full, least = compiled(tmp_path, "full", *fixed, "--remat=full", IN_BACKWARD)
    assert [plan["update_in_backward"] for plan in (without, with_it, least)] == [False, True, True]
    assert without["classes"]["gradients"] > 0 == with_it["classes"]["gradients"]
    assert without["arena_bytes"] > with_it["arena_bytes"] > least["arena_bytes"]
    assert with_it["changes_numerics"] == without["changes_numerics"]

    told, state = trained(apart)
    assert any(np.any(value != state[name]) for name, value in first_weights(tmp_path / "apart.so").items())
    for session in (kept, full):
        other, values = trained(session)
        assert other == told
        for name, value in state.items():
            assert np.array_equal(value, values[name]), name


def first_weights(library):
    with Session(library) as session:
        session.initialise(5)
        return {name: session.read(name) for name in session.parameters}


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_run(tmp_path, precision):
    """Planned bytes are measured bytes, the certificate holds, a run that was broken off goes on to the same files."""
    splits = {"train": [utterance(i) for i in range(24)], "validation": [utterance(i) for i in range(24, 28)]}
    corpus.write(tmp_path / "corpus", Features(), SYMBOLS, splits, {})
    largest = json.loads((tmp_path / "corpus" / "manifest.json").read_text())["suggested_buckets"][-1]
    bucket = "--bucket=" + ",".join(f"{name}={size}" for name, size in sorted(largest.items(), reverse=True))
    flags = [f"--buckets-from={tmp_path / 'corpus'}", bucket, "--memory-budget=2G", "--batch=4", "--grad-clip=0"]
    (tmp_path / "model.mlir").write_text(text(SIZES["tiny"]))
    command = [tool("tts-compile"), *flags, f"--precision={precision}", IN_BACKWARD, tmp_path / "model.mlir"]
    subprocess.run([*map(str, command), "-o", tmp_path / "train"], check=True, capture_output=True)
    check = [tool("tts-check"), tmp_path / "train.plan.json", "--executable", tmp_path / "train"]
    done = subprocess.run(list(map(str, check)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

    def train(*more):
        command = [tmp_path / "train", f"--data={tmp_path / 'corpus'}", "--seed=4", "--checkpoint-every=3", *more]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train("--steps=5", f"--checkpoint-dir={whole}", f"--log-dir={tmp_path / 'log'}")
    train("--steps=3", f"--checkpoint-dir={broken}")
    train("--steps=5", f"--checkpoint-dir={broken}", "--resume")
    for file in sorted(p.relative_to(whole) for p in whole.rglob("*.safetensors")):
        assert (whole / file).read_bytes() == (broken / file).read_bytes(), file
    final = json.loads((tmp_path / "log" / "metrics.jsonl").read_text().splitlines()[-1])
    assert final["arena_high_water_bytes"] == final["planned_arena_bytes"]
    planned, measured = final["planned_peak_bytes"], final["measured_peak_bytes"]
    assert abs(planned - measured) <= 0.01 * planned + 8 * 2**20
    assert final["large_allocations_after_start"] == 0


def weighed(folder, optimizer: str):
    model = one_weight("l1", optimizer, extra=", tts.ema_decay = 0.9 : f64")
    session, _ = compiled(
        folder, optimizer, model, "--memory-budget=1G", "--micro-batch=4", "--bucket=text=4", IN_BACKWARD
    )
    return Machine(session, 4)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_loss_that_is_not_finite_changes_nothing(tmp_path, optimizer):
    """A loss ends the update before backward, and so nothing changes."""
    machine = weighed(tmp_path, optimizer)
    good = machine.cut(frames([1], [2], [3], [4]))
    machine.step(good, lr=0.1)
    states = [machine.read(prefix) for prefix in ("", "ema:")]
    with pytest.raises(RuntimeFailure, match="the loss is not finite; first non-finite tensor") as failure:
        machine.step(machine.cut(frames([1], [2], [float("nan")], [4])), lr=0.1, update=2)
    assert failure.value.code == 5
    assert [machine.read(prefix) for prefix in ("", "ema:")] == states
    machine.step(good, lr=0.1, update=2)
    assert machine.read() != states[0]
    machine.close()


@pytest.mark.parametrize("optimizer, spoilt", [("adamw", "moment2:"), ("sgd", "")])
def test_a_norm_that_overflows_comes_too_late(tmp_path, optimizer, spoilt):
    """The loss is 0, a gradient 5e19: its square is beyond f32, and what it went into is gone."""
    model = TWO_WEIGHTS.replace('"sgd"', f'"{optimizer}"')
    flags = ["--memory-budget=1G", "--micro-batch=2", "--grad-clip=0"]
    apart, _ = compiled(tmp_path, "apart", model, *flags)
    session, _ = compiled(tmp_path, "in-backward", model, *flags, IN_BACKWARD)
    batch = {"x": [np.float32([(1e20, 0.0)]), np.float32([(0.0, 0.0)])], "lengths": [np.int32(1)] * 2}
    for each, message in ((apart, "first non-finite tensor"), (session, "norm is not finite; the weights are spoilt")):
        machine = Machine(each, 2)
        machine.write({"w": [0.0, 0.0]})
        with pytest.raises(RuntimeFailure, match=message) as failure:
            machine.step(machine.cut(dict(batch)), lr=0.1)
        assert failure.value.code == 5
        assert np.any(machine.read(spoilt)["w"]) == (each is session)
        machine.close()


def test_an_update_is_one_micro_batch(tmp_path):
    machine = weighed(tmp_path, "adamw")
    micro = machine.cut(frames([1], [2], [3], [4]))
    with pytest.raises(RuntimeFailure, match="backward updates the parameters of one micro-batch") as failure:
        machine.step([*micro, *micro], lr=0.1)
    assert failure.value.code == 1
    machine.close()
