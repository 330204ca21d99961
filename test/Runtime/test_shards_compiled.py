"""Sharded states (ZeRO 1, 2, 3): the curve of one rank, fewer bytes on each, the ring's bytes, checkpoints between shardings."""

import json
import os
import signal
import subprocess
import time

import pytest
from test_budget import TOOLS, check_final_line, compile_model, run
from test_ranks import MPIRUN, pid_of
from test_ranks_compiled import BUDGET, alone, material, train

__all__ = ["alone", "material"]  # fixtures, used by name

CASES = [(2, "optimizer"), (3, "optimizer"), (2, "gradients"), (3, "parameters")]


def compile_sharded(folder, name, ranks, sharding, *flags):
    compiled = compile_model(folder, BUDGET, name, f"--ranks={ranks}", f"--shard-states={sharding}", *flags)
    assert compiled.returncode == 0, compiled.stderr
    plan = json.loads((folder / f"{name}.plan.json").read_text())
    assert plan["state_sharding"] == sharding
    proof = run(TOOLS / "tts-check", folder / f"{name}.plan.json", "--executable", folder / name)
    assert proof.returncode == 0, proof.stdout + proof.stderr
    return plan


def check_same_curve(expected, lines):
    assert len(expected) == len(lines)
    for one, many in zip(expected, lines, strict=True):
        assert one["step"] == many["step"]
        for key in ("loss", "val_loss"):
            if key in one:
                assert many[key] == pytest.approx(one[key], rel=1e-6)
        if "grad_norm" in one:
            assert many["grad_norm"] == pytest.approx(one["grad_norm"], rel=1e-5)


@pytest.mark.parametrize(("ranks", "sharding"), CASES)
def test_shards_train_as_one(material, alone, ranks, sharding):
    name = f"{sharding}{ranks}"
    whole = json.loads((material / "alone.plan.json").read_text())["classes"]
    plan = compile_sharded(material, name, ranks, sharding, "--micro-batch=2")
    lines = train(material, name, ranks)
    check_same_curve(alone[:-1], lines[:-1])

    # What is sharded takes its part of the bytes, and padding of less than an element for each tensor and rank.
    padding = plan["buffers"]
    levels = {"optimizer": 1, "gradients": 2, "parameters": 3}[sharding]
    for klass in ("optimizer", "gradients", "parameters")[:levels]:
        tensors = sum(buffer["class"] == klass for buffer in padding)
        assert 0 <= plan["classes"][klass] - whole[klass] / ranks <= 4 * tensors, klass
    for klass in ("optimizer", "gradients", "parameters")[levels:]:
        assert plan["classes"][klass] == whole[klass]

    final = lines[-1]
    for rank in final["ranks"]:
        check_final_line({"final": True, **rank}, BUDGET)
        assert rank["planned_peak_bytes"] == plan["peak_bytes"]


# An update of 12 is two shares of 6, exactly, so that no rank has a second micro-batch.
@pytest.mark.parametrize(("ranks", "sharding"), [*CASES[:3], (2, "parameters")])
def test_bytes_are_those_of_the_ring(material, alone, ranks, sharding):
    """One micro-batch per update: (N - 1)/N x 2P, and x 3P where the parameters are sharded, on average over ranks whose shards
    differ by padding."""
    parameters = json.loads((material / "alone.plan.json").read_text())["classes"]["gradients"]
    longest = json.loads((material / "alone.plan.json").read_text())["buckets"][-1]["dims"]
    bucket = "--bucket=" + ",".join(f"{dim}={size}" for dim, size in longest.items())
    plan = compile_sharded(material, f"bytes{ranks}{sharding}", ranks, sharding, bucket, "--micro-batch=12")
    lines = train(material, f"bytes{ranks}{sharding}", ranks, "--eval-every=0", "--steps=2")
    passes = 3 if sharding == "parameters" else 2
    sent = [rank["bytes_sent"] for rank in lines[-1]["ranks"]]
    assert sum(sent) == 2 * passes * (ranks - 1) * parameters
    exchange = plan["exchange"]
    planned = exchange["all_reduce_bytes"] + exchange["micro_batch_bytes"]
    assert abs(ranks * planned - passes * (ranks - 1) * parameters) <= passes * ranks


