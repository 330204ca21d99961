"""Speaking with a training executable: `--infer` and `python -m tts.synthesize`, end to end on the tiny model."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from machine import tool
from tts.audio.wave import read_wav
from tts.data import corpus, phones, shards, synthetic
from tts.models import fastspeech2
from tts.synthesize import InferFailure, ids_of, infer, mel_of, request, sentences_of

ROOT = Path(__file__).resolve().parents[2]
BUCKETS = ({"text": 16, "frames": 64}, {"text": 32, "frames": 160})


class Voice:
    """A compiled model, its corpus, and weights whose durations are a few frames each."""

    def __init__(self, folder: Path):
        self.folder, self.corpus = folder, folder / "corpus"
        synthetic.synthesize(self.corpus, 8, 1, synthetic.Range(4, 12), synthetic.Range(20, 60))
        self.manifest = corpus.read_manifest(self.corpus)
        config = fastspeech2.fitted(fastspeech2.SIZES["tiny"], self.manifest, "corpus")
        self.config = replace(config, buckets=BUCKETS, batch=4)
        self.model = self.compile("train", fastspeech2.text(self.config, self.manifest["features_hash"]))
        self.run = folder / "run"
        self.call(self.model, f"--data={self.corpus}", "--steps=2", f"--checkpoint-dir={self.run}")
        self.checkpoint = self.run / "step-00000002"
        tensors, _ = shards.read(self.checkpoint / "model.safetensors")
        tensors["variance.duration.linear.bias"] = np.full(1, 1.4, np.float32)
        self.weights = self.write("weights.safetensors", tensors)
        self.tensors = tensors

    def write(self, name: str, tensors: dict) -> Path:
        (self.folder / name).write_bytes(shards.encode(tensors, {}))
        return self.folder / name

    def compile(self, name: str, text: str) -> Path:
        source, out = self.folder / f"{name}.mlir", self.folder / name
        source.write_text(text)
        self.call(tool("tts-compile"), "--memory-budget=1G", "--micro-batch=2", "--plan-table=none", source, "-o", out)
        self.call(tool("tts-check"), f"{out}.plan.json", "--executable", out)
        return out

    @staticmethod
    def call(*command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def ask(self, length: int, seed: int = 0, scale: float = 1.0) -> dict:
        drawn = np.random.default_rng([seed, length]).integers(1, self.config.symbols, length)
        return request(drawn.astype(np.int32), duration_scale=scale)

    def infer(self, requests: dict, weights=None, **more) -> dict:
        return infer(self.model, weights or self.weights, requests, **more)

    def synthesize(self, *flags):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        command = [sys.executable, "-m", "tts.synthesize", f"--model={self.model}", f"--corpus={self.corpus}", *flags]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def voice(tmp_path_factory):
    return Voice(tmp_path_factory.mktemp("voice"))


@pytest.fixture(scope="module")
def silent(voice):
    """The same model without the program that speaks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fastspeech2, "build_infer", lambda config: None)
        text = fastspeech2.text(voice.config, voice.manifest["features_hash"])
    assert "@infer" not in text
    return voice.compile("silent", text)


def refused(done, code: int, *words):
    """One line `error: place: what; what to do` with these words, and that exit code."""
    assert done.returncode == code, (done.returncode, done.stderr)
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1 and "; " in done.stderr, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_text_becomes_sound(voice, tmp_path):
    out = tmp_path / "hello.wav"
    flags = [f"--weights={voice.weights}", "--iterations=3", "-o", out]
    done = voice.synthesize("Hello world. How are you?", *flags)
    assert done.returncode == 0, done.stderr
    samples, rate = read_wav(out)
    frames = int(done.stdout.split(" frames")[0].split()[-1])
    assert frames > 20 and abs(len(samples) - frames * 256) <= 256 and rate == voice.manifest["features"]["sample_rate"]
    assert np.abs(samples).max() > 0
    first = out.read_bytes()
    assert voice.synthesize("Hello world. How are you?", *flags).returncode == 0
    assert out.read_bytes() == first, "the same text, another sound"
    slow = voice.synthesize("Hello world. How are you?", "--speed=0.5", *flags)
    assert int(slow.stdout.split(" frames")[0].split()[-1]) > 1.5 * frames


def test_a_request_alone_or_among_others(voice):
    asked = {f"r{n}": voice.ask(n, scale=0.7) for n in (3, 9, 16, 17, 30, 5, 12)}
    together = voice.infer(asked)
    assert list(together) == list(asked)
    for name in asked:
        alone = voice.infer({name: asked[name]})[name]
        for output, value in alone.items():
            np.testing.assert_array_equal(value, together[name][output], err_msg=f"{name}/{output}")
        phones, frames = len(asked[name]["phones"]), int(alone["wanted_frames"])
        assert alone["mel"].shape == (frames, 80) and alone["durations"].shape == (phones,)
        assert alone["durations"].sum() == frames == alone["mel_lengths"]


def test_many_frames_move_to_a_larger_bucket(voice):
    """Ten phones fit the small bucket's text, their frames do not."""
    told = voice.infer({"a": voice.ask(10, scale=3.0), "b": voice.ask(4)})
    assert BUCKETS[0]["frames"] < told["a"]["wanted_frames"] <= BUCKETS[1]["frames"]
    assert len(told["a"]["mel"]) == told["a"]["wanted_frames"]


