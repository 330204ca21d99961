"""What a run leaves behind: metrics, checkpoints, validation, dumps."""

import json

import numpy as np

KEYS = "step epoch loss losses lr grad_norm utterances frames padding_fraction seconds skipped loss_scale".split()


def test_metrics_hold_the_contract(train):
    run = train("--steps=6", "--eval-every=2")
    assert run.code == 0, run.err
    assert [u["step"] for u in run.updates] == [1, 2, 3, 4, 5, 6]
    assert all(list(u) == KEYS for u in run.updates)
    assert all(u["utterances"] == 4 and 0 <= u["padding_fraction"] < 1 for u in run.updates)
    assert [v["step"] for v in run.validations] == [2, 4, 6]
    final = run.lines[-1]
    assert final["final"] is True
    assert final["arena_high_water_bytes"] == final["planned_arena_bytes"]
    assert final["large_allocations_after_start"] == 0
    assert 0 < final["start_seconds"] < 60
    assert final["measured_peak_bytes"] - final["peak_after_first_update_bytes"] <= 1 << 20
    assert run.out.count("\n") == 9  # one line per update and per validation


def test_nothing_large_is_allocated_by_checkpoints_and_validation(train, tmp_path):
    flags = ["--steps=12", "--eval-every=1", "--checkpoint-every=1", "--keep=2", "--save-best=val_loss"]
    run = train(*flags, f"--checkpoint-dir={tmp_path / 'c'}")
    assert run.code == 0 and run.lines[-1]["large_allocations_after_start"] == 0
    kept = sorted(p.name for p in (tmp_path / "c").iterdir())
    best = min(run.validations, key=lambda v: v["val_loss"])["step"]
    assert kept == ["best", f"best-{best:08d}", "step-00000011", "step-00000012"]
    assert (tmp_path / "c" / "best").resolve().name == f"best-{best:08d}"


def test_rate_counts_updates(train):
    """Reports 5 and 6: warm-up over 10 updates to 1.0 is 0.5 after 5, whatever the micro-batches."""
    run = train("--steps=10", "--lr=1.0", "--warmup=10")
    assert [round(u["lr"], 12) for u in run.updates] == [round(0.1 * k, 12) for k in range(1, 11)]


def test_validation_is_the_whole_split_once(train, corpus, tensors, tmp_path):
    """Report 14: the mean over all validation frames and phones, each counted once."""
    run = train("--steps=3", "--eval-every=3", f"--checkpoint-dir={tmp_path / 'c'}")
    weights = tensors(tmp_path / "c" / "step-00000003" / "model.safetensors")
    mel_sum = mel_count = phone_sum = phone_count = 0
    for name in corpus.validation:
        utterance = corpus.utterances[name]
        mel = utterance["mel"].astype(np.float64)
        error = mel @ weights["proj.weight"] + weights["proj.bias"] - 0.5 * mel
        mel_sum, mel_count = mel_sum + (error**2).sum(), mel_count + error.size
        phone = weights["phone.mean"] - utterance["phones"]
        phone_sum, phone_count = phone_sum + (phone**2).sum(), phone_count + phone.size
    (line,) = run.validations
    assert line["utterances"] == len(corpus.validation)
    np.testing.assert_allclose(line["val_losses"]["mel"], mel_sum / mel_count, rtol=1e-5)
    np.testing.assert_allclose(line["val_losses"]["phone"], phone_sum / phone_count, rtol=1e-5)
    np.testing.assert_allclose(line["val_loss"], sum(line["val_losses"].values()), rtol=1e-12)


def test_an_evaluation_leaves_the_metrics_of_training(train, tmp_path):
    flag = f"--checkpoint-dir={tmp_path / 'c'}"
    before = train("--steps=3", "--eval-every=3", flag).lines
    run = train("--evaluate", "--resume", flag)
    assert run.code == 0 and run.lines[: len(before)] == before
    line, final = run.lines[len(before) :]
    assert (line["step"], line["val_loss"]) == (3, run.validations[0]["val_loss"]) and final["final"]


def test_outputs_are_dumped_without_padding(train, corpus, tensors, tmp_path):
    checkpoints = f"--checkpoint-dir={tmp_path / 'c'}"
    assert train("--steps=3", checkpoints).code == 0
    wanted = ["v0003", "t0014", "v0001"]
    flags = ["--evaluate", "--resume", checkpoints, "--dump-outputs=o.safetensors"]
    run = train(*flags, "--dump-utterances=" + ",".join(wanted))
    assert run.code == 0, run.err
    weights = tensors(tmp_path / "c" / "step-00000003" / "model.safetensors")
    outputs = tensors(tmp_path / "o.safetensors")
    assert sorted(outputs) == sorted(f"{name}/mel" for name in wanted)
    for name in wanted:
        expected = corpus.utterances[name]["mel"] @ weights["proj.weight"] + weights["proj.bias"]
        np.testing.assert_allclose(outputs[f"{name}/mel"], expected, rtol=1e-5, atol=1e-6)


def test_weights_go_in_and_out(train, tensors, tmp_path):
    assert train("--steps=4", f"--checkpoint-dir={tmp_path / 'a'}").code == 0
    weights = tmp_path / "a" / "step-00000004" / "model.safetensors"
    assert train("--steps=0", f"--init-from={weights}", f"--checkpoint-dir={tmp_path / 'b'}").code == 0
    start = tmp_path / "b" / "step-00000000"
    assert (start / "model.safetensors").read_bytes() == weights.read_bytes()
    assert (start / "ema.safetensors").read_bytes() == weights.read_bytes()
    assert all(not t.any() for t in tensors(start / "optimizer.safetensors").values())


def test_every_epoch_holds_every_utterance_once(train, corpus, tmp_path):
    """Report 13, as the runtime really cuts it."""
    run = train("--steps=15", "--dump-order=order.jsonl")
    assert run.code == 0, run.err
    rows = [json.loads(line) for line in (tmp_path / "order.jsonl").read_text().splitlines()]
    stream = [[u for m in row["micro_batches"] for u in m["utterances"]] for row in rows]
    assert all(len(ids) == 4 for ids in stream)
    # 60 = two epochs of 30; the update in the middle crosses from one into the other.
    seen = [u for ids in stream for u in ids]
    assert sorted(seen) == sorted([n for n in corpus.utterances if n[0] == "t"] * 2)
    assert len(set(u for ids in stream[:7] for u in ids)) == 28
    assert [row["epoch"] for row in rows] == [0] * 8 + [1] * 7


def test_checkpoints_name_no_place_and_no_time(train, tmp_path):
    for run in ("a", "b"):
        assert train("--steps=3", f"--checkpoint-dir={tmp_path / run}", log=f"log-{run}").code == 0
    files = sorted(p.name for p in (tmp_path / "a" / "step-00000003").iterdir())
    assert files == ["ema.safetensors", "model.safetensors", "optimizer.safetensors", "state.json"]
    for name in files:
        first, second = (tmp_path / run / "step-00000003" / name for run in "ab")
        assert first.read_bytes() == second.read_bytes()
