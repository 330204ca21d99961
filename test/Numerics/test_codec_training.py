"""The codec language model trained by its executable, from a corpus of mels to a loss that falls."""

import json
import math
import subprocess

import pytest

from machine import tool
from tts.data import tokens
from tts.data.synthetic import Range, synthesize
from tts.models import codec_lm


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The folder with a corpus of tokens and the tiny model made for it."""
    folder = tmp_path_factory.mktemp("codec")
    synthesize(folder / "mels", 80, 4, Range(4, 9), Range(16, 60), mels=8)
    manifest = tokens.make(folder / "mels", folder / "tokens", stack=2, levels=1, codes=24)
    model = folder / "model.mlir"
    assert codec_lm.main(["--size=tiny", f"--corpus={folder / 'tokens'}", "--dropout=0.1", "-o", str(model)]) == 0
    return folder, manifest


def run(*command) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_it_trains(prepared):
    """From the loss of a guess to well below, on utterances it has not seen too; nothing is allocated after the start."""
    folder, manifest = prepared
    program, logs = folder / "train", folder / "logs"
    run(tool("tts-compile"), "--memory-budget=256M", folder / "model.mlir", "-o", program)
    run(tool("tts-check"), folder / "train.plan.json", f"--executable={program}")
    flags = ["--steps=60", "--lr=3e-3", "--warmup=10", "--schedule=constant", "--eval-every=60", "--seed=1"]
    run(program, f"--data={folder / 'tokens'}", *flags, f"--log-dir={logs}")
    rows = [json.loads(line) for line in (logs / "metrics.jsonl").read_text().splitlines()]
    losses = [row["losses"]["token"] for row in rows if "losses" in row]
    assert len(losses) == 60
    assert losses[0] == pytest.approx(math.log(manifest["codec"]["tokens"]), rel=0.02)
    last = sum(losses[-5:]) / 5
    validation = next(row["val_loss"] for row in rows if "val_loss" in row)
    assert last < 0.75 * losses[0] and validation < 0.75 * losses[0]
    memory = rows[-1]
    assert memory["large_allocations_after_start"] == 0


def test_packed_rows_train_too(prepared):
    folder, _ = prepared
    tokens.make(folder / "mels", folder / "packed", stack=2, levels=1, codes=24, pack=96)
    model = folder / "packed.mlir"
    codec_lm.main(["--size=tiny", f"--corpus={folder / 'packed'}", "-o", str(model)])
    run(tool("tts-compile"), "--memory-budget=256M", model, "-o", folder / "packed-train")
    flags = ["--steps=4", "--seed=1", f"--log-dir={folder / 'packed-logs'}"]
    run(folder / "packed-train", f"--data={folder / 'packed'}", *flags)
    rows = [json.loads(line) for line in (folder / "packed-logs" / "metrics.jsonl").read_text().splitlines()]
    padding = [row["padding_fraction"] for row in rows if "padding_fraction" in row]
    assert max(padding) < 0.5
