"""The files that python -m tts.models.dit writes: sizes, names, draws, what comes from the corpus, round trip."""

import json
import os
import re
import subprocess
import sys
from math import prod
from pathlib import Path

import pytest

from tts.models.dit import SIZES, Dit, text

ROOT = Path(__file__).resolve().parents[3]
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))


def write(*arguments, folder=None):
    command = [sys.executable, "-m", "tts.models.dit", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def by_hand(c) -> int:
    """From the sizes alone."""
    d, wide = c.channels, c.expansion
    block = (6 * d * d + 6 * d) + 4 * (d * d + d) + 2 * wide * d * d + wide * d + d
    t = c.text_channels
    text_block = c.text_kernel * t + t + 2 * t + 2 * wide * t * t + wide * t + t + 2 * wide * t
    positions = 2 * (c.position_kernel * d * (d // c.position_groups) + d)
    time = c.time_channels * d + d + d * d + d
    ends = (2 * c.mels + t) * d + d + d * c.mels + c.mels + 2 * d * d + 2 * d
    return c.blocks * block + c.text_blocks * text_block + c.symbols * t + positions + time + ends


@pytest.mark.parametrize(
    "size, least, most",
    [("tiny", 3e4, 1e5), ("small", 3.4e6, 4e6), ("base", 335e6, 337e6), ("500m", 500.0e6, 500.3e6)],
)
def test_parameters(tmp_path, size, least, most):
    done = write(f"--size={size}", "-o", tmp_path / "model.mlir")
    assert done.returncode == 0, done.stderr
    module = (tmp_path / "model.mlir").read_text()
    shapes = re.findall(r'%\S+: tensor<([\dx]*)f32> \{tts\.param = "([^"]+)"', module)
    count = sum(prod(map(int, shape.split("x")[:-1])) for shape, _ in shapes)
    assert count == by_hand(SIZES[size]) == Dit(SIZES[size]).parameter_count()
    assert least < count < most and f"{count:,}" in done.stderr
    assert len({name for _, name in shapes}) == len(shapes) == module.count("tts.param = ")


def test_every_draw_has_its_own_name():
    """But for the two coins, which are one flip."""
    module = text(SIZES["tiny"])
    names = re.findall(r' = tts\.[^\n]* loc\("([^"]+)"\)', module)
    streams = re.findall(r'tts\.(\w+) [^\n]*stream = "([^"]+)"', module)
    assert len(set(names)) == len(names)
    assert [stream for op, stream in streams if op == "coin"] == ["drop", "drop"]
    others = [stream for op, stream in streams if op != "coin"]
    assert len(set(others)) == len(others) and set(others) <= set(names)
    assert {"noise", "flow_time", "span", "blocks.0.attention_dropout.dropout"} <= set(others)


def test_flags(tmp_path):
    file = tmp_path / "m.mlir"
    flags = ["--batch=4", "--bucket=text=8,frames=32", "--dropout=0", "--drop-text=0.1", "--drop-audio=0.5"]
    assert write("--size=tiny", "-o", file, *flags).returncode == 0
    module = file.read_text()
    assert "tts.batch = 4 : i64" in module and "[#tts.bucket<text = 8, frames = 32>]" in module
    assert re.findall(r"rate = ([\d.]+)", module) == ["0.1", "0.5"] and "tts.dropout" not in module
    done = write("--size=tiny", "-o", file, "--variance-dropout=0.1")
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_a_program_that_speaks(tmp_path):
    """Two evaluations of the model, on inputs of its own; it draws nothing."""
    assert write("--size=tiny", "-o", tmp_path / "m.mlir", "--infer-steps=2").returncode == 0
    train, _, infer = (tmp_path / "m.mlir").read_text().partition("func.func @infer(")
    inputs = ["phones", "phone_lengths", "noise", "known", "mel_lengths"]
    assert re.findall(r'tts\.input = "(\w+)"', infer) == inputs
    assert infer.count("tts.attention ") == 2 * train.count("tts.attention ") == 4
    assert "stream" not in infer and re.findall(r'tts\.output = "(\w+)"', infer) == ["mel"]


def test_what_the_corpus_decides(tmp_path):
    manifest = {
        "version": 1,
        "features": {"n_mels": 64},
        "features_hash": "abc123",
        "symbols": ["<pad>", "aa", "b"],
        "suggested_buckets": [{"text": 8, "frames": 40}],
    }
    file = tmp_path / "m.mlir"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert write("--size=tiny", "-o", file, f"--corpus={tmp_path}").returncode == 0
    module = file.read_text()
    assert 'tts.features_hash = "abc123"' in module and "[#tts.bucket<text = 8, frames = 40>]" in module
    assert "%text.embedding.weight: tensor<3x16xf32>" in module and "tensor<?x?x64xf32" in module
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"features": {}}))
    done = write("--size=tiny", "-o", file, f"--corpus={tmp_path}")
    assert done.returncode == 1 and "n_mels" in done.stderr and done.stderr.count("\n") == 1


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
