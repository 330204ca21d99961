"""Word error rate by hand-made examples, and what the recogniser hears of a real prompt."""

import pytest

from tts.data import asterisk
from tts.data.errors import InputError
from tts.evaluate import measures, words


@pytest.mark.parametrize(
    "said, heard, count",
    [
        ("please hold", "please hold", 0),
        ("please hold", "please do hold", 1),  # insertion
        ("please hold the line", "please hold line", 1),  # deletion
        ("please hold", "please old", 1),  # substitution
        ("please hold", "", 2),
        ("yes", "no no no", 3),  # more errors than words
    ],
)
def test_errors_are_counted(said, heard, count):
    assert words.errors(said.split(), heard.split()) == (count, len(said.split()))


def test_rate_is_over_all_words_of_all_utterances():
    """1 error of 1 word and none of 9: 10 %, not the mean 50 %."""
    (rate,) = measures.summarise({"a": {"wer.recording": (1, 1)}, "b": {"wer.recording": (0, 9)}})
    assert rate["value"] == pytest.approx(10) and rate["count"] == 10


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Thank you. Please hold!", "thank you please hold"),
        ("Don't 'shout', I'd say.", "don't shout i'd say"),
        ("Press 1, or 20", "press one or two zero"),
        ("w. w. w. dot", "w w w dot"),
        ("hold-the-line", "hold the line"),
        ("...", ""),
    ],
)
def test_text_becomes_plain_words(text, expected):
    assert " ".join(words.normalised(text)) == expected


def test_lines_of_the_recogniser():
    assert words.parse_heard("to(2) be or(3) not (an.id.recording -23845)") == ("an.id.recording", "to be or not")
    assert words.parse_heard(" (id -1)") == ("id", "")


def test_a_prompt_is_understood(tmp_path):
    prompts = [prompt for prompt in asterisk.find_prompts()[0] if prompt.id == "agent-loginok"]
    asterisk.decode(prompts, tmp_path, 16000, 1)
    (tmp_path / "silence.raw").write_bytes(bytes(16000))
    heard = words.recognise(["agent-loginok", "silence"], tmp_path, 2)
    assert heard["silence"] == ""
    assert "log" in heard["agent-loginok"] and heard["agent-loginok"].endswith("in")  # "Agent logged in."


def test_a_missing_model_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(words, "MODEL", tmp_path / "en-us")
    with pytest.raises(InputError, match="pocketsphinx-en-us"):
        words.recognise([], tmp_path, 1)