@pytest.mark.parametrize(("ranks", "sharding"), [(2, "gradients"), (3, "parameters")])
def test_what_overlaps_changes_no_bit(material, alone, tmp_path, monkeypatch, ranks, sharding):
    """Exchanged while entries compute, or waited for where it begins; with room for it the planner has the first."""
    name = f"ahead{ranks}"
    plan = compile_sharded(material, name, ranks, sharding, "--micro-batch=2")
    assert plan["prefetch"] == 1
    kept = {}
    for ahead in ("1", "0"):
        monkeypatch.setenv("TTS_PREFETCH", ahead)
        folder = tmp_path / ahead
        train(material, name, ranks, f"--checkpoint-dir={folder}", log=tmp_path / f"log{ahead}")
        kept[ahead] = [(folder / "step-00000004" / f"{f}.safetensors").read_bytes() for f in ("model", "optimizer")]
    assert kept["0"] == kept["1"]


def test_a_tight_budget_leaves_no_room_to_prefetch(material):
    flags = ("--ranks=2", "--shard-states=parameters", "--micro-batch=4", "--remat=none")
    refused = compile_model(material, "1K", "tight", *flags)
    least = int(refused.stderr.split("smallest feasible budget: ")[1].split()[0])
    for budget, ahead in ((least, 0), (least + (8 << 20), 1)):
        assert compile_model(material, f"{budget}B", "tight", *flags).returncode == 0
        plan = json.loads((material / "tight.plan.json").read_text())
        assert plan["prefetch"] == ahead and plan["peak_bytes"] <= budget


def test_a_checkpoint_continues_under_any_sharding(material, alone, tmp_path):
    """Optimizer states of two ranks, then parameters of three, then none of one: each continues where the one before ended."""
    compile_sharded(material, "first", 2, "optimizer", "--micro-batch=4")
    compile_sharded(material, "second", 3, "parameters", "--micro-batch=4")
    kept = f"--checkpoint-dir={tmp_path / 'kept'}"
    lines = train(material, "first", 2, kept, "--steps=1", "--eval-every=0", log=tmp_path / "1")[:-1]
    lines += train(material, "second", 3, kept, "--steps=3", "--eval-every=0", "--resume", log=tmp_path / "2")[:-1]
    lines += train(material, "alone", 1, kept, "--steps=4", "--resume", log=tmp_path / "3")[:-1]
    check_same_curve(alone[:-1], lines)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [f"step-0000000{n}" for n in (1, 3, 4)]


def check_killed_rank_loses_nothing(material, program, victim, tmp_path):
    """Every update is saved by both ranks together; one is killed, and the run that resumes ends with the same bits."""
    flags = ("--steps=12", "--eval-every=0", "--checkpoint-every=1", "--keep=20")
    train(material, program.name, 2, *flags, f"--checkpoint-dir={tmp_path / 'whole'}", log=tmp_path / "log")
    kept = tmp_path / "kept"
    common = [f"--data={material / 'corpus'}", "--seed=1", *flags, f"--checkpoint-dir={kept}"]
    running = subprocess.Popen(
        [*MPIRUN, "--enable-recovery", "-n", "2", program, *common], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not (kept / "step-00000003").exists() and time.monotonic() < deadline:
        time.sleep(0.001)
    os.kill(pid_of(program, victim), signal.SIGKILL)
    running.communicate(timeout=60)
    train(material, program.name, 2, *common, "--resume", log=tmp_path / "again")
    for name in ("model", "optimizer"):
        file = f"step-00000012/{name}.safetensors"
        assert (kept / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert all(path.name.startswith("step-") for path in kept.iterdir())


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_killed_among_saves_loses_nothing(material, alone, tmp_path, victim):
    compile_sharded(material, f"killed{victim}", 2, "optimizer", "--micro-batch=4")
    check_killed_rank_loses_nothing(material, material / f"killed{victim}", victim, tmp_path)


def test_only_shards_fit(material):
    """Left to itself the planner shards where nothing else fits, and says so."""
    flags = ("--ranks=2", "--micro-batch=1", "--pipeline=none")
    refused = compile_model(material, "1K", "none", "--shard-states=none", *flags)
    assert "allow --shard-states=auto" not in refused.stderr  # 1 KiB is too little for anything
    least = int(refused.stderr.split("smallest feasible budget: ")[1].split()[0])
    refused = compile_model(material, f"{least - 64}B", "none", "--shard-states=none", *flags)
    assert refused.returncode == 3 and "allow --shard-states=auto" in refused.stderr
    compiled = compile_model(material, f"{least - 64}B", "auto", *flags)
    assert compiled.returncode == 0, compiled.stderr
    assert json.loads((material / "auto.plan.json").read_text())["state_sharding"] != "none"
    assert "each rank keeps its shards of the states" in compiled.stderr
    roomy = compile_model(material, f"{least}B", "auto", *flags)
    assert roomy.returncode == 0, roomy.stderr
    assert json.loads((material / "auto.plan.json").read_text())["state_sharding"] == "none"
