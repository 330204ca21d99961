"""The PyTorch twin: its order and first weights are the runtime's, and a short training keeps to the compiled one's curve."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import twin

from machine import tool
from tts.audio.features import Features
from tts.data import corpus
from tts.models.fastspeech2 import SIZES, text

SYMBOLS = ["<pad>", *"abcdefghij"]


def utterance(number: int) -> corpus.Utterance:
    """A melody that can be learnt: the mel of a frame follows from its phone and the utterance's pitch."""
    rng = np.random.default_rng(number)
    count = int(rng.integers(3, 15))
    phones, durations = rng.integers(1, len(SYMBOLS), count), rng.integers(1, 6, count)
    pitch, energy = rng.normal(5, 0.2, count), rng.uniform(20, 60, count)
    shapes = np.random.default_rng(99).normal(size=(len(SYMBOLS), 80))
    mel = np.repeat(shapes[phones] + pitch[:, None] - 5, durations, 0) + 0.1 * rng.normal(size=(durations.sum(), 80))
    return corpus.Utterance(f"u{number:03d}", phones, durations, pitch, energy, mel)


@pytest.fixture(scope="module")
def small_corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("twin") / "corpus"
    splits = {"train": [utterance(i) for i in range(90)], "validation": [utterance(i) for i in range(90, 102)]}
    corpus.write(folder, Features(), SYMBOLS, splits, {})
    return folder


@pytest.fixture
def split(small_corpus):
    manifest = json.loads((small_corpus / "manifest.json").read_text())
    return twin.Split(small_corpus, manifest, "train", 0)


def test_every_epoch_holds_every_utterance_once(split):
    """Also where updates of 16 cross the ends of epochs of 90."""
    taken = [n for numbers, _ in zip(twin.updates(split, 3, 16), range(45)) for n in numbers]
    epochs = [taken[i : i + 90] for i in range(0, len(taken), 90)]
    assert len(epochs) == 8 and all(sorted(epoch) == list(range(90)) for epoch in epochs)
    assert epochs[0] != epochs[1] and epochs[0] != twin.epoch_order(split, 4, 0)


def test_first_weights_are_the_runtimes(machine):
    module = text(SIZES["tiny"])
    compiled = machine(module, 4, "fp32")
    compiled.session.initialise(17)
    for name, expected in twin.first_weights(module, 17).items():
        np.testing.assert_allclose(compiled.session.read(name), expected, rtol=2e-7, atol=1e-8, err_msg=name)


FLAGS = ["--size=tiny", "--warmup=5", "--lr=3e-3", "--eval-every=4", "--schedule=cosine"]


@pytest.fixture(scope="module")
def training(small_corpus):
    """A short training of both: the folder it left, its exit code and figures."""
    tool("tts-compile")
    folder = small_corpus.parent / "twin-out"
    code = twin.main([*FLAGS, f"--corpus={small_corpus}", f"--out={folder}", "--updates=16", "--seed=5"])
    return folder, code, json.loads((folder / "twin.json").read_text())


def test_a_short_training(training):
    """Far closer than the 2 % of a long one, as nothing has had time to drift."""
    _, code, told = training
    curve = told["validation"]["twin"]
    assert code == 0 and told["worst"] < 1e-3
    assert len(curve) == 4 and curve["16"] < 0.9 * curve["4"], "a curve that does not fall proves little"
    assert told["training"]["train"]["1"] == pytest.approx(told["training"]["twin"]["1"], rel=1e-5)


def test_the_order_is_the_runtimes(training, small_corpus, split):
    """Every update takes the same utterances, over more than two epochs."""
    order = training[0] / "order.jsonl"
    flags = [f"--data={small_corpus}", "--steps=14", "--seed=9", f"--dump-order={order}"]
    subprocess.run([training[0] / "train", *flags], check=True, capture_output=True)
    rows = [json.loads(line) for line in order.read_text().splitlines()]
    found = [sorted(u for micro in row["micro_batches"] for u in micro["utterances"]) for row in rows]
    expected = [sorted(split.ids[n] for n in numbers) for numbers, _ in zip(twin.updates(split, 9, 16), range(14))]
    assert found == expected


def test_another_order_is_seen(training, small_corpus, tmp_path):
    """Planted fault: the twin reads the corpus in the order of another seed."""
    metrics = training[0] / "logs" / "metrics.jsonl"
    flags = [f"--corpus={small_corpus}", f"--out={tmp_path}", "--updates=4", "--seed=6", f"--metrics={metrics}"]
    twin.main([*FLAGS, *flags])
    told = json.loads((tmp_path / "twin.json").read_text())["training"]
    assert told["train"]["1"] != pytest.approx(told["twin"]["1"], rel=1e-3)


@pytest.mark.parametrize("micro_batch", [2, 16])
def test_warm_up_counts_updates(training, small_corpus, tmp_path, micro_batch):
    """After 5 of 10 updates of warm-up the rate is half, whatever the micro-batch; with eight it would be whole."""
    model, program = training[0] / "model.mlir", tmp_path / "train"
    flags = ["--memory-budget=2G", f"--micro-batch={micro_batch}"]
    subprocess.run([tool("tts-compile"), *flags, model, "-o", program], check=True, capture_output=True)
    flags = ["--steps=5", "--seed=1", "--lr=1e-3", "--warmup=10", "--schedule=constant", f"--log-dir={tmp_path}"]
    subprocess.run([program, f"--data={small_corpus}", *flags], check=True, capture_output=True)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [row["lr"] for row in rows if "lr" in row] == pytest.approx([1e-4, 2e-4, 3e-4, 4e-4, 5e-4], rel=1e-12)