def test_what_no_bucket_holds_is_cut_and_told(voice, tmp_path):
    long = voice.ask(16, scale=8.0)
    told = voice.infer({"a": long})
    assert told["a"]["wanted_frames"] > 160 and told["a"]["mel"].shape == (160, 80) and told["a"]["mel_lengths"] == 160
    with pytest.raises(Exception, match=r"text: a: it wants \d+ frames, the largest bucket has 160; shorten"):
        mel_of(told)
    asked = voice.write("long.safetensors", {f"a/{n}": v for n, v in long.items()})
    flags = [f"--infer={asked}", f"--init-from={voice.weights}", f"--dump-outputs={tmp_path / 'out.safetensors'}"]
    done = subprocess.run([voice.model, *flags], capture_output=True, text=True)
    assert done.returncode == 0 and "warning: request 'a' wants" in done.stderr
    done = voice.synthesize("Hello world.", "--speed=0.05", f"--weights={voice.weights}", "-o", tmp_path / "x.wav")
    refused(done, 1, "sentence-0001", "the largest bucket has 160", "--speed")
    assert not (tmp_path / "x.wav").exists()


def test_pitch_and_energy_can_be_moved(voice):
    plain, asked = voice.ask(12), voice.ask(12)
    asked["pitch_shift"] += 2.0
    told = voice.infer({"a": plain, "b": asked})
    np.testing.assert_array_equal(told["a"]["pitch"], told["b"]["pitch"])  # the prediction is told, not the shift
    assert not np.array_equal(told["a"]["mel"], told["b"]["mel"])


def test_weights(voice, tmp_path):
    """A checkpoint, the latest of a directory, averaged weights; and what is none."""
    tensors = {"a": voice.ask(4, scale=40.0)}
    here, latest = voice.infer(tensors, voice.checkpoint), voice.infer(tensors, voice.run)
    averaged = voice.infer(tensors, voice.checkpoint, ema=True)
    np.testing.assert_array_equal(here["a"]["pitch"], latest["a"]["pitch"])
    assert not np.array_equal(here["a"]["pitch"], averaged["a"]["pitch"])
    lacking = {name: value for name, value in voice.tensors.items() if name != "decoder.1.ffn.conv2.weight"}
    path = voice.write("lacking.safetensors", lacking)
    done = voice.synthesize("Hello.", f"--weights={path}", "-o", tmp_path / "x.wav")
    refused(done, 1, "lacking.safetensors: tensor 'decoder.1.ffn.conv2.weight' is missing")
    done = voice.synthesize("Hello.", f"--weights={tmp_path / 'none'}", "-o", tmp_path / "x.wav")
    refused(done, 1, "none: missing")
    done = voice.synthesize("Hello.", f"--weights={voice.weights}", "--ema", "-o", tmp_path / "x.wav")
    refused(done, 1, "no checkpoint with averaged weights")


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (
            ["Supercalifragilisticexpialidocious " * 3],
            1,
            ["sentence-0001", "is too long: text", "largest bucket has 32"],
        ),
        (["--phones=hh ax xx ow"], 1, ["--phones: 'xx' is no phone of the corpus", "it has sil"]),
        (["..."], 1, ["text: it has no word to speak"]),
        ([], 2, ["give a text or --phones"]),
        (["Hello", "--phones=hh"], 2, ["give a text or --phones"]),
        (["Hello", "--speed=0"], 2, ["--speed=0.0 is not above 0"]),
        (["Hello", "--pitch=nan"], 2, ["finite"]),
    ],
)
def test_bad_input(voice, tmp_path, flags, code, words):
    out = tmp_path / "x.wav"
    refused(voice.synthesize(*flags, f"--weights={voice.weights}", "-o", out), code, *words)
    assert not out.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r.pop("pitch_shift"), "lacks 'pitch_shift'; give every input"),
        (lambda r: r.update(loudness=r["energy_shift"]), "gives 'loudness'; the model's infer program has no such"),
        (lambda r: r.update(pitch_shift=r["pitch_shift"][:-1]), "another input says that 'text' is 6"),
        (lambda r: r.update(phones=r["phones"][None]), r"gives 'phones' as \[1, 6\]: it has 1 dims"),
        (
            lambda r: r.update(phones=r["phones"].astype(np.float32)),
            "gives 'phones' with another dtype than I32; store it as I32",
        ),
        (lambda r: r.update({k: v[:0] for k, v in r.items()}), "it is empty"),
    ],
)
def test_bad_requests(voice, change, words):
    asked = voice.ask(6)
    change(asked)
    with pytest.raises(InferFailure, match=f"error: text: .*{words}") as failure:
        voice.infer({"a": asked})
    assert failure.value.code == 1


def test_other_features_are_refused(voice):
    with pytest.raises(InferFailure, match="other features than the model; use the corpus"):
        voice.infer({"a": voice.ask(4)}, features_hash="0123")


def test_a_model_without_infer_trains_and_does_not_speak(voice, silent, tmp_path):
    voice.call(silent, f"--data={voice.corpus}", "--steps=1", f"--log-dir={tmp_path}")
    with pytest.raises(InferFailure, match="--infer: the model was compiled without an infer program") as failure:
        infer(silent, voice.weights, {"a": voice.ask(4)})
    assert failure.value.code == 2


def test_the_arena_is_that_of_training(voice, silent):
    """Nothing but infer's own three inputs comes on top: the rest lies where training's buffers are."""
    arena = [json.loads(Path(f"{m}.plan.json").read_text())["arena_bytes"] for m in (silent, voice.model)]
    controls = 3 * 2 * 32 * 4  # three inputs of micro-batch 2 and 32 phones
    assert arena[0] <= arena[1] <= arena[0] + controls


def test_sentences():
    assert sentences_of("Hello Mr. Smith. How are you?  Fine!") == ["Hello Mr. Smith.", "How are you?", "Fine!"]
    assert phones.phones_of("Hello, you.") == ["sil", "hh", "ax", "l", "ow", "sil", "y", "uw", "sil"]
    assert list(ids_of(["sil", "hh"], ["<pad>", "hh", "sil"], "here")) == [2, 1]
