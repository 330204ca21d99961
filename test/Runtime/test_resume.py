"""Ends and new starts: kill -9, Ctrl-C, time, non-finite values. Reports 19 and 21."""

import json
import signal
import struct
import subprocess
import time
import zlib

import numpy as np
import pytest


def start(program, corpus, tmp_path, name, *flags):
    folders = [f"--checkpoint-dir={tmp_path / name}", f"--log-dir={tmp_path / name}-log"]
    return subprocess.Popen(
        [program, f"--data={corpus.folder}", *folders, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def wait_for_updates(tmp_path, name, process, count):
    metrics = tmp_path / f"{name}-log" / "metrics.jsonl"
    while not metrics.exists() or metrics.read_text().count('"loss"') < count:
        assert process.poll() is None, "it ended by itself"
        time.sleep(0.002)


def last_step(folder):
    return max(int(p.name[5:]) for p in folder.iterdir() if p.name.startswith("step-"))


@pytest.mark.parametrize("updates", [23, 61])  # 7.5 updates are an epoch: both lie inside one
def test_kill_and_resume_is_bit_equal(program, corpus, train, tmp_path, updates):
    flags = ["--seed=3", "--checkpoint-every=3", "--keep=1000", "--eval-every=4", "--schedule=noam", "--warmup=9"]
    process = start(program, corpus, tmp_path, "broken", *flags, "--steps=100000")
    wait_for_updates(tmp_path, "broken", process, updates)
    process.kill()
    process.wait()
    steps = last_step(tmp_path / "broken") + 10
    # --log-dir of the broken run: its lines past the checkpoint must go.
    again = [*flags, f"--steps={steps}"]
    assert train(*again, "--resume", f"--checkpoint-dir={tmp_path / 'broken'}", log="broken-log").code == 0
    assert train(*again, f"--checkpoint-dir={tmp_path / 'whole'}", log="whole-log").code == 0
    files = sorted(p.relative_to(tmp_path / "whole") for p in (tmp_path / "whole").rglob("*") if p.is_file())
    assert len(files) == 4 * -(-steps // 3)
    for file in files:
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "broken" / file).read_bytes(), file

    def lines(name):
        rows = map(json.loads, (tmp_path / name / "metrics.jsonl").read_text().splitlines())
        return [{k: v for k, v in row.items() if k != "seconds"} for row in rows if "step" in row]

    assert lines("broken-log") == lines("whole-log")


def test_runs_are_bit_equal(train, tmp_path):
    runs = [train("--steps=9", f"--checkpoint-dir={tmp_path / n}", log=n + "l") for n in "ab"]
    assert [u["loss"] for u in runs[0].updates] == [u["loss"] for u in runs[1].updates]
    other = train("--steps=9", "--seed=1", log="cl")
    assert [u["loss"] for u in runs[0].updates] != [u["loss"] for u in other.updates]


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_saves_and_resumes(program, corpus, train, tmp_path, which):
    process = start(program, corpus, tmp_path, "run", "--steps=1000000")
    wait_for_updates(tmp_path, "run", process, 5)
    process.send_signal(which)
    _, err = process.communicate()
    assert process.returncode == 6
    step = last_step(tmp_path / "run")
    text = err.decode()
    assert text.count("\n") == 1 and f"interrupted after update {step}; saved" in text, text
    rows = [json.loads(line) for line in (tmp_path / "run-log" / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["final"] and rows[-2]["step"] == step
    run = train(f"--steps={step + 2}", "--resume", f"--checkpoint-dir={tmp_path / 'run'}")
    assert run.code == 0 and [u["step"] for u in run.updates] == [step + 1, step + 2]


def test_time_ends_a_run_like_its_last_update(train, tmp_path):
    run = train("--steps=100000000", "--max-time=0.3s", f"--checkpoint-dir={tmp_path / 'c'}")
    assert run.code == 0
    assert run.lines[-1]["final"] and last_step(tmp_path / "c") == run.updates[-1]["step"]


def test_non_finite_stops_before_the_weights(make_corpus, train, tensors, tmp_path):
    """Report 19: the poisoned update changes nothing on disk; the good checkpoints stay; resume goes from there."""
    clean = make_corpus(name="clean")
    order = train("--steps=7", "--dump-order=order.jsonl", data=clean.folder)
    assert order.code == 0, order.err
    rows = [json.loads(line) for line in (tmp_path / "order.jsonl").read_text().splitlines()]
    victim = rows[4]["micro_batches"][0]["utterances"][0]
    poisoned = make_corpus(name="poisoned", poison=victim)
    flags = ["--steps=7", "--checkpoint-every=1", "--keep=2", f"--checkpoint-dir={tmp_path / 'c'}"]
    run = train(*flags, data=poisoned.folder)
    run.refused(5, "update 5", "loss 'mel'", victim, "step-00000004")
    assert len(run.updates) == 4
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == ["step-00000003", "step-00000004"]
    saved = tensors(tmp_path / "c" / "step-00000004" / "model.safetensors")
    assert all(np.isfinite(t).all() for t in saved.values())
    again = train(*flags, "--resume", data=poisoned.folder)
    again.refused(5, "update 5")
    assert last_step(tmp_path / "c") == 4


def test_resume_needs_a_checkpoint(train, tmp_path):
    train("--steps=3", "--resume", f"--checkpoint-dir={tmp_path / 'none'}").refused(1, "no checkpoint")
    train("--steps=3", f"--resume={tmp_path / 'none'}").refused(1, "no checkpoint")


def test_resume_is_the_same_run(train, make_corpus, tmp_path):
    here = f"--checkpoint-dir={tmp_path / 'c'}"
    assert train("--steps=3", "--seed=5", here).code == 0
    train("--steps=4", here).refused(2, "another run's")
    train("--steps=4", "--seed=6", "--resume", here).refused(2, "--seed")
    other = make_corpus([3] * 20, name="other")
    train("--steps=4", "--resume", here, data=other.folder).refused(1, "another corpus")
    # From elsewhere, into another directory; a half-written checkpoint of a killed run is cleared away.
    (tmp_path / "d" / ".step-00000009.tmp").mkdir(parents=True)
    flags = ["--steps=4", f"--resume={tmp_path / 'c' / 'step-00000003'}", f"--checkpoint-dir={tmp_path / 'd'}"]
    there = train(*flags, log="d-log")
    assert there.code == 0 and [u["step"] for u in there.updates] == [4]
    assert [p.name for p in (tmp_path / "d").iterdir()] == ["step-00000004"]


def test_another_batch_or_rate_is_another_experiment(train, tmp_path):
    """Allowed, said and kept in every later checkpoint; ranks and micro-batches are no such thing."""
    here = f"--checkpoint-dir={tmp_path / 'c'}"

    def experiment(step):
        return json.loads((tmp_path / "c" / f"step-{step:08d}" / "state.json").read_text())["experiment"]

    assert train("--steps=2", here).code == 0
    assert experiment(2)["batch"] == 4 and experiment(2)["parameters"] == 7 and "changes" not in experiment(2)
    same = train("--steps=4", "--resume", here)
    assert same.code == 0 and "experiment" not in same.err and "changes" not in experiment(4)
    other = train("--steps=6", "--resume", "--lr=0.02", here, env={"TOY_BATCH": "6"})
    changes = ["from update 5 on: batch 6 instead of 4", "from update 5 on: lr 0.02 instead of 0.01"]
    assert other.code == 0, other.err
    for change in changes:
        assert f"warning: {tmp_path / 'c' / 'step-00000004'}: another experiment {change}\n" in other.err
    assert experiment(6)["changes"] == changes and experiment(6)["batch"] == 6
    # The history stays; what is as before is no change, and a longer run is one only where the rate follows it.
    back = train("--steps=8", "--resume", "--lr=0.02", "--schedule=cosine", here, env={"TOY_BATCH": "6"})
    assert back.code == 0 and experiment(8)["changes"] == [
        *changes,
        'from update 7 on: schedule "cosine" instead of "constant"',
    ]
    longer = train("--steps=9", "--resume", "--lr=0.02", "--schedule=cosine", here, env={"TOY_BATCH": "6"})
    assert longer.err.count("warning: ") == 1 and "from update 9 on: steps 9 instead of 8" in longer.err


def test_the_trace_knows_every_update(train, tmp_path):
    """The same for a run in one piece and in two; other for another order of data or another rate."""

    def trace(log, *flags):
        run = train("--steps=8", *flags, log=log)
        assert run.code == 0, run.err
        return run.lines[-1]["experiment"]["trace"], run

    whole, run = trace("whole", f"--checkpoint-dir={tmp_path / 'w'}")
    crc = 0
    for update in run.updates:
        crc = zlib.crc32(struct.pack("<d", update["lr"]), crc)
    assert whole["updates"] == 8 and whole["rates"] == f"{crc:08x}"
    here = f"--checkpoint-dir={tmp_path / 'c'}"
    assert train("--steps=5", here, log="half").code == 0
    resumed, _ = trace("half", "--resume", here)
    assert resumed == whole
    other, _ = trace("seed", "--seed=2")
    assert other["utterances"] != whole["utterances"] and other["rates"] == whole["rates"]
    other, _ = trace("rate", "--lr=0.02")
    assert other["utterances"] == whole["utterances"] and other["rates"] != whole["rates"]


def test_a_batch_of_frames_resumes_to_the_bit(train, tmp_path):
    few = {"TOY_BATCH_FRAMES": "40", "TOY_BATCH": "5"}
    assert train("--steps=9", f"--checkpoint-dir={tmp_path / 'w'}", env=few).code == 0
    assert train("--steps=4", f"--checkpoint-dir={tmp_path / 'c'}", env=few).code == 0
    assert train("--steps=9", "--resume", f"--checkpoint-dir={tmp_path / 'c'}", env=few).code == 0
    for file in (tmp_path / "w" / "step-00000009").iterdir():
        assert file.read_bytes() == (tmp_path / "c" / "step-00000009" / file.name).read_bytes(), file.name
    other = train("--steps=10", "--resume", f"--checkpoint-dir={tmp_path / 'c'}", env={**few, "TOY_BATCH_FRAMES": "50"})
    assert "another experiment from update 10 on: batch_frames 50 instead of 40" in other.err


def test_the_test_split_is_evaluated_and_never_trained_on(train, corpus, tmp_path):
    kept = f"--checkpoint-dir={tmp_path / 'c'}"
    assert train("--steps=2", kept).code == 0
    evaluate = ("--evaluate", f"--resume={tmp_path / 'c'}")
    train(*evaluate, "--split=test").refused(1, "it has no split 'test'")
    rows = {f"x{i}": corpus.utterances[f"v{i:04d}"] for i in range(3)}
    corpus.utterances |= rows
    manifest = json.loads((corpus.folder / "manifest.json").read_text())
    manifest["splits"]["test"] = corpus._write("test", list(rows), 4)
    (corpus.folder / "manifest.json").write_text(json.dumps(manifest))
    tested = train(*evaluate, "--split=test", log="tested")
    assert tested.code == 0 and [v["utterances"] for v in tested.validations] == [3], tested.err
    assert train(*evaluate, log="validated").validations[0]["utterances"] == len(corpus.validation)
    train("--steps=3", "--split=test").refused(2, "--split: needs --evaluate")
    # One that is trained on, too, is refused by name.
    manifest["splits"]["test"] = corpus._write("test", ["t0003"], 4)
    (corpus.folder / "manifest.json").write_text(json.dumps(manifest))
    train("--steps=1").refused(1, "listed twice: t0003 (train and test)")


def test_corpus_hash_is_that_of_the_headers(train, corpus):
    splits = json.loads((corpus.folder / "manifest.json").read_text())["splits"]
    expected = 0xCBF29CE484222325
    for byte in "".join(crc for s in ("train", "validation") for crc in splits[s]["header_crc32"]).encode():
        expected = (expected ^ byte) * 0x100000001B3 % 2**64
    assert train("--steps=1").lines[-1]["experiment"]["corpus_hash"] == f"{expected:016x}"


def test_full_disk_leaves_nothing_half_written(train, tmp_path):
    here = f"--checkpoint-dir={tmp_path / 'c'}"
    run = train("--steps=3", "--checkpoint-every=1", here, file_limit=400)
    run.refused(5, "cannot be written", "make room")
    assert list((tmp_path / "c").iterdir()) == []
