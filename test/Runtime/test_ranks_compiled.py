"""A compiled model on several ranks: the curve of one rank, the certificate's promises on each, the bytes of a ring."""

import json
import os

import pytest
from test_budget import TOOLS, check_final_line, compile_model, python, run
from test_ranks import MPIRUN

from tts.runtime import RuntimeFailure, Session

BUDGET = 256 << 20


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """The tiny model without EMA, with dropout, and a corpus with its buckets."""
    folder = tmp_path_factory.mktemp("ranks")
    corpus = folder / "corpus"
    python("tts.data", "synthetic", f"--out={corpus}", "--utterances=60", "--seed=3")
    size = ("--size=tiny", "--batch=12", f"--corpus={corpus}")
    python("tts.models.fastspeech2", *size, "-o", folder / "model.mlir")
    return folder


def train(folder, name, ranks, *flags, log=None):
    """Metrics of a run of `name`, which was compiled for so many ranks."""
    log = log or folder / f"log-{name}"
    launch = [*MPIRUN, "-n", str(ranks)] if ranks > 1 else []
    done = run(
        *launch,
        folder / name,
        f"--data={folder / 'corpus'}",
        "--steps=4",
        "--seed=1",
        "--eval-every=4",
        f"--log-dir={log}",
        *flags,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def alone(material):
    assert compile_model(material, BUDGET, "alone", "--micro-batch=4").returncode == 0
    return train(material, "alone", 1)


@pytest.mark.parametrize(
    ("ranks", "flags"),
    [(2, ["--micro-batch=4"]), (3, ["--micro-batch=2"]), (2, ["--micro-batch=4", "--remat=full"])],
    ids=["2", "3", "2-remat"],
)
def test_ranks_train_as_one(material, alone, ranks, flags):
    name = f"train{ranks}{len(flags)}"
    compiled = compile_model(material, BUDGET, name, f"--ranks={ranks}", *flags)
    assert compiled.returncode == 0, compiled.stderr
    plan_file = material / f"{name}.plan.json"
    proof = run(TOOLS / "tts-check", plan_file, "--executable", material / name)
    assert proof.returncode == 0, proof.stdout + proof.stderr

    lines = train(material, name, ranks)
    for one, many in zip(alone[:-1], lines[:-1], strict=True):
        for key in ("loss", "val_loss"):
            if key in one:
                assert many[key] == pytest.approx(one[key], rel=1e-6)
        assert one["utterances"] == many["utterances"]

    plan, final = json.loads(plan_file.read_text()), lines[-1]
    assert plan["ranks"] == len(final["ranks"]) == ranks and plan["classes"]["collectives"] >= 0
    for rank in final["ranks"]:
        check_final_line({"final": True, **rank}, BUDGET)
        assert rank["planned_peak_bytes"] == plan["peak_bytes"]
    # (N - 1)/N x 2P on average, whatever the chunks; what a chunk is more or less is an element.
    gradients = plan["classes"]["gradients"]
    sent = [rank["bytes_sent"] for rank in final["ranks"]]
    assert sum(sent) == 4 * 2 * (ranks - 1) * gradients
    assert max(sent) - min(sent) <= 4 * 4 * 2 * (ranks - 1)


def test_a_batch_of_frames_is_one_experiment(material):
    """Bits of the certificate, peaks and curve of one rank and of two."""
    flags, lines = ("--batch-frames=800", f"--buckets-from={material / 'corpus'}", "--micro-batch=4"), {}
    for ranks in (1, 2):
        name = f"frames{ranks}"
        compiled = compile_model(material, BUDGET, name, f"--ranks={ranks}", *flags)
        assert compiled.returncode == 0, compiled.stderr
        plan_file = material / f"{name}.plan.json"
        proof = run(TOOLS / "tts-check", plan_file, "--executable", material / name)
        assert proof.returncode == 0, proof.stdout + proof.stderr
        plan = json.loads(plan_file.read_text())
        assert plan["batch_frames"] == 800 and 800 / 96 <= plan["batch"] <= 800 / 32
        lines[ranks] = train(material, name, ranks)
        for rank in lines[ranks][-1].get("ranks", lines[ranks][-1:]):
            check_final_line({"final": True, **rank}, BUDGET)
    assert lines[1][-1]["experiment"] == lines[2][-1]["experiment"]
    for one, many in zip(lines[1][:-1], lines[2][:-1], strict=True):
        assert one["utterances"] == many["utterances"]
        for key in {"loss", "val_loss"} & set(one):
            assert many[key] == pytest.approx(one[key], rel=1e-6)
        if "frames" in one:
            assert 800 <= one["frames"] == many["frames"] < 800 + 96


@pytest.mark.parametrize("flags", [(), ("--precision=bf16", "--remat=full")], ids=["fp32", "bf16-remat"])
def test_deterministic_is_equal_to_the_bit(material, flags):
    """Dropout on, accumulation of two kinds of buckets: losses, norms, validation and weights of 1, 2 and 4 ranks."""
    runs, weights, keys = [], [], ("loss", "val_loss", "grad_norm", "utterances")
    for ranks in (1, 2, 4):
        name = f"deterministic{ranks}{len(flags)}"
        compiled = compile_model(
            material, BUDGET, name, f"--ranks={ranks}", "--micro-batch=2", "--deterministic", *flags
        )
        assert compiled.returncode == 0, compiled.stderr
        proof = run(TOOLS / "tts-check", material / f"{name}.plan.json", "--executable", material / name)
        assert proof.returncode == 0, proof.stdout + proof.stderr
        folder = material / f"checkpoints-{name}"
        lines = train(material, name, ranks, f"--checkpoint-dir={folder}", "--checkpoint-every=4")
        runs.append([[line.get(key) for key in keys] for line in lines[:-1]])
        weights.append({f.name: f.read_bytes() for f in sorted(folder.glob("step-*/*.safetensors"))})
        for rank in lines[-1].get("ranks", lines[-1:]):
            check_final_line({"final": True, **rank}, BUDGET)
    assert runs[0] == runs[1] == runs[2]
    assert weights[0] and weights[0] == weights[1] == weights[2]


def test_another_launch_is_a_usage_error(material):
    assert compile_model(material, BUDGET, "two", "--ranks=2").returncode == 0
    data = f"--data={material / 'corpus'}"
    done = run(material / "two", data, "--steps=1")
    assert done.returncode == 2
    assert done.stderr == (
        "error: launch: 1 rank was started, the program is planned for 2; "
        "start it with mpirun -n 2, or recompile with another --ranks\n"
    )
    three = run(*MPIRUN, "-n", "3", material / "two", data, "--steps=1", timeout=120)
    assert three.returncode == 2 and "3 ranks were started, the program is planned for 2" in three.stderr


def test_a_library_of_several_ranks_says_why_it_does_not_run_alone(material):
    assert compile_model(material, BUDGET, "two.so", "--ranks=2").returncode == 0
    with pytest.raises(RuntimeFailure, match="it sums over ranks, but there is one"):
        Session(material / "two.so")
