"""No speech may be in two splits: same audio, same text, nearly the same words, as in the real prompts."""

import hashlib
import json

import pytest

from tts.data import asterisk
from tts.data.duplicates import Item, groups, pairs, plain_words, split
from tts.data.leakage import leaks


@pytest.fixture(scope="module")
def prompts() -> list[Item]:
    found, _ = asterisk.find_prompts()
    return [Item(p.id, p.text, hashlib.sha256(p.audio.read_bytes()).hexdigest()) for p in found]


def test_kinds_of_pairs():
    items = [
        Item("a", "Press one.", "1"),
        Item("b", "something else", "1"),
        Item("c", "PRESS, one!", "2"),
        Item("d", "You may press star to return to the menu", "3"),
        Item("e", "You may press pound to return to the menu", "4"),
        Item("f", "You may leave", "5"),
        Item("g", "", ""),
        Item("h", "", ""),
    ]
    found = {(p.first, p.second): p.kind for p in pairs(items)}
    assert found == {("a", "b"): "same audio", ("a", "c"): "same text", ("d", "e"): "similar text"}
    assert groups(pairs(items)) == [["a", "b", "c"], ["d", "e"]]
    assert plain_words("I'd say: 2!") == ("id", "say", "2")


def test_real_near_duplicates_are_one_group(prompts):
    grouped = groups(pairs(prompts))
    home = {identity: index for index, group in enumerate(grouped) for identity in group}
    assert len({home[i] for i in ("conf-adminmenu", "conf-adminmenu-162", "conf-adminmenu-18")}) == 1
    assert home["digits.h-2"] == home["second"]  # same text
    assert "activated" not in home
    assert max(map(len, grouped)) < 20  # similarity does not chain everything together


def test_split_keeps_groups_whole_and_does_not_depend_on_order(prompts):
    ids, grouped = [p.id for p in prompts], groups(pairs(prompts))
    chosen = split(ids, grouped, 0.05)
    assert chosen == split(reversed(ids), grouped[::-1], 0.05)
    assert 0.8 * 0.05 * len(ids) < len(chosen) <= round(0.05 * len(ids))
    assert all(set(group) <= chosen or not set(group) & chosen for group in grouped)
    assert any(set(group) <= chosen for group in grouped)  # groups can land in validation too
    sides = {"train": [p for p in prompts if p.id not in chosen], "validation": [p for p in prompts if p.id in chosen]}
    assert leaks(sides) == []
    # Without the groups the same shuffle does leak: the check can fail on real data.
    naive = split(ids, [], 0.05)
    sides = {"train": [p for p in prompts if p.id not in naive], "validation": [p for p in prompts if p.id in naive]}
    assert leaks(sides)


def test_hand_made_leaking_split_fails_with_the_ids(tmp_path, tool):
    texts = asterisk.read_transcripts(asterisk.TRANSCRIPTS)
    (tmp_path / "one.wav").write_bytes(b"the same bytes")
    (tmp_path / "other.wav").write_bytes(b"the same bytes")

    def listed(*names):
        return [{"id": name, "text": texts[name]} for name in names]

    made = {
        "train": [
            *listed("conf-adminmenu", "activated"),
            {"id": "x", "text": "Hello there", "audio": "one.wav"},
            {"id": "t", "text": "Thank you, bye"},
        ],
        "validation": [
            *listed("conf-adminmenu-18", "added"),
            {"id": "y", "text": "unlike", "audio": "other.wav"},
            {"id": "u", "text": "thank you bye!"},
        ],
    }
    path = tmp_path / "split.json"
    path.write_text(json.dumps(made))
    done = tool("tts.data.leakage", path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and done.stderr.startswith(f"error: {path}: ")
    for told in (
        "similar text: conf-adminmenu (train) and conf-adminmenu-18 (validation)",
        "same audio: x (train) and y (validation)",
        "same text: t (train) and u (validation)",
    ):
        assert told in done.stderr
    assert "activated" not in done.stderr
    made["validation"] = listed("added")
    path.write_text(json.dumps(made))
    assert tool("tts.data.leakage", path).returncode == 0
    made["validation"] = listed("activated")
    path.write_text(json.dumps(made))
    assert "same id: activated" in tool("tts.data.leakage", path).stderr
    path.write_text("[]")
    assert tool("tts.data.leakage", path).returncode == 1
