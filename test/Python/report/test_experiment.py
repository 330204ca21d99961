"""The same experiment as planned, or another: what differs is named, and a rate or batch that the settings do not give."""

import json
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from small_run import metrics, plan, write_metrics

from tts.report import experiment

PACKAGE = Path(__file__).resolve().parents[3] / "python"
SETTINGS = {"parameters": 1048576, "batch": 16, "lr": 1e-3, "warmup": 0, "schedule": "constant", "weight_decay": 0.0}
PLANNED = {**SETTINGS, "corpus_hash": "00ff", "ema": None, "optimizer": "adamw"}


def trained(lines, **changed):
    crc = 0
    for line in lines:
        if "lr" in line:
            crc = zlib.crc32(struct.pack("<d", line["lr"]), crc)
    trace = {"updates": 120, "utterances": "0badcafe", "rates": f"{crc:08x}"}
    return {**SETTINGS, "ema": 0.0, "seed": 3, "corpus_hash": "00ff", "trace": trace, **changed}


@pytest.fixture
def write(run_folder):
    """A function that gives a run its experiment: write(lines, lr=0.1)."""

    def write(folder=run_folder, lines=None, planned=None, **changed):
        folder.mkdir(exist_ok=True)
        (folder / "train.plan.json").write_text(json.dumps({**plan(), "experiment": PLANNED, **(planned or {})}))
        lines = lines or metrics()
        lines[-1] |= {"experiment": trained(lines, **changed)}
        write_metrics(folder / "metrics.jsonl", lines)
        return folder

    return write


def report(folder, *flags):
    environment = os.environ | {"PYTHONPATH": str(PACKAGE)}
    done = subprocess.run(
        [sys.executable, "-m", "tts.report", folder, *flags], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), (folder / "report.html").read_text()


def test_the_same_experiment_is_said_to_be(write):
    said, page = report(write())
    assert said == ["The same experiment as planned."]
    assert "The same experiment as planned." in page and "0badcafe" in page and "1\u202f048\u202f576" in page


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"parameters": 1000}, "parameters 1000 instead of 1048576"),
        ({"corpus_hash": "1234"}, "corpus 1234 instead of 00ff"),
        ({"batch": 8}, "batch 8 instead of 16; another batch at updates 1, 2, 3 …"),
        ({"lr": 2e-3}, "rate 0.002 instead of 0.001; rates that the schedule does not give at updates 1, 2, 3 …"),
        ({"changes": ["from update 7 on: lr 1 instead of 2"]}, "from update 7 on: lr 1 instead of 2"),
    ],
)
def test_what_differs_is_named(write, changed, expected):
    assert report(write(**changed))[0] == [f"Another experiment than planned: {expected}."]


def test_one_update_with_another_rate_or_batch_is_found(write):
    lines = metrics()
    lines[4] |= {"lr": 1.5e-3, "utterances": 15}
    assert report(write(lines=lines))[0] == [
        "Another experiment than planned: rates that the schedule does not give at update 5; another batch at update 5."
    ]
    # A line that was changed afterwards is not what the trace was made of.
    folder = write()
    text = (folder / "metrics.jsonl").read_text().replace('"lr": 0.001', '"lr": 0.0010000000000001', 1)
    (folder / "metrics.jsonl").write_text(text)
    assert "are not those of its trace" in report(folder)[0][0]


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [("constant", 5, 0.5), ("constant", 10, 1), ("noam", 40, 0.5), ("cosine", 60, 0.5), ("cosine", 110, 0)],
)
def test_rates_of_the_schedules(schedule, step, expected):
    settings = {"lr": 1.0, "warmup": 10, "schedule": schedule, "steps": 110}
    assert experiment.rate(step, settings) == pytest.approx(expected, abs=1e-12)


def test_two_runs_are_compared(write, tmp_path):
    folder, other = write(), write(tmp_path / "other")
    same = "The same experiment as other, with the same utterances and rates in all 120 updates."
    said, page = report(folder, f"--compare={other}")
    assert said[1] == same and "Beside other" in page
    trace = {"updates": 120, "utterances": "0badcaff", "rates": "00000000"}
    said, _ = report(folder, f"--compare={write(other, seed=4, trace=trace)}")
    assert said[1].startswith(
        "Another experiment than other: seed 3 instead of 4; trace of utterances 0badcafe instead"
    )
    said, _ = report(folder, f"--compare={write(other, trace={**trace, 'updates': 60})}")
    assert said[1] == "Another experiment than other: updates 120 instead of 60."


def test_older_files_are_no_error(run_folder):
    said, page = report(run_folder)
    assert said == ["Not trained to its end yet, so there is nothing to compare the plan with."]
    assert "it is of an older compiler" in page


def test_each_rank_has_a_row(write):
    lines = metrics()
    lines[-1]["ranks"] = [{"planned_peak_bytes": 1 << 20, "bytes_sent": (i + 1) << 20} for i in range(2)]
    _, page = report(write(lines=lines))
    assert "rank 1" in page and "2 MiB" in page and "The ranks, measured" in page


def test_a_pipeline_names_its_stages(write):
    lines = metrics()
    lines[-1]["ranks"] = [{"planned_peak_bytes": 1 << 20}] * 4
    roles = [{"ranks": [0, 1]}, {"ranks": [2, 3]}]
    planned = {"ranks": 4, "stages": 2, "roles": roles, "pipeline_bubble": 0.126, "batch_per_rank": 8}
    _, page = report(write(lines=lines, planned=planned))
    assert "4 ranks in 2 stages" in page and "on the largest of 4 ranks" in page
    assert "8 utterances a replica, waiting for each other 13 % of the time" in page
    assert "rank 1, stage 0" in page and "rank 2, stage 1" in page
