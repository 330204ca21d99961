"""Recordings come from the source package only as the corpus saw them, whole or in part."""

import hashlib

import numpy as np
import pytest

from tts.data import asterisk
from tts.evaluate import recordings


def hashed(wave: np.ndarray) -> str:
    return hashlib.sha256(wave.tobytes()).hexdigest()


@pytest.fixture(scope="module")
def goodbye(tmp_path_factory) -> np.ndarray:
    folder = tmp_path_factory.mktemp("decoded")
    prompts = [prompt for prompt in asterisk.find_prompts()[0] if prompt.id == "vm-goodbye"]
    asterisk.decode(prompts, folder, 16000, 1)
    return np.fromfile(folder / "vm-goodbye.raw", "<i2").astype(np.float32) / 32768


def manifest(**utterances) -> dict:
    about = {name: {"text": "Goodbye.", "source": "vm-goodbye"} | more for name, more in utterances.items()}
    return {"source": {"name": recordings.SOURCE}, "features": {"sample_rate": 16000}, "utterances": about}


def test_wholes_and_parts_are_cut_and_others_named(goodbye):
    told = manifest(
        whole={"audio_sha256": hashed(goodbye)},
        part={"audio_sha256": hashed(goodbye[1000:3000]), "samples": [1000, 3000]},
        changed={"audio_sha256": hashed(goodbye[1:])},
        gone={"audio_sha256": hashed(goodbye), "source": "no-such-prompt"},
    )
    found, missing = recordings.find(told, ["whole", "part", "changed", "gone", "unknown"], 1)
    assert sorted(found) == ["part", "whole"]
    np.testing.assert_array_equal(found["whole"], goodbye)
    np.testing.assert_array_equal(found["part"], goodbye[1000:3000])
    assert missing.endswith("changed, gone, unknown")


def test_another_source_has_none():
    found, missing = recordings.find({"source": {"name": "synthetic"}}, ["a"], 1)
    assert found == {} and "source" in missing


def test_a_part_has_no_transcript_of_its_own():
    told = manifest(**{"vm-goodbye": {}, "vm-goodbye.part1": {}, "silent": {"text": "", "source": "silent"}})
    told["utterances"]["spelt"] = {"text": "IAX call", "source": "spelt"}
    found = recordings.transcripts(told, ["vm-goodbye", "vm-goodbye.part1", "silent", "spelt", "unknown"])
    assert found == {"vm-goodbye": "Goodbye.", "spelt": "I A X call"}
