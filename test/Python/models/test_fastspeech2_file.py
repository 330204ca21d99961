"""The files that python -m tts.models.fastspeech2 writes: sizes, names, what comes from the corpus, errors, round trip."""

import itertools
import json
import os
import re
import subprocess
import sys
from math import prod
from pathlib import Path

import pytest

from tts.models.fastspeech2 import SIZES, FastSpeech2, build, text, with_postnet

ROOT = Path(__file__).resolve().parents[3]
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))


def write(*arguments, folder=None):
    command = [sys.executable, "-m", "tts.models.fastspeech2", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def programs(module: str) -> tuple[str, str]:
    """The module up to @infer, and the rest."""
    train, separator, infer = module.partition("func.func @infer(")
    assert separator and "func.func @train(" in train
    return train, infer


def by_hand(c) -> int:
    """Trained numbers, from the sizes alone."""
    d, f, v = c.channels, c.filter, c.variance_filter
    attention = 4 * (d * d + d)
    convolutions = c.kernels[0] * d * f + f + c.kernels[1] * f * d + d
    block = attention + convolutions + 2 * 2 * d
    predictor = c.variance_kernel * (d * v + v * v) + 2 * v + 2 * 2 * v + v + 1
    embeddings = (c.symbols + 2 * c.bins) * d
    return (c.encoder_blocks + c.decoder_blocks) * block + 3 * predictor + embeddings + d * c.mels + c.mels


@pytest.mark.parametrize(
    "size, least, most",
    [("tiny", 1e5, 3e5), ("small", 2.8e6, 3.3e6), ("base", 28e6, 32e6), ("500m", 495e6, 510e6)],
)
def test_parameters(tmp_path, size, least, most):
    done = write(f"--size={size}", "-o", tmp_path / "model.mlir")
    assert done.returncode == 0, done.stderr
    module, infer = programs((tmp_path / "model.mlir").read_text())
    parameter = r'%\S+: tensor<([\dx]*)f32> \{tts\.param = "([^"]+)", tts\.init = #tts\.init<[^>]+>(, tts.frozen)?\}'
    shapes = re.findall(parameter, module)
    assert re.findall(parameter, infer) == shapes
    trained = sum(prod(map(int, shape.split("x")[:-1])) for shape, _, frozen in shapes if not frozen)
    assert trained == by_hand(SIZES[size]) == FastSpeech2(SIZES[size]).parameter_count(trainable_only=True)
    assert least < trained < most
    assert len({name for _, name, _ in shapes}) == len(shapes) == module.count("tts.param = ")


def test_every_op_has_its_own_name():
    module, infer = programs(text(SIZES["tiny"]))
    lines = [line for line in module.splitlines() if re.match(r"\s+%.* = tts\.", line)]
    names = [re.search(r'loc\("([^"]+)"\)$', line).group(1) for line in lines]
    assert len(lines) > 150 and len(set(names)) == len(names)
    assert {"encoder.0.ffn.relu", "variance.pitch.conv1.conv1d", "decoder.1.attention.attention"} <= set(names)
    streams = [re.search(r'stream = "([^"]+)"', line).group(1) for line in lines if "tts.dropout" in line]
    assert len(streams) == len(set(streams)) == 2 * 4 + 3 * 2 and set(streams) <= set(names)
    spoken = re.findall(r' = tts\.[^\n]* loc\("([^"]+)"\)', infer)
    assert len(set(spoken)) == len(spoken) and not set(streams) & set(spoken)


def test_four_losses_and_outputs():
    module, infer = programs(text(SIZES["tiny"]))
    assert re.findall(r'tts\.loss = "(\w+)"', module) == ["mel", "duration", "pitch", "energy"]
    assert re.findall(r'tts\.denominator = "(\w+)"', module) == ["mel", "duration", "pitch", "energy"]
    assert re.findall(r'tts\.output = "(\w+)"', module) == ["mel", "log_durations", "pitch", "energy"]
    assert "{per = 80.0 : f64}" in module
    spoken = ["mel", "mel_lengths", "wanted_frames", "durations", "pitch", "energy"]
    assert re.findall(r'tts\.output = "(\w+)"', infer) == spoken
    inputs = ["phones", "phone_lengths", "duration_scale", "pitch_shift", "energy_shift"]
    assert re.findall(r'tts\.input = "(\w+)"', infer) == inputs and "tts.dropout" not in infer


def test_postnet(tmp_path):
    """35 M with it; five losses, one bucket as large as the largest; states are no trained parameters."""
    c, file = with_postnet(SIZES["base"]), tmp_path / "model.mlir"
    assert write("--size=base", "--postnet", "-o", file).returncode == 0
    module, infer = programs(file.read_text())
    sizes = [c.mels, 512, 512, 512, 512, c.mels]
    added = sum(5 * a * b + b + 2 * b for a, b in itertools.pairwise(sizes))
    count = FastSpeech2(c).parameter_count(trainable_only=True)
    assert count == by_hand(c) + added and 34e6 < count < 36e6
    states = re.findall(r'tts\.param = "([^"]+)", tts\.init = #tts\.init<(\w+)>, tts\.state\}', module)
    expected = {"running_mean": "zeros", "running_var": "ones"}
    assert states == [(f"postnet.layers.{i}.norm.{n}", kind) for i in range(5) for n, kind in expected.items()]
    assert re.findall(r'tts\.loss = "(\w+)"', module) == ["mel", "refined_mel", "duration", "pitch", "energy"]
    assert "tts.buckets = [#tts.bucket<text = 208, frames = 1000>]" in module
    counts = [
        (part.count("tts.batch_norm "), part.count("tts.batch_normalize "), part.count("tts.tanh"))
        for part in (module, infer)
    ]
    assert counts == [(5, 0, 4), (0, 5, 4)]


def test_no_postnet_by_default():
    assert all(not c.postnet and "postnet" not in text(c) for c in SIZES.values() if c.channels < 100)


def test_flags(tmp_path):
    file = tmp_path / "m.mlir"
    flags = [
        "--batch=4",
        "--bucket=text=8,frames=32",
        "--bucket=text=16,frames=70",
        "--dropout=0",
        "--variance-dropout=0.25",
    ]
    assert write("--size=tiny", "-o", file, *flags).returncode == 0
    head, rates = file.read_text().splitlines()[0], set(re.findall(r"rate = ([\d.]+)", file.read_text()))
    assert "tts.batch = 4 : i64" in head
    assert "[#tts.bucket<text = 8, frames = 32>, #tts.bucket<text = 16, frames = 70>]" in head
    assert rates == {"0.25"}
    assert write("--size=tiny", "-o", file, "--dropout=0", "--variance-dropout=0").returncode == 0
    assert "tts.dropout" not in file.read_text() and "utterance" not in file.read_text()


MANIFEST = {
    "version": 1,
    "features": {"n_mels": 64},
    "features_hash": "abc123",
    "symbols": ["<pad>", "aa", "b"],
    "statistics": {"pitch_min": -2.5, "pitch_max": 3.25, "energy_min": -1.5, "energy_max": 4.0},
    "suggested_buckets": [{"text": 8, "frames": 40}, {"text": 24, "frames": 88}],
}


def test_what_the_corpus_decides(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    file = tmp_path / "m.mlir"
    assert write("--size=tiny", "-o", file, f"--corpus={tmp_path}").returncode == 0
    module = file.read_text()
    assert 'tts.features_hash = "abc123"' in module
    assert "[#tts.bucket<text = 8, frames = 40>, #tts.bucket<text = 24, frames = 88>]" in module
    assert "%embedding.weight: tensor<3x32xf32>" in module and "tensor<?x?x64xf32" in module
    assert "#tts.init<linspace, -2.5, 3.25>" in module and "#tts.init<linspace, -1.5, 4.0>" in module


@pytest.mark.parametrize(
    "arguments, code, part",
    [
        (["--size=huge", "-o", "m.mlir"], 2, "huge"),
        (["--size=tiny"], 2, "-o"),
        (["--size=tiny", "-o", "m.mlir", "--batch=0"], 2, "positive"),
        (["--size=tiny", "-o", "m.mlir", "--dropout=1"], 2, "[0, 1)"),
        (["--size=tiny", "-o", "m.mlir", "--bucket=text:3"], 2, "text=64,frames=300"),
        (["--size=tiny", "-o", "m.mlir", "--bucket=text=3"], 1, "frames"),
        (["--size=tiny", "-o", "m.mlir", "--corpus=nowhere"], 1, "nowhere"),
        (["--size=tiny", "-o", "no/folder/m.mlir"], 1, "no/folder"),
    ],
)
def test_errors_are_one_line(tmp_path, arguments, code, part):
    done = write(*arguments, folder=tmp_path)
    assert done.returncode == code
    assert re.fullmatch(r"error: [^;\n]+: [^\n]+; [^\n]+\n", done.stderr) and part in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_without_statistics(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({k: v for k, v in MANIFEST.items() if k != "statistics"}))
    done = write("--size=tiny", "-o", tmp_path / "m.mlir", f"--corpus={tmp_path}")
    assert done.returncode == 1 and "statistics" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("size", SIZES)
def test_round_trip(tmp_path, size):
    """tts-opt verifies the module, and what it prints it reads back to the same text."""
    tool = TOOLS / "tts-opt"
    if not tool.exists():
        pytest.fail(f"no {tool}: build first, or set TTS_BIN")
    (tmp_path / "a.mlir").write_text(text(SIZES[size]))
    printed = []
    for name in ("a.mlir", "b.mlir"):
        done = subprocess.run([tool, "--mlir-print-debuginfo", tmp_path / name], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        (tmp_path / "b.mlir").write_text(done.stdout)
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    _, model = build(SIZES[size])
    for name, _ in model.named_parameters():
        assert f'tts.param = "{name}"' in printed[0]
