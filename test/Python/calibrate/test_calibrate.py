"""A tiny model is measured for real, and the planner predicts its step from what was found."""

import json
import os
import subprocess

import pytest

from tts.calibrate import __main__ as command
from tts.calibrate.fit import fit
from tts.calibrate.measure import BIN, Compiled, Run


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrate")
    compiled = Compiled(Run("codec_lm", "tiny", "fp32", 4, "frames=32"), folder)
    observed = compiled.observe(0.2)
    compiled.close()
    return compiled, observed, folder


def test_every_entry_of_a_step_is_measured_and_they_make_the_step(tiny):
    _, observed, _ = tiny
    programs = {o.work.program for o in observed}
    assert programs == {"zero", "denominators", "forward", "backward", "update"}
    assert sum(o.calls * o.seconds for o in observed) == pytest.approx(observed[0].step_seconds)
    assert all(o.work.product or o.work.operations for o in observed)


def test_the_planner_predicts_the_step_it_was_fitted_to(tiny):
    compiled, observed, folder = tiny
    caches = command.cache_sizes()
    description = folder / "host.json"
    description.write_text(json.dumps(command.describe(fit(observed, caches, 1), caches, 1, ["fp32"])))
    plan = folder / "plan.json"
    tool = [BIN / "tts-opt", *compiled.run.flags(1), compiled.source, f"--plan-json={plan}", "-o", os.devnull]
    subprocess.run([*tool, f"--hardware={description}"], check=True, capture_output=True)
    predicted = json.loads(plan.read_text())["predicted_step_seconds"]
    assert predicted == pytest.approx(observed[0].step_seconds, rel=0.1)


def test_the_whole_tool(tool, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "runs", lambda precisions: [Run("codec_lm", "tiny", precisions[0], 2, "frames=32")])
    path = tmp_path / "host.json"
    assert command.main(["-o", str(path), "--precision=bf16", "--seconds=0.05"]) == 0
    written = json.loads(path.read_text())
    assert written["bf16_flops"] > 0
    assert "bf16" in {p["precision"] for p in written["products"]}
    assert [p.name for p in tmp_path.iterdir()] == ["host.json"]
    told = capsys.readouterr()
    assert "1 of 1: codec_lm tiny bf16" in told.err
    assert "Gflop/s" in told.out


def test_bad_usage_and_bad_input_are_one_line(tool, tmp_path, monkeypatch):
    done = tool("tts.calibrate")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    done = tool("tts.calibrate", "-o", tmp_path / "host.txt")
    assert done.returncode == 1
    assert "host.txt: does not end in .json" in done.stderr
    done = tool("tts.calibrate", "-o", tmp_path / "none" / "host.json")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "is no folder" in done.stderr
    monkeypatch.setenv("TTS_BIN", str(tmp_path))
    done = tool("tts.calibrate", "-o", tmp_path / "host.json")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "there is no such program" in done.stderr
    assert not list(tmp_path.iterdir())
