"""Event files, read by TensorBoard's own reader: the numbers of metrics.jsonl, once each, whatever was resumed."""

import shutil

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

PLAIN = ("loss", "lr", "grad_norm", "padding_fraction")


def read(folder):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def expected(run):
    """The scalars that a run's metrics stand for."""
    found = {}
    for line in run.updates:
        values = {name: line[name] for name in PLAIN}
        values["frames_per_second"] = line["frames"] / line["seconds"]
        values |= {f"losses/{name}": value for name, value in line["losses"].items()}
        for tag, value in values.items():
            found.setdefault(tag, []).append((line["step"], value))
    for line in run.validations:
        values = {"val_loss": line["val_loss"]}
        values |= {f"val_losses/{name}": value for name, value in line["val_losses"].items()}
        for tag, value in values.items():
            found.setdefault(tag, []).append((line["step"], value))
    return found


def files(folder):
    return sorted(p.name for p in folder.glob("events.out.tfevents.*"))


def same(found, wanted):
    assert found.keys() == wanted.keys()
    for tag, points in wanted.items():
        assert [step for step, _ in found[tag]] == [step for step, _ in points], tag
        assert [value for _, value in found[tag]] == pytest.approx([value for _, value in points], rel=1e-6), tag


def test_events_are_the_metrics(train, tmp_path):
    run = train("--steps=9", "--eval-every=3")
    assert run.code == 0, run.err
    assert len(files(tmp_path / "log")) == 1
    found = read(tmp_path / "log")
    assert {"losses/mel", "losses/phone", "val_loss", "val_losses/mel", "frames_per_second"} <= found.keys()
    same(found, expected(run))
    assert run.lines[-1]["large_allocations_after_start"] == 0


def test_a_resumed_run_repeats_no_step(train, tmp_path):
    flags = ["--eval-every=2", f"--checkpoint-dir={tmp_path / 'c'}", "--checkpoint-every=4"]
    assert train("--steps=11", *flags).code == 0
    shutil.rmtree(tmp_path / "c" / "step-00000011")  # as if it had been killed before that was written
    assert {step for step, _ in read(tmp_path / "log")["loss"]} == set(range(1, 12))
    run = train("--steps=13", *flags, "--resume")
    assert run.code == 0, run.err
    assert len(files(tmp_path / "log")) == 2
    assert [line["step"] for line in run.updates] == list(range(1, 14))
    same(read(tmp_path / "log"), expected(run))


def test_a_new_run_voids_an_older_one(train, tmp_path):
    assert train("--steps=7").code == 0
    run = train("--steps=3", "--seed=1")
    assert len(files(tmp_path / "log")) == 2
    same(read(tmp_path / "log"), expected(run))


def test_switched_off_and_without_training(train, tmp_path):
    assert train("--steps=2", "--no-tensorboard", f"--checkpoint-dir={tmp_path / 'c'}").code == 0
    assert train("--evaluate", f"--resume={tmp_path / 'c'}", log="evaluated").code == 0
    assert not files(tmp_path / "log") and not files(tmp_path / "evaluated")
    assert (tmp_path / "log" / "metrics.jsonl").exists()


def test_events_change_no_checkpoint(train, tmp_path):
    assert train("--steps=3", f"--checkpoint-dir={tmp_path / 'with'}").code == 0
    assert train("--steps=3", "--no-tensorboard", f"--checkpoint-dir={tmp_path / 'without'}").code == 0
    for file in (tmp_path / "with" / "step-00000003").iterdir():
        assert file.read_bytes() == (tmp_path / "without" / "step-00000003" / file.name).read_bytes(), file.name
