"""From a compiled model and a corpus to evaluation.json, as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tts.audio.wave import read_wav

ROOT = Path(__file__).resolve().parents[3]
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
SYSTEMS = ["recording", "recorded", "predicted", "spoken"]
# A whole prompt and the parts of one that is cut.
VALIDATION = ("agent-pass", "dir-intro.part1", "dir-intro.part2")


def run(*command) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    return subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, env=environment, timeout=900
    )


def succeeds(*command) -> subprocess.CompletedProcess:
    done = run(*command)
    assert done.returncode == 0, done.stderr
    return done


def evaluate(*flags) -> subprocess.CompletedProcess:
    return run(sys.executable, "-m", "tts.evaluate", *flags)


class Trained:
    """A tiny model, trained on a corpus until it knows how long a phone is."""

    def __init__(self, folder: Path):
        self.folder, self.corpus = folder, folder / "corpus"
        model, self.train = folder / "model.mlir", folder / "train"
        flags = ["--size=tiny", f"--corpus={self.corpus}", "-o", model]
        succeeds(sys.executable, "-m", "tts.models.fastspeech2", *flags)
        succeeds(TOOLS / "tts-compile", "--memory-budget=1G", f"--buckets-from={self.corpus}", model, "-o", self.train)
        flags = [
            "--steps=60",
            "--eval-every=60",
            "--lr=3e-3",
            "--warmup=10",
            f"--checkpoint-dir={folder / 'run'}",
            f"--log-dir={folder}",
        ]
        succeeds(self.train, f"--data={self.corpus}", *flags)
        self.checkpoint = folder / "run" / "step-00000060"
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        (self.logged,) = [line for line in lines if "val_loss" in line]

    def flags(self, **changed) -> list[str]:
        told = {"executable": self.train, "weights": self.checkpoint, "corpus": self.corpus} | changed
        return [f"--{name}={value}" for name, value in told.items()]


@pytest.fixture(scope="module")
def spoken(tmp_path_factory) -> Trained:
    """On real prompts."""
    folder = tmp_path_factory.mktemp("spoken")
    script = (
        "import sys; from pathlib import Path; from tts.data import asterisk; "
        "from tts.data.prepare import Options, prepare; "
        "prompts = [p for p in asterisk.find_prompts()[0] if p.id in sys.argv[3:]]; "
        "prepare(Path(sys.argv[1]), prompts, [], Options(1, 8.0, validation_ids=Path(sys.argv[2])))"
    )
    (folder / "ids").write_text("\n".join(VALIDATION))
    prompts = ["vm-goodbye", "dir-intro", "activated", "agent-pass", "hours", "please-try-again"]
    succeeds(sys.executable, "-c", script, folder / "corpus", folder / "ids", *prompts)
    return Trained(folder)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory) -> Trained:
    """On random numbers, which nobody spoke."""
    folder = tmp_path_factory.mktemp("made_up")
    succeeds(
        sys.executable, "-m", "tts.data", "synthetic", f"--out={folder / 'corpus'}", "--utterances=20", "--test=0.1"
    )
    return Trained(folder)


@pytest.fixture(scope="module")
def evaluated(spoken) -> tuple[dict, str]:
    output = spoken.folder / "evaluation.json"
    flags = ["--utterances=2", "--rated=1", f"--samples={spoken.folder / 'samples'}", "-o", output]
    done = evaluate(*spoken.flags(), *flags)
    assert done.returncode == 0, done.stderr
    return json.loads(output.read_text()), done.stdout


def by_key(told: dict) -> dict[str, dict]:
    return {metric["key"]: metric for metric in told["metrics"]}


def test_losses_are_those_that_training_logged(spoken, evaluated):
    metrics = by_key(evaluated[0])
    assert metrics["loss.total"]["value"] == pytest.approx(spoken.logged["val_loss"], rel=1e-12)
    for term, value in spoken.logged["val_losses"].items():
        assert metrics[f"loss.{term}"]["value"] == pytest.approx(value, rel=1e-12)
    assert len(spoken.logged["val_losses"]) == 4 and evaluated[0]["step"] == 60


def test_outputs_are_of_the_same_weights(spoken, evaluated):
    """The duration loss, again from the durations' side: both see the same predictions."""
    metrics = by_key(evaluated[0])
    assert metrics["energy"]["value"] ** 2 == pytest.approx(spoken.logged["val_losses"]["energy"], rel=1e-5)


