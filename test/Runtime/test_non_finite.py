"""Planted faults in a compiled FastSpeech 2: `train` names the first non-finite tensor and where it is in the model's source."""

import json
import re
import shutil

import numpy as np
import pytest
from test_budget import compile_model, python, run

from tts.data import shards

UPDATES = 3
#: The library's, or a kernel where it has none.
PRODUCT = re.compile(r"rt\.gemm|gemm_f32_\d+")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The tiny model, its corpus, its executable and a run of a few updates with a checkpoint of each."""
    folder = tmp_path_factory.mktemp("non-finite")
    python("tts.data", "synthetic", f"--out={folder / 'corpus'}", "--utterances=40", "--seed=3")
    model = ["--size=tiny", "--batch=8", f"--corpus={folder / 'corpus'}", "-o", folder / "model.mlir"]
    python("tts.models.fastspeech2", *model)
    compiled = compile_model(folder, "1G")
    assert compiled.returncode == 0, compiled.stderr
    done = train(folder, f"--steps={UPDATES}", "--checkpoint-dir=run", "--checkpoint-every=1")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    """A copy that may be spoilt."""
    return shutil.copytree(trained, tmp_path / "spoilt")


def train(folder, *flags):
    return run("./train", "--data=corpus", *flags, cwd=folder)


def edit(path, change):
    """Rewrites a safetensors file with its tensors changed in place, and the checksums of a shard."""
    tensors, metadata = shards.decode(path.read_bytes(), path)
    tensors = {name: np.array(t) for name, t in tensors.items()}
    change(tensors)
    if "crc32" in metadata:
        metadata["crc32"] = shards.crc32s(tensors)
    path.write_bytes(shards.encode(tensors, metadata))
    if "crc32" in metadata:
        manifest = json.loads((path.parent / "manifest.json").read_text())
        split = manifest["splits"][metadata["split"]]
        split["header_crc32"][split["files"].index(path.name)] = shards.header_crc32(path.read_bytes())
        (path.parent / "manifest.json").write_text(json.dumps(manifest))


def weights(folder, step, run="run"):
    return (folder / run / f"step-{step:08d}" / "model.safetensors").read_bytes()


def refused(folder, done, update):
    """The parts of the error: tensor, "read" or "written", function, entry, file, line, element, value."""
    assert done.returncode == 5, (done.returncode, done.stderr)
    assert done.stderr.count("\n") == 1 and done.stderr.startswith(f"error: update {update}: "), done.stderr
    pattern = (
        r"first non-finite tensor: '([^']+)' (read|written) by (\S+)(?: '([^']+)')? \((.+):(\d+):\d+\), "
        r"element (\d+) of (\d+) is (nan|inf|-inf) "
    )
    found = re.search(pattern, done.stderr)
    assert found, done.stderr
    tensor, verb, function, entry, file, line, element, elements, value = found.groups()
    assert int(element) < int(elements)
    assert file.endswith("model.mlir"), file
    source = (folder / "model.mlir").read_text().splitlines()[int(line) - 1]
    return tensor, verb, function, entry or tensor, source, value


def test_an_infinite_input(folder):
    """An infinity in one utterance's mel: the input, its utterance, the good checkpoint; the weights on disk stay."""
    victim = {}

    def spoil(tensors):
        victim["id"] = next(name for name in tensors if name.endswith("/mel")).split("/")[0]
        tensors[f"{victim['id']}/mel"][1, 5] = np.inf

    edit(next(p for p in sorted((folder / "corpus").glob("train-*")) if p.stat().st_size > 1000), spoil)
    # A checkpoint belongs to the corpus as it was: the weights start a run of their own.
    start = f"--init-from=run/step-{UPDATES:08d}/model.safetensors"
    assert train(folder, start, "--steps=0", "--checkpoint-dir=again").returncode == 0
    before = weights(folder, 0, "again")
    flags = ("--steps=40", "--checkpoint-dir=again", "--checkpoint-every=1", "--keep=50", "--log-dir=log")
    done = train(folder, "--resume", *flags)
    updates = [json.loads(line)["step"] for line in (folder / "log/metrics.jsonl").read_text().splitlines()]
    failed = max(updates, default=0) + 1
    tensor, verb, _, _, source, value = refused(folder, done, failed)
    assert (tensor, verb, value) == ("mel", "read", "inf") and "mel" in source
    assert victim["id"] in done.stderr and f"step-{failed - 1:08d}" in done.stderr
    assert weights(folder, 0, "again") == before
    kept = shards.decode(weights(folder, failed - 1, "again"), "model")[0]
    assert all(np.isfinite(t).all() for t in kept.values())
    assert not (folder / "again" / f"step-{failed:08d}").exists()


def test_a_nan_in_a_checkpoint(folder):
    """A weight that is NaN as it is loaded is named as itself, read by the first op that it spoils."""
    name = "decoder.0.ffn.conv1.weight"
    file = folder / "run" / f"step-{UPDATES:08d}" / "model.safetensors"
    edit(file, lambda tensors: tensors[name].reshape(-1).__setitem__(7, np.nan))
    done = train(folder, f"--init-from={file}", "--steps=2")
    tensor, verb, function, entry, source, value = refused(folder, done, 1)
    assert (tensor, verb, value) == (name, "read", "nan") and PRODUCT.fullmatch(function)
    assert entry.startswith("decoder.0.ffn.conv1") and "tts.conv1d" in source
    assert ", element 7 of " in done.stderr and "there is no checkpoint" in done.stderr


def test_an_overflow_inside_the_network(folder):
    """Finite weights whose product overflows: the op's result is named, at its line of the model."""
    file = folder / "run" / f"step-{UPDATES:08d}" / "model.safetensors"
    edit(file, lambda tensors: tensors["encoder.0.ffn.conv1.weight"].fill(3e38))
    done = train(folder, f"--init-from={file}", "--steps=2")
    tensor, verb, function, entry, source, value = refused(folder, done, 1)
    assert tensor.startswith("encoder.0.ffn.conv1") and (verb, entry) == ("written", tensor)
    assert PRODUCT.fullmatch(function)
    assert value in ("inf", "-inf", "nan") and "tts.conv1d" in source


def test_an_overflow_of_the_gradient_norm(folder):
    """The loss is finite, for nothing passes the last norm; the gradients that come back through the huge weights are not."""
    file = folder / "run" / f"step-{UPDATES:08d}" / "model.safetensors"

    def spoil(tensors):
        last = max(name for name in tensors if re.fullmatch(r"decoder\.\d\.ffn_norm\.weight", name))
        tensors[last].fill(0)
        tensors[last.replace("weight", "bias")].fill(0)
        tensors["mel.weight"].fill(3e38)

    edit(file, spoil)
    done = train(folder, f"--init-from={file}", "--steps=2", "--checkpoint-dir=other")
    tensor, verb, _, _, _, value = refused(folder, done, 1)
    assert "loss" not in done.stderr.split(";")[0], done.stderr
    assert verb == "written" and value in ("inf", "-inf", "nan"), tensor
