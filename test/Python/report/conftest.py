"""The small run as a folder."""

import json

import pytest
from small_run import metrics, plan, write_metrics, write_sound


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "voice"
    folder.mkdir()
    (folder / "train.plan.json").write_text(json.dumps(plan()))
    (folder / "model.mlir").write_text('module {\n  func.func @train() {\n    %0 = tts.linear %a loc("a.linear")\n')
    write_metrics(folder / "metrics.jsonl", metrics())
    write_sound(folder / "sample.wav")
    (folder / "sample.txt").write_text("Thank you <for> calling.\n")
    return folder
