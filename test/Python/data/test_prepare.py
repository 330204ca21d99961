"""Preparing a handful of real prompts end to end."""

from dataclasses import replace

import numpy as np
import pytest

from tts.audio.features import Features, log_mel
from tts.data import asterisk, corpus, shards
from tts.data.asterisk import Prompt
from tts.data.check import check
from tts.data.errors import InputError
from tts.data.phones import SYMBOLS
from tts.data.prepare import Options, choose, prepare
from tts.data.prosody import log_f0, phone_means
from tts.data.segments import Rejected

# Short, long enough to be cut, near-duplicates of each other, same text.
CHOSEN = ("activated", "added", "auth-incorrect", "agent-pass", "digits.h-2", "second", "dir-intro", "please-try-again",
          "goodbye", "hours", "vm-newuser", "confbridge-locked", "queue-thankyou", "spy-iax")  # fmt: skip
OPTIONS = Options(jobs=1, max_seconds=8.0, validation=0.25)


@pytest.fixture(scope="module")
def prompts() -> list[Prompt]:
    found, _ = asterisk.find_prompts()
    return [prompt for prompt in found if prompt.id in CHOSEN]


@pytest.fixture(scope="module")
def listed(prompts, tmp_path_factory) -> tuple[list[Prompt], list[dict]]:
    """The prompts, one without audio among them, and one refused before."""
    broken = tmp_path_factory.mktemp("sounds") / "noise.g722"
    broken.write_bytes(b"")
    beep = {"id": "beep", "reason": "no words in the transcript"}
    return [*prompts, Prompt("noise", "This one has no audio", broken)], [beep]


