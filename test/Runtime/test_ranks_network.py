"""Ranks in two network namespaces over a line that delays and loses frames, and over one that goes down."""

import json

import pytest
import ranks_network
from test_ranks import launch  # noqa: F401 (a fixture)


@pytest.fixture
def trial(corpus, tmp_path):
    def run(fault):
        try:
            return ranks_network.trial(fault, tmp_path / fault, corpus.folder, 8)
        except ranks_network.NotPermitted as refused:
            pytest.skip(f"this machine permits no network namespaces: {refused}")

    return run


def test_a_bad_line_changes_no_figure(trial, launch, monkeypatch):  # noqa: F811
    """50 ms and 5 % lost in both directions: slower, and the same to the bit."""
    monkeypatch.setitem(ranks_network.FAULTS, "loss", (0.05, 0.05))
    lines, errors, _ = trial("loss")
    beside = launch(2, "--steps=8", "--eval-every=4")
    assert beside.wait().code == 0
    here = [json.loads(line) for line in (beside.log / "metrics.jsonl").read_text().splitlines()]
    assert errors == ""
    assert lines == [{k: v for k, v in row.items() if k != "seconds"} for row in here if "step" in row]


def test_a_line_that_goes_down_ends_both(trial):
    _, errors, seconds = trial("down")
    assert "error: rank 0: rank 1 has not been heard of for 10 s" in errors
    assert 9 < seconds < ranks_network.LIMIT
