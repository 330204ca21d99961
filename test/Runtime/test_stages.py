"""Pipeline stages of the toy, by mpirun: the curve of one rank, checkpoints that know nothing of stages, an end for everyone."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from test_ranks import Launched
from toy_run import BUILT, Finished

STAGES = BUILT / "tts-toy-stages"


@pytest.fixture
def launch(corpus, tmp_path):
    """A function that starts stages: launch(2, "--steps=3", replicas=1, …), or one process for 1."""
    running = []

    def start(stages, *flags, replicas=1, data=None, name=None, env=None, **more):
        folder = tmp_path / (name or f"run{len(running)}")
        folder.mkdir()
        ranks = stages * replicas
        env = {"TOY_STAGES": str(stages), "TTS_RANK_TIMEOUT": "6", **(env or {})}
        flags = [f"--data={data or corpus.folder}", *flags]
        running.append(Launched(ranks, flags, folder, built=STAGES, env=env, **more))
        return running[-1]

    yield start
    for run in running:
        if run.process.poll() is None:
            run.process.kill()
        subprocess.run(["pkill", "-KILL", "-f", f"^{run.program} "])


@pytest.fixture
def alone(corpus, tmp_path):
    """A function that runs the toy whole, without a launcher."""

    def run(*flags, data=None, log="alone"):
        folder = tmp_path / log
        command = [STAGES, f"--data={data or corpus.folder}", f"--log-dir={folder}", *flags]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60)
        return Finished(done, folder)

    return run


def files_of(folder: Path):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("stages, replicas", [(2, 1), (4, 1), (2, 2)])
def test_stages_train_as_one(alone, launch, corpus, tmp_path, stages, replicas):
    kept, whole = tmp_path / "kept", tmp_path / "whole"
    flags = ("--steps=12", "--eval-every=4", "--save-best=val_loss")
    one = alone(*flags, f"--checkpoint-dir={whole}")
    many = launch(stages, *flags, f"--checkpoint-dir={kept}", replicas=replicas).wait()
    assert one.code == many.code == 0, many.err
    exact = replicas == 1  # then the sums have one order
    for ours, theirs in zip(one.updates, many.updates, strict=True):
        for key in ("loss", "grad_norm"):
            assert theirs[key] == pytest.approx(ours[key], rel=0 if exact else 1e-5)
        assert theirs["losses"] == pytest.approx(ours["losses"], rel=1e-6)
        for key in ("utterances", "frames", "padding_fraction", "lr", "epoch"):
            assert theirs[key] == ours[key] or (key == "padding_fraction" and not exact)
    for ours, theirs in zip(one.validations, many.validations, strict=True):
        assert theirs["utterances"] == ours["utterances"] == len(corpus.validation)
        assert theirs["val_loss"] == pytest.approx(ours["val_loss"], rel=0 if exact else 1e-6)
    final = many.lines[-1]["ranks"]
    assert len(final) == stages * replicas
    for rank in final:
        assert rank["arena_high_water_bytes"] == rank["planned_arena_bytes"]
        assert rank["large_allocations_after_start"] == 0
        assert rank["bytes_sent"] > 0
    assert sorted(files_of(kept / "step-00000012")) == sorted(files_of(whole / "step-00000012"))
    if exact:
        assert files_of(kept / "step-00000012") == files_of(whole / "step-00000012")
        best = os.readlink(whole / "best")
        assert os.readlink(kept / "best") == best and files_of(kept / best) == files_of(whole / best)


def test_a_checkpoint_continues_on_other_stages(alone, launch, tmp_path):
    """1 → 4 → 2 → 1 stages, to the bit of an unbroken run."""
    kept, whole = tmp_path / "kept", tmp_path / "whole"
    assert alone("--steps=12", f"--checkpoint-dir={whole}").code == 0
    assert alone("--steps=3", f"--checkpoint-dir={kept}", log="a").code == 0
    for stages, steps in ((4, 6), (2, 9)):
        done = launch(stages, f"--steps={steps}", f"--checkpoint-dir={kept}", "--resume").wait()
        assert done.code == 0 and len(done.updates) == 3, done.err
    assert alone("--steps=12", f"--checkpoint-dir={kept}", "--resume", log="b").code == 0
    assert files_of(kept / "step-00000012") == files_of(whole / "step-00000012")


def test_weights_are_read_by_every_stage(alone, launch, tmp_path, tensors):
    assert alone("--steps=3", f"--checkpoint-dir={tmp_path / 'kept'}").code == 0
    weights = tmp_path / "kept/step-00000003/model.safetensors"
    flags = ("--steps=4", f"--init-from={weights}", "--seed=9")
    one, two = alone(*flags, log="one"), launch(2, *flags).wait()
    assert one.code == two.code == 0, two.err
    assert [line["loss"] for line in two.updates] == [line["loss"] for line in one.updates]
    evaluated = launch(4, "--evaluate", f"--resume={tmp_path / 'kept'}").wait()
    expected = alone("--evaluate", f"--resume={tmp_path / 'kept'}", log="evaluate")
    assert evaluated.code == expected.code == 0, evaluated.err
    assert evaluated.validations[0]["val_loss"] == expected.validations[0]["val_loss"]


def test_more_slots_than_micro_batches_and_replicas_without_any(alone, launch, make_corpus):
    few = make_corpus(list(range(3, 9)), name="few", shard_count=2, validation=3)
    flags = ("--steps=4", "--eval-every=2")
    one, many = alone(*flags, data=few.folder), launch(2, *flags, replicas=3, data=few.folder).wait()
    assert one.code == many.code == 0, many.err
    for ours, theirs in zip(one.lines[:-1], many.lines[:-1], strict=True):
        for key in ("loss", "val_loss", "utterances", "frames"):
            assert theirs.get(key) == (None if key not in ours else pytest.approx(ours[key], rel=1e-6))


@pytest.mark.parametrize("how, victim", [(signal.SIGKILL, 0), (signal.SIGKILL, 2), (signal.SIGSTOP, 1)])
def test_a_lost_stage_ends_the_others(launch, how, victim):
    """The others wait in rt.recv or in a sum; all end and name it."""
    run = launch(2, "--steps=1000000000", replicas=2)
    run.wait_for_update()
    pids = [run.pid(rank) for rank in range(4)]
    os.kill(pids[victim], how)
    others = [pid for pid in pids if pid != pids[victim]]
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and any(Path(f"/proc/{pid}/exe").exists() for pid in others):
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in others), "another stage goes on"
    if how == signal.SIGSTOP:
        os.kill(pids[victim], signal.SIGKILL)
    done = run.wait()
    assert f": rank {victim} " in done.err and "start all ranks again with --resume" in done.err, done.err


def test_a_stage_that_fails_ends_the_others(launch, make_corpus):
    poisoned = make_corpus(name="poisoned", poison="t0007")
    done = launch(2, "--steps=100", data=poisoned.folder, recovery=False).wait()
    assert "is not finite" in done.err and done.code in (4, 5), (done.code, done.err)


def test_a_killed_stage_is_continued_to_the_bit(alone, launch, tmp_path):
    kept, whole = tmp_path / "kept", tmp_path / "whole"
    flags = ("--checkpoint-every=5", "--keep=999", "--eval-every=5")
    run = launch(2, "--steps=1000000", f"--checkpoint-dir={kept}", *flags)
    run.wait_for_update()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not list(kept.glob("step-*")):
        time.sleep(0.02)
    os.kill(run.pid(1), signal.SIGKILL)
    run.wait()
    last = int(max(path.name for path in kept.glob("step-*"))[5:])
    steps = f"--steps={last + 5}"
    again = launch(4, steps, f"--checkpoint-dir={kept}", "--resume", *flags).wait()
    assert again.code == 0, again.err
    assert alone(steps, f"--checkpoint-dir={whole}", *flags).code == 0
    name = f"step-{last + 5:08d}"
    assert files_of(kept / name) == files_of(whole / name)


def test_an_interrupt_of_one_stage_is_everyones(launch, tmp_path):
    run = launch(2, "--steps=1000000000", f"--checkpoint-dir={tmp_path / 'kept'}")
    run.wait_for_update()
    os.kill(run.pid(1), signal.SIGINT)
    done = run.wait()
    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 2 and all("interrupted after update" in line for line in errors), done.err
    state = json.loads(next((tmp_path / "kept").glob("step-*/state.json")).read_text())
    assert f"interrupted after update {state['step']};" in errors[0]


def test_a_flipped_bit_of_a_replica_ends_all(launch, tmp_path):
    """Replicas of a stage are compared with each other, and named as ranks of the whole."""
    flags = ("--steps=9", f"--checkpoint-dir={tmp_path / 'kept'}", "--checkpoint-every=1", "--keep=99")
    done = launch(2, *flags, replicas=2, recovery=False, env={"TOY_FLIP": "3:6"}).wait()
    assert "parameters are not the same after it: rank 2 has" in done.err and "rank 3 has" in done.err, done.err
    assert max((tmp_path / "kept").iterdir()).name == "step-00000005"


def test_a_pipeline_does_not_infer(tmp_path):
    requests = tmp_path / "requests.json"
    requests.write_text("[]")
    done = subprocess.run(
        [STAGES, f"--infer={requests}", f"--dump-outputs={tmp_path / 'out'}", f"--init-from={requests}"],
        capture_output=True,
        text=True,
        env={**os.environ, "TOY_STAGES": "2", "TOY_RANKS": "2"},
    )
    assert done.returncode == 2 and done.stderr.startswith("error: --infer: this program is a pipeline of 2 stages;")