@pytest.fixture(scope="module")
def prepared(listed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared") / "corpus"
    return folder, prepare(folder, *listed, OPTIONS)


def read(folder, split) -> dict[str, np.ndarray]:
    tensors = {}
    for path in sorted(folder.glob(f"{split}-*")):
        tensors |= shards.read(path)[0]
    return tensors


def test_it_is_sound_and_complete(prepared, prompts):
    folder, manifest = prepared
    assert "sound" in check(folder)
    sources = {about["source"] for about in manifest["utterances"].values()}
    rejected = {entry["id"]: entry["reason"] for entry in manifest["rejected"]}
    assert sources == {p.id for p in prompts}  # nobody is lost
    assert rejected["beep"] == "no words in the transcript" and set(rejected) == {"beep", "noise"}
    assert "dir-intro.part1" in manifest["utterances"] and "dir-intro.part2" in manifest["utterances"]
    assert max(frames for rows in manifest["length_histogram"].values() for _, frames, _ in rows) <= 8 * 62.5 + 1


def test_duplicates_stay_together(prepared):
    _, manifest = prepared
    groups = [set(group) for group in manifest["duplicate_groups"]]
    assert {"digits.h-2", "second"} in groups and {"agent-pass", "auth-incorrect"} in groups
    assert {"dir-intro.part1", "dir-intro.part2"} in groups


def test_another_run_with_other_jobs_gives_the_same_bytes(prepared, listed, tmp_path):
    folder, _ = prepared
    prepare(tmp_path / "again", *listed, replace(OPTIONS, jobs=2))
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_features_are_those_of_the_recording(prepared, prompts, tmp_path):
    folder, manifest = prepared
    prompt = next(p for p in prompts if p.id == "activated")
    asterisk.decode([prompt], tmp_path, 16000, 1)
    wave = np.fromfile(tmp_path / "activated.raw", "<i2").astype(np.float32) / 32768
    split = next(s for s in corpus.SPLITS if f"{prompt.id}/mel" in read(folder, s))
    stored, stats = read(folder, split), manifest["statistics"]
    mel = stored["activated/mel"].astype(np.float64) * stats["mel_std"] + stats["mel_mean"]
    np.testing.assert_allclose(mel, log_mel(wave), atol=1e-5)
    spoken = [SYMBOLS[phone] for phone in stored["activated/phones"] if SYMBOLS[phone] != "sil"]
    assert spoken == ["ae", "k", "t", "ax", "v", "ey", "t", "ax", "d"]
    # A stop's closure is quiet, the stressed vowel is loud.
    energy = dict(zip((SYMBOLS[p] for p in stored["activated/phones"]), stored["activated/energy"]))
    assert energy["ey"] > energy["sil"] and energy["ey"] > energy["d"]


def test_hand_made_split_that_leaks_is_refused(prompts, tmp_path):
    said = [p for p in prompts if p.id in ("second", "digits.h-2", "added")]
    ids = tmp_path / "ids"
    options = replace(OPTIONS, validation_ids=ids)
    ids.write_text("second\nadded\n")
    with pytest.raises(InputError, match=r"same text: digits\.h-2 \(train\) and second \(validation\)"):
        prepare(tmp_path / "c", said, [], options)
    ids.write_text("nobody\n")
    with pytest.raises(InputError, match="unknown utterances nobody"):
        prepare(tmp_path / "c", said, [], options)
    assert not (tmp_path / "c").exists()
    ids.write_text("second\ndigits.h-2\n")
    manifest = prepare(tmp_path / "c", said, [], options)
    assert manifest["splits"]["validation"]["utterances"] == 2


def test_a_test_split_is_taken_from_what_was_trained_on(prepared, listed, tmp_path):
    """Validation stays as it was, groups stay together, and the checker knows all three."""
    _, without = prepared
    manifest = prepare(tmp_path / "c", *listed, replace(OPTIONS, test=0.2))
    homes = {s: {k.split("/")[0] for k in read(tmp_path / "c", s)} for s in ("train", "validation", "test")}
    assert homes["validation"] == {k.split("/")[0] for k in read(prepared[0], "validation")}
    total = sum(split["utterances"] for split in without["splits"].values())
    assert 0 < len(homes["test"]) <= 0.2 * total + 1 and sum(map(len, homes.values())) == total
    assert "test" not in without["splits"] and manifest["splits"]["test"]["utterances"] == len(homes["test"])
    for group in manifest["duplicate_groups"]:
        assert sum(bool(home & set(group)) for home in homes.values()) == 1, group
    assert f"test {len(homes['test'])} utterances" in check(tmp_path / "c")


@pytest.mark.parametrize(
    ("validation", "test", "expected"),
    [
        ("added", "second", r"same text: digits\.h-2 \(train\) and second \(test\)"),
        ("second", "digits.h-2", r"same text: digits\.h-2 \(test\) and second \(validation\)"),
        ("added", "added", r"same id: added \(validation\) and added \(test\)"),
        ("added", "nobody", "unknown utterances nobody"),
    ],
)
def test_a_test_split_that_leaks_is_refused(prompts, tmp_path, validation, test, expected):
    said = [p for p in prompts if p.id in ("second", "digits.h-2", "added", "goodbye")]
    files = [tmp_path / "validation", tmp_path / "test"]
    files[0].write_text(validation)
    files[1].write_text(test)
    options = replace(OPTIONS, validation_ids=files[0], test_ids=files[1])
    with pytest.raises(InputError, match=expected):
        prepare(tmp_path / "c", said, [], options)
    assert not (tmp_path / "c").exists()


def test_a_limited_choice_is_fixed_and_grows(prompts):
    chosen = [choose(prompts, limit) for limit in (3, 6, None)]
    assert [len(c) for c in chosen] == [3, 6, len(prompts)]
    assert chosen[0] == [p for p in prompts if p in chosen[0]] and set(chosen[0]) < set(chosen[1])


def test_pitch_is_interpolated_over_unvoiced_frames():
    features, time = Features(), np.arange(16000) / 16000
    wave = 0.3 * np.sign(np.sin(2 * np.pi * np.where(time < 0.5, 150, 300) * time))
    wave[6000:10000] = 0
    pitch = np.exp(log_f0(wave, 63, features))
    assert np.median(pitch[4:20]) == pytest.approx(150, rel=0.03)
    assert np.median(pitch[44:58]) == pytest.approx(300, rel=0.03)
    middle = pitch[27:36]
    assert np.all(np.diff(middle) > 0) and middle[0] > 140 and middle[-1] < 310
    with pytest.raises(Rejected, match="no voiced frame"):
        log_f0(np.zeros(16000), 63, features)


def test_means_over_phones():
    assert phone_means(np.array([1.0, 3.0, 5.0, 8.0, 0.0]), [2, 1, 2]).tolist() == [2.0, 5.0, 4.0]


def test_transcripts_lose_their_asides():
    texts = asterisk.read_transcripts(asterisk.TRANSCRIPTS)
    assert texts["letters/at"] == "at" and texts["spy-iax2"] == "IAX" and texts["confbridge-join"] == ""
    _, rejected = asterisk.find_prompts()
    assert {"id": "silence.1", "reason": "no words in the transcript"} in rejected


def test_names_are_spoken_as_the_speaker_does(tmp_path):
    assert Prompt("x", "an IAX or IP line", tmp_path).spoken == "an I A X or I P line"
    assert Prompt("x", "SKIP this", tmp_path).spoken == "SKIP this"


def test_missing_prompts_name_their_package(tmp_path):
    with pytest.raises(InputError, match="install the Debian package asterisk-core-sounds-en-g722"):
        asterisk.find_prompts(sounds=tmp_path / "none")