def test_everything_is_measured(evaluated):
    told, table = evaluated
    metrics = by_key(told)
    assert told["utterances"] == 3 and told["audible"] == 2 and told["rated"] == 1
    # So young a model may want more frames than there are.
    assert {entry["what"] for entry in told["left_out"]} <= {"some of the spoken"}
    for system in SYSTEMS[1:]:
        assert metrics[f"mcd.{system}"]["utterances"] == 2 and metrics[f"mcd.{system}"]["value"] > 1
    assert metrics["mcd.mel"]["utterances"] == 3
    assert metrics["mcd.recorded"]["value"] < metrics["mcd.predicted"]["value"]  # sixty updates teach little
    assert metrics["wer.recording"]["value"] < metrics["wer.predicted"]["value"]
    assert metrics["wer.recording"]["utterances"] == 1 and metrics["wer.recording"]["count"] == 9
    assert metrics["mos.recording"]["value"] > metrics["mos.predicted"]["value"] >= 1
    for metric in told["metrics"]:
        assert metric["title"] in table and np.isfinite(metric["value"])
        assert metric["recipe"] in told["recipes"] and f"{metric['recipe']}: " in table


def test_rows_have_every_utterance_and_its_sounds(spoken, evaluated):
    rows = {row["id"]: row for row in evaluated[0]["rows"]}
    assert sorted(rows) == sorted(VALIDATION)
    whole, part = rows["agent-pass"], next(rows[name] for name in VALIDATION[1:] if rows[name]["samples"])
    assert whole["text"].startswith("Please enter your password")
    assert part["text"] is None and part["heard"] == {} and "mcd.predicted" in part["values"]
    assert list(whole["heard"]) == SYSTEMS
    for system in whole["samples"]:
        wave, rate = read_wav(spoken.folder / whole["samples"][system])
        assert rate == 16000 and (system == "spoken" or abs(len(wave) / 256 - whole["frames"]) <= 2)


def test_a_corpus_without_speech_says_what_is_left_out(made_up):
    output = made_up.folder / "evaluation.json"
    weights = made_up.checkpoint / "model.safetensors"
    done = evaluate(*made_up.flags(weights=weights), "--utterances=1", "--rated=0", "-o", output)
    assert done.returncode == 0, done.stderr
    told = json.loads(output.read_text())
    reasons = {entry["what"]: entry["reason"] for entry in told["left_out"]}
    assert "no transcripts" in reasons["wer.predicted"] and "recordings" in reasons["mcd.predicted"]
    assert set(by_key(told)).isdisjoint(reasons) and "mcd.mel" in by_key(told)
    assert told["step"] is None and "left out wer.recording" in done.stdout


def test_the_moving_average_is_other_weights(made_up, tmp_path):
    flags = ["--utterances=0", "-o", tmp_path / "out.json"]
    values = []
    for more in ([], ["--ema"]):
        assert evaluate(*made_up.flags(), *flags, *more).returncode == 0
        told = json.loads((tmp_path / "out.json").read_text())
        assert told["ema"] == bool(more) and told["step"] == 60 and told["audible"] == 0
        audible = [metric["key"] for metric in told["metrics"] if metric["recipe"] in ("mcd.wave", "f0", "wer", "mos")]
        assert not audible and "no utterance was to be made audible" in {e["reason"] for e in told["left_out"]}
        values.append(by_key(told)["loss.total"]["value"])
    assert values[0] == pytest.approx(made_up.logged["val_loss"], rel=1e-12)
    assert values[1] > values[0]  # it lags behind


def test_the_test_split_is_judged_by_itself(made_up, spoken, tmp_path):
    flags = ["--utterances=0", "-o", tmp_path / "out.json", "--split=test"]
    done = evaluate(*made_up.flags(), *flags)
    assert done.returncode == 0 and "on 2 test utterances" in done.stdout, done.stderr
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["split"] == "test" and by_key(told)["loss.total"]["value"] != made_up.logged["val_loss"]
    assert evaluate(*spoken.flags(), *flags).stderr.count("it has no split test; prepare the corpus with --test") == 1


def test_faults_are_one_line(made_up, tmp_path):
    def refused(code: int, word: str, *flags):
        done = evaluate(*flags)
        assert done.returncode == code and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, (
            done.stderr
        )
        assert word in done.stderr and "; " in done.stderr and not (tmp_path / "out.json").exists()

    out = ["-o", tmp_path / "out.json"]
    refused(2, "--utterances", *made_up.flags(), "--utterances=many", *out)
    refused(1, "its directory", *made_up.flags(), "-o", tmp_path / "nowhere" / "out.json")
    refused(1, "nothing here", *made_up.flags(weights=tmp_path / "nothing here"), *out)
    refused(1, "not a checkpoint", *made_up.flags(weights=made_up.folder), *out)
    refused(1, "no checkpoint", *made_up.flags(weights=made_up.checkpoint / "model.safetensors"), "--ema", *out)
    refused(1, "manifest.json", *made_up.flags(corpus=tmp_path), *out)
    refused(1, "tts-compile", *made_up.flags(executable=made_up.folder / "model.mlir"), *out)
    damaged = tmp_path / "weights.safetensors"
    damaged.write_bytes(b"no weights")
    refused(1, str(damaged), *made_up.flags(weights=damaged), *out)  # the executable's own line
