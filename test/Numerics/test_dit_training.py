"""The DiT for a CPU as an executable on a corpus: its certificate holds, its loss falls, a resumed run draws the same numbers."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from machine import tool
from test_twin import SYMBOLS, utterance
from tts.audio.features import Features
from tts.data import corpus
from tts.models import dit


@pytest.fixture(scope="module")
def small_corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dit") / "corpus"
    splits = {"train": [utterance(i) for i in range(24)], "validation": [utterance(i) for i in range(90, 96)]}
    corpus.write(folder, Features(), SYMBOLS, splits, {})
    return folder


def compiled(corpus_folder: Path, size: str, *flags: str) -> Path:
    model, program = corpus_folder.parent / f"{size}.mlir", corpus_folder.parent / size
    assert dit.main([f"--size={size}", f"--corpus={corpus_folder}", "-o", str(model), *flags]) == 0
    command = [tool("tts-compile"), "--memory-budget=2G", "--plan-table=none", model, "-o", program]
    subprocess.run(command, check=True, capture_output=True)
    return program


def train(program: Path, corpus_folder: Path, folder: Path, *flags: str) -> list[dict]:
    command = [program, f"--data={corpus_folder}", f"--log-dir={folder}", "--seed=5", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows if "step" in row]


def test_the_loss_of_the_small_one_falls(small_corpus, tmp_path):
    program = compiled(small_corpus, "small", "--batch=4", "--dropout=0", "--bucket=text=16,frames=56")
    certificate = program.with_name(program.name + ".plan.json")
    checked = subprocess.run([tool("tts-check"), certificate, "--executable", program], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr + checked.stdout
    flags = ["--steps=24", "--lr=2e-3", "--warmup=4", "--schedule=constant", "--eval-every=8"]
    rows = train(program, small_corpus, tmp_path, *flags)
    losses = [row["loss"] for row in rows if "loss" in row]
    validation = [row["val_loss"] for row in rows if "val_loss" in row]
    assert len(losses) == 24 and np.mean(losses[-6:]) < 0.8 * np.mean(losses[:3]), losses
    assert len(validation) == 3 and validation[2] < validation[0]


def test_a_resumed_run_draws_the_same(small_corpus, tmp_path):
    """Noise, spans, flips and dropout follow from seed, update and utterance: the runs are equal to the bit."""
    program = compiled(small_corpus, "tiny", "--batch=8")
    flags = ["--lr=1e-3", "--warmup=2", "--schedule=constant", "--eval-every=5", "--checkpoint-every=5"]
    whole = train(program, small_corpus, tmp_path / "a", "--steps=15", f"--checkpoint-dir={tmp_path / 'whole'}", *flags)
    checkpoints = f"--checkpoint-dir={tmp_path / 'parts'}"
    train(program, small_corpus, tmp_path / "b", "--steps=5", checkpoints, *flags)
    parts = train(program, small_corpus, tmp_path / "b", "--steps=15", "--resume", checkpoints, *flags)
    assert parts == whole
    weights = [p.read_bytes() for p in sorted(tmp_path.glob("*/step-*15/model.safetensors"))]
    assert len(weights) == 2 and weights[0] == weights[1]
