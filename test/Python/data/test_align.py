"""Phones by flite and alignment by pocketsphinx, against boundaries that are known because flite spoke them."""

import itertools
import re
import subprocess

import numpy as np
import pytest

from tts.data import align
from tts.data.align import grammar, parse_segmentation
from tts.data.errors import InputError
from tts.data.phones import SILENCE, SYMBOL_ID, SYMBOLS, words_of

TEXTS = {
    "one": "Please enter your agent number, followed by the pound key.",
    "two": "The conference is now locked. You may return to the main menu at any time.",
}


def test_words_keep_their_phones_together():
    assert words_of("The apple, a number") == [
        ["dh", "iy"],  # before a vowel
        ["ae", "p", "ax", "l"],
        ["ax"],
        ["n", "ah", "m", "b", "er"],
    ]
    assert words_of("a") == [["ey"]]  # the letter
    assert words_of("press 12")[1:] == [["t", "w", "eh", "l", "v"]]
    assert words_of("...") == []


def test_symbols():
    assert SYMBOLS[0] == "<pad>" and SYMBOL_ID[SILENCE] == 1 and len(set(SYMBOLS)) == len(SYMBOLS)
    spoken = {phone for text in TEXTS.values() for word in words_of(text) for phone in word}
    assert spoken <= set(SYMBOLS)


def test_grammar_has_silences_around_words_only():
    lines = grammar("x", [["hh", "ay"], ["dh"]]).splitlines()
    assert lines[:4] == ["FSG_BEGIN x", "NUM_STATES 7", "START_STATE 0", "FINAL_STATE 6"]
    arcs = [line.split()[1:] for line in lines[4:-1]]
    assert [arc[3] for arc in arcs if len(arc) == 4] == ["<sil>", "hh", "ay", "<sil>", "dh", "<sil>"]
    # Each silence can be skipped: an arc without a word beside it.
    assert [(a[0], a[1]) for a in arcs if len(a) == 3] == [(a[0], a[1]) for a in arcs if a[-1] == "<sil>"]


def test_parse_segmentation():
    line = "a-b S 0 T -8 A -6 L -8 0 -18 -44 <sil> 5 -1 0 ae 20 0 -44 (NULL) 20 -5 0 k 25"
    identity, segments = parse_segmentation(line)
    assert identity == "a-b"
    assert [s.phone for s in segments] == [SILENCE, "ae", "k"]
    times = [(round(s.begin, 4), round(s.end, 4)) for s in segments]
    assert times == [(0.0, 0.0578), (0.0578, 0.2078), (0.2078, 0.2578)]


def speak(text: str, path) -> list[tuple[str, float]]:
    """flite's speech at 16 kHz, and where each of its phones ends."""
    wave = path.with_suffix(".wav")
    command = ["flite", "-voice", "slt", "-psdur", "-t", text, "-o", str(wave)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    convert = ["ffmpeg", "-v", "error", "-y", "-i", str(wave), "-f", "s16le", "-ar", "16000", str(path)]
    subprocess.run(convert, check=True)
    return [(phone, float(end)) for phone, end in re.findall(r"([a-z]+):([0-9.]+)", out)]


def test_alignment_finds_known_boundaries(tmp_path):
    words, known = {}, {}
    for name, text in TEXTS.items():
        known[name] = speak(text, tmp_path / f"{name}.raw")
        words[name] = words_of(text)
    aligned = align.align(words, tmp_path, jobs=2)
    errors = []
    for name, segments in aligned.items():
        ends = [end for phone, end in known[name] if phone != "pau"]
        spoken = [s for s in segments if s.phone != SILENCE]
        assert len(spoken) == len(ends)
        errors += [abs(s.end - end) for s, end in zip(spoken, ends)]
        assert all(a.end == b.begin for a, b in itertools.pairwise(segments))
        assert any(s.phone == SILENCE and 0.5 < s.begin for s in segments[:-1])  # the pause at the comma or stop
    assert set(aligned) == set(TEXTS)
    assert np.median(errors) < 0.015


def test_what_does_not_align_is_left_out(tmp_path):
    np.zeros(3200, "<i2").tofile(tmp_path / "short.raw")  # 0.2 s cannot hold this sentence
    assert align.align({"short": words_of(TEXTS["two"])}, tmp_path, jobs=1) == {}


def test_missing_model_names_its_package(tmp_path, monkeypatch):
    monkeypatch.setattr(align, "MODEL", tmp_path / "none")
    with pytest.raises(InputError, match="install the Debian package pocketsphinx-en-us"):
        align.align({}, tmp_path, jobs=1)
