"""What is asked of an executable, and what becomes of its refusals, with a stand-in that speaks its flags."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tts.audio.features import Features
from tts.data.errors import InputError
from tts.evaluate import program

STAND_IN = """#!{python}
import json, sys
from pathlib import Path
import numpy as np
from tts.data import shards
told = dict(flag.lstrip("-").split("=", 1) for flag in sys.argv[1:] if "=" in flag)
if "infer" in told:
    if {code}:
        print("error: --infer: something; do something", file=sys.stderr)
        raise SystemExit({code})
    mels = {{"long": np.zeros((9, 80), "f4"), "short": np.zeros((2, 80), "f4")}}
    wanted = {{"long": 12, "short": 2}}
    result = {{f"{{k}}/mel": v for k, v in mels.items()}}
    result |= {{f"{{k}}/wanted_frames": np.array(v, "i4") for k, v in wanted.items()}}
elif "log-dir" in told:
    line = {{"val_loss": 3.0, "val_losses": {{"mel": 3.0}}}}
    (Path(told["log-dir"]) / "metrics.jsonl").write_text(json.dumps(line) + chr(10))
else:
    result = {{"long/mel": np.full((9, 80), {value}, "f4")}}
if "dump-outputs" in told:
    Path(told["dump-outputs"]).write_bytes(shards.encode(result, {{}}))
"""
PHONES = {"long": np.ones(3, np.int32), "short": np.ones(2, np.int32)}


@pytest.fixture
def evaluate(tmp_path, monkeypatch):
    """A function that runs the stand-in: evaluate(code of --infer, value in the mel)."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[3] / "python"))

    def run(code=0, value="0.5"):
        executable, weights = tmp_path / "train", tmp_path / "weights.safetensors"
        executable.write_text(STAND_IN.format(python=sys.executable, code=code, value=value))
        executable.chmod(0o755)
        weights.write_bytes(b"")
        return program.evaluate(executable, weights, False, tmp_path, PHONES, Features())

    return run


def test_losses_outputs_and_speech_come_back(evaluate):
    told = evaluate()
    assert told.step is None and told.loss == 3.0 and told.losses == {"mel": 3.0}
    assert told.outputs["long"]["mel"].shape == (9, 80) and told.spoken["short"].shape == (2, 80)
    assert "cut there: long" in told.mute and "too few frames predicted to be a sound: short" in told.mute


def test_an_executable_that_cannot_speak_is_evaluated_all_the_same(evaluate):
    told = evaluate(code=2)
    assert told.spoken == {} and told.mute == "the executable has no infer program" and told.loss == 3.0


def test_other_refusals_keep_their_line_and_code(evaluate):
    with pytest.raises(program.Refused, match="error: --infer: something; do something") as refused:
        evaluate(code=7)
    assert refused.value.code == 7


def test_a_mel_that_is_not_finite_is_refused(evaluate):
    with pytest.raises(InputError, match="output mel of long is not finite"):
        evaluate(value='float("nan")')
