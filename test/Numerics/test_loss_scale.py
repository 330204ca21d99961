"""fp16's loss scale in `train`: overflow repeats the update, growth, floor, checkpoints. Reports 10, 18 and 21."""

import json
import subprocess

import numpy as np
import pytest

from machine import tool
from test_twin import SYMBOLS, utterance
from tts.audio.features import Features
from tts.data import corpus
from tts.models.fastspeech2 import SIZES, text
from tts.runtime import Session

UTTERANCES = [f"u{number:03d}" for number in range(24)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loss-scale")
    splits = {"train": [utterance(i) for i in range(24)], "validation": [utterance(i) for i in range(24, 28)]}
    corpus.write(folder / "corpus", Features(), SYMBOLS, splits, {})
    (folder / "model.mlir").write_text(text(SIZES["tiny"]))
    for precision in ("fp16", "bf16", "fp32"):
        flags = ["--memory-budget=2G", "--batch=8", "--micro-batch=4", f"--precision={precision}", "--grad-clip=1.0"]
        command = [tool("tts-compile"), *flags, folder / "model.mlir", "-o", folder / precision]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return folder


def run(folder, *flags, precision="fp16", log=None, code=0, lr="2e-3"):
    command = [folder / precision, f"--data={folder / 'corpus'}", "--seed=4", f"--lr={lr}", "--warmup=10", *flags]
    done = subprocess.run([*command, f"--log-dir={log}"] if log else command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr[-2000:]
    return done


def lines(log):
    rows = map(json.loads, (log / "metrics.jsonl").read_text().splitlines())
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows if "lr" in row]


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_the_curve_is_that_of_f32(folder, tmp_path, precision):
    """Twenty updates: a batch's loss within 3 %, the mean of the last ten, where roundings average out, within 1 %, at a
    rate at which two runs that differ in roundings stay together. And what was planned is what was used."""
    for each in (precision, "fp32"):
        run(folder, "--steps=20", precision=each, log=tmp_path / each, lr="1e-3")
    expected, found = ([row["loss"] for row in lines(tmp_path / each)] for each in ("fp32", precision))
    assert expected[-1] < 0.9 * expected[0], "a curve that does not fall proves little"
    np.testing.assert_allclose(found, expected, rtol=0.03)
    assert np.mean(found[10:]) == pytest.approx(np.mean(expected[10:]), rel=0.01)
    assert found != expected
    final = json.loads((tmp_path / precision / "metrics.jsonl").read_text().splitlines()[-1])
    assert final["arena_high_water_bytes"] == final["planned_arena_bytes"]
    planned, measured = final["planned_peak_bytes"], final["measured_peak_bytes"]
    assert abs(planned - measured) <= 0.01 * planned + 8 * 2**20
    assert final["large_allocations_after_start"] == 0


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_the_certificate_holds(folder, precision):
    """Copies of the weights are bytes like any others, and no class is counted wrong."""
    certificate = json.loads((folder / f"{precision}.plan.json").read_text())
    classes = certificate["classes"]
    assert 0 < classes["half_copies"] <= classes["parameters"] / 2
    assert sum(classes.values()) == certificate["peak_bytes"]
    f32 = json.loads((folder / "fp32.plan.json").read_text())["classes"]
    assert classes["activations"] < 0.75 * f32["activations"]
    command = [tool("tts-check"), folder / f"{precision}.plan.json", "--executable", folder / precision]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_overflow_repeats_its_update(folder, tmp_path):
    """Report 18: a skipped try is no update, moves no schedule and loses no utterance; report 10: the norm is unscaled."""
    run(folder, "--steps=4", "--loss-scale=256", log=tmp_path / "low")
    run(folder, "--steps=4", "--loss-scale=16777216", log=tmp_path / "high")
    low, high = lines(tmp_path / "low"), lines(tmp_path / "high")
    assert [row["skipped"] for row in low] == [0] * 4 and {row["loss_scale"] for row in low} == {256}
    assert high[0]["skipped"] > 0 and sum(row["skipped"] for row in high[1:]) <= 1
    assert high[0]["loss_scale"] == 2.0 ** (24 - high[0]["skipped"])
    for key in ("step", "lr", "epoch", "utterances", "frames"):
        assert [row[key] for row in high] == [row[key] for row in low], key
    assert high[0]["loss"] == low[0]["loss"], "forward does not know the scale"
    for row, other in zip(high, low):
        assert row["grad_norm"] == pytest.approx(other["grad_norm"], rel=0.02)
        assert row["loss"] == pytest.approx(other["loss"], rel=0.01)


def test_growth_is_checkpointed(folder, tmp_path):
    """Report 21: killed after six updates and resumed, every file is that of an unbroken run."""
    flags = ["--loss-scale=128", "--loss-scale-interval=4", "--checkpoint-every=6", "--keep=9"]
    for precision in ("fp16", "bf16"):
        whole, broken = tmp_path / f"whole-{precision}", tmp_path / f"broken-{precision}"
        run(folder, "--steps=10", f"--checkpoint-dir={whole}", *flags, precision=precision, log=tmp_path / precision)
        run(folder, "--steps=6", f"--checkpoint-dir={broken}", *flags, precision=precision)
        run(folder, "--steps=10", "--resume", f"--checkpoint-dir={broken}", *flags, precision=precision)
        files = sorted(p.relative_to(whole) for p in whole.rglob("*") if p.is_file())
        assert len(files) >= 6
        for file in files:
            assert (whole / file).read_bytes() == (broken / file).read_bytes(), file
    state = json.loads((tmp_path / "whole-fp16" / "step-00000010" / "state.json").read_text())
    assert (state["loss_scale"], state["loss_scale_updates"]) == (512, 2)
    assert [row["loss_scale"] for row in lines(tmp_path / "fp16")] == [128] * 4 + [256] * 4 + [512] * 2
    assert "loss_scale" not in (tmp_path / "whole-bf16" / "step-00000010" / "state.json").read_text()


def test_a_lost_scale_is_seen(folder, tmp_path):
    """Planted: a checkpoint without the counter doubles the scale at another update."""
    flags = ["--loss-scale=128", "--loss-scale-interval=4"]
    run(folder, "--steps=6", f"--checkpoint-dir={tmp_path / 'run'}", *flags)
    state = tmp_path / "run" / "step-00000006" / "state.json"
    told = json.loads(state.read_text())
    assert told.pop("loss_scale_updates") == 2
    state.write_text(json.dumps(told))
    run(folder, "--steps=10", "--resume", f"--checkpoint-dir={tmp_path / 'run'}", *flags, log=tmp_path / "log")
    assert [row["loss_scale"] for row in lines(tmp_path / "log")] != [256, 256, 512, 512]


def spoilt_weights(folder, tmp_path):
    """Weights with which a product overflows fp16 at any scale."""
    library = tmp_path / "model.so"
    flags = ["--memory-budget=2G", "--batch=8", "--micro-batch=4", "--precision=fp16"]
    subprocess.run([tool("tts-compile"), *flags, folder / "model.mlir", "-o", library], check=True, capture_output=True)
    with Session(library) as session:
        session.initialise(4)
        name = next(p for p in session.trainable if "ffn" in p and p.endswith("weight"))
        session.write(name, np.full_like(session.read(name), 60000.0))
        session.save(tmp_path / "spoilt.safetensors")
    return tmp_path / "spoilt.safetensors", name


def test_stuck_at_the_floor(folder, tmp_path):
    """Report 18: 65536 halves 16 times, never below 1; then exit 5 names the tensor and the utterances."""
    weights, _ = spoilt_weights(folder, tmp_path)
    flags = [f"--init-from={weights}", f"--checkpoint-dir={tmp_path / 'run'}"]
    told = run(folder, "--steps=3", *flags, log=tmp_path / "log", code=5).stderr
    assert told.count("\n") == 1 and told.startswith("error: update 1: ")
    assert "at the least loss scale, 1" in told and "first non-finite tensor: '" in told
    assert sum(name in told for name in UTTERANCES) == 8
    assert not lines(tmp_path / "log"), "a skipped try is no update"
    assert not list((tmp_path / "run").glob("step-*")), "and nothing to keep"
