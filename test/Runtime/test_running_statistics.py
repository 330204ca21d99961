"""A FastSpeech 2 with PostNet through `train`: resumed to the bit, its weights taken by PyTorch and taken back."""

import json

import numpy as np
import pytest
import torch
from test_budget import TOOLS, compile_model, python, run

from tts.data import shards

MEAN = "postnet.layers.0.norm.running_mean"
VARIANCE = "postnet.layers.0.norm.running_var"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The model, its corpus, its executable, and a run of six updates with a checkpoint of every third."""
    folder = tmp_path_factory.mktemp("postnet")
    python("tts.data", "synthetic", f"--out={folder / 'corpus'}", "--utterances=40", "--seed=3")
    model = ["--size=tiny", "--batch=8", "--postnet", f"--corpus={folder / 'corpus'}", "-o", folder / "model.mlir"]
    python("tts.models.fastspeech2", *model)
    compiled = compile_model(folder, "1G")
    assert compiled.returncode == 0, compiled.stderr
    train(folder, "--steps=6", "--checkpoint-dir=run", "--checkpoint-every=3")
    return folder


def train(folder, *flags):
    done = run("./train", "--data=corpus", "--seed=7", *flags, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


def weights(path):
    return {n: np.array(t) for n, t in shards.decode(path.read_bytes(), path)[0].items()}


def test_the_certificate_holds(folder):
    """Next to weights lie 10 running statistics, neither trained nor averaged; tts-check accepts the executable."""
    done = run(TOOLS / "tts-check", folder / "train.plan.json", "--executable", folder / "train")
    assert done.returncode == 0, done.stderr
    plan = json.loads((folder / "train.plan.json").read_text())
    classes = {
        b["name"]: b["class"] for b in plan["buffers"] if "running" in b["name"] and b["program"] == "persistent"
    }
    assert len(classes) == 20
    assert classes[MEAN] == "parameters" and classes[f"next:{MEAN}"] == "buffers"
    assert [b["micro_batch"] for b in plan["buckets"]] == [8]


def test_the_planned_bytes_are_the_measured_ones(folder):
    train(folder, "--steps=3", "--log-dir=log")
    final = json.loads((folder / "log" / "metrics.jsonl").read_text().splitlines()[-1])
    assert final["arena_high_water_bytes"] == final["planned_arena_bytes"]
    assert final["large_allocations_after_start"] == 0


def test_statistics_move_and_are_saved(folder):
    first, last = (weights(folder / "run" / f"step-{n:08d}" / "model.safetensors") for n in (3, 6))
    assert np.abs(first[MEAN]).max() > 0 and np.abs(last[MEAN] - first[MEAN]).max() > 0
    assert (last[VARIANCE] > 0).all()
    assert MEAN not in weights(folder / "run" / "step-00000006" / "ema.safetensors")


def test_resume_is_bit_equal(folder):
    train(folder, "--steps=6", "--resume=run/step-00000003", "--checkpoint-dir=again", "--checkpoint-every=3")
    for file in sorted(p.name for p in (folder / "run" / "step-00000006").iterdir()):
        same = [(folder / name / "step-00000006" / file).read_bytes() for name in ("run", "again")]
        assert same[0] == same[1], file


def test_weights_go_to_pytorch_and_back(folder):
    """`load_state_dict` takes them strictly; what PyTorch saves, with its count of batches, is taken back."""
    path = folder / "run" / "step-00000006" / "model.safetensors"
    told = weights(path)
    norms = {
        n.removeprefix("postnet.layers.0.norm."): t for n, t in told.items() if n.startswith("postnet.layers.0.norm")
    }
    layer = torch.nn.BatchNorm1d(len(told[MEAN]))
    layer.load_state_dict({n: torch.from_numpy(t) for n, t in norms.items()}, strict=True)
    back = {f"postnet.layers.0.norm.{n}": t.numpy() for n, t in layer.state_dict().items()}
    assert any(n.endswith("num_batches_tracked") for n in back)
    (folder / "pytorch.safetensors").write_bytes(
        shards.encode(told | {n: np.atleast_1d(t) for n, t in back.items()}, {})
    )
    train(folder, "--steps=0", "--init-from=pytorch.safetensors", "--checkpoint-dir=back")
    assert (folder / "back" / "step-00000000" / "model.safetensors").read_bytes() == path.read_bytes()
