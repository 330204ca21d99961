"""The pictures: what they read from a run's files, and that something is drawn."""

import json
import sys

import matplotlib.image
import numpy as np
import pytest

from tts.data.errors import InputError
from tts.report.certificate import Certificate
from tts.report.metrics import read_metrics, series, smooth, terms
from tts.report.plots import main

LINES = [
    {"step": 1, "loss": 4.0, "losses": {"mel": 3.0, "pitch": 1.0}, "lr": 0.1, "grad_norm": 2.0},
    {
        "step": 2,
        "loss": 3.0,
        "losses": {"mel": 2.0, "pitch": 1.0},
        "lr": 0.2,
        "grad_norm": float("nan"),
        "skipped": True,
    },
    {"step": 2, "val_loss": 3.5, "val_losses": {"mel": 2.5}},
    {"step": 1, "loss": 5.0, "losses": {"mel": 4.0}, "lr": 0.1},
    {"final": True, "planned_peak_bytes": 5},
]

PLAN = {
    "budget_bytes": 200 << 20,
    "peak_bytes": 190 << 20,
    "arena_bytes": 150 << 20,
    "eager_bytes": 500 << 20,
    "classes": {"parameters": 50 << 20, "activations": 100 << 20, "unused": 0, "overhead": 40 << 20},
    "buffers": [
        {"name": "w", "class": "parameters", "program": "persistent", "offset": 0, "size": 50 << 20},
        {"name": "h", "class": "activations", "program": "forward[0]", "offset": 50 << 20, "size": 60 << 20, "begin": 2, "end": 9},
        {"name": "g", "class": "activations", "program": "backward[0]", "offset": 110 << 20, "size": 40 << 20, "begin": 6, "end": 7},
    ],
}  # fmt: skip


def write_lines(path, lines) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def draw(monkeypatch, *arguments) -> int:
    monkeypatch.setattr(sys, "argv", ["plots", *map(str, arguments)])
    return main()


def colours(path) -> int:
    image = (matplotlib.image.imread(path)[..., :3] * 31).astype(int)
    return len(np.unique(image @ [1024, 32, 1]))


def test_series_take_the_last_word_on_a_step(tmp_path):
    path = tmp_path / "metrics.jsonl"
    write_lines(path, LINES)
    with path.open("a") as file:
        file.write('{"step": 3, "lo')  # the run was killed
    entries = read_metrics(path)
    assert [a.tolist() for a in series(entries, "loss")] == [[1, 2], [5, 3]]
    assert [a.tolist() for a in series(entries, "losses", "mel")] == [[1, 2], [4, 2]]
    assert [a.tolist() for a in series(entries, "val_loss")] == [[2], [3.5]]
    assert series(entries, "grad_norm")[1].tolist() == [2]  # nan is no point
    assert terms(entries, "losses") == ["mel", "pitch"]


def test_smoothing_keeps_lines_and_ends():
    line = 3 + 0.5 * np.arange(1000)
    np.testing.assert_allclose(smooth(line), line)
    noise = np.random.default_rng(0).normal(size=1000)
    assert smooth(noise).std() < 0.4 and smooth(noise)[0] == noise[0]


def test_boxes_span_lifetimes_or_programs(tmp_path):
    def boxes(plan):
        (tmp_path / "plan.json").write_text(json.dumps({"classes": PLAN["classes"]} | plan))
        certificate = Certificate.read(tmp_path / "plan.json")
        return *certificate.boxes(), certificate.timed

    found, spans, timed = boxes(PLAN)
    assert timed and spans == [("forward[0]", 2, 6), ("backward[0]", 6, 10)]
    assert [(b.kind, b.begin, b.end) for b in found] == [
        ("parameters", 2, 10),
        ("activations", 2, 10),
        ("activations", 6, 8),
    ]
    programs = [
        {"program": "backward[0]", "begin": 6, "entries": 6},
        {"program": "zero", "begin": 0, "entries": 1},
        {"program": "forward[0]", "begin": 1, "entries": 5},
    ]
    found, spans, timed = boxes(PLAN | {"programs": programs})
    assert spans == [("zero", 0, 1), ("forward[0]", 1, 6), ("backward[0]", 6, 12)]
    assert (found[0].begin, found[0].end) == (0, 12)
    plain = {"buffers": [{k: v for k, v in b.items() if k not in ("begin", "end")} for b in PLAN["buffers"]]}
    found, spans, timed = boxes(plain)
    assert not timed and [(b.begin, b.end) for b in found] == [(0, 2), (0, 1), (1, 2)]
    assert boxes({}) == ([], [], False)


def test_pictures_are_drawn(tmp_path, monkeypatch):
    write_lines(tmp_path / "metrics.jsonl", LINES)
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    (tmp_path / "bare.json").write_text(json.dumps({"classes": PLAN["classes"]}))
    assert draw(monkeypatch, "loss", "--metrics", tmp_path / "metrics.jsonl", "-o", tmp_path / "loss.png") == 0
    assert draw(monkeypatch, "memory", "--plan", tmp_path / "plan.json", "-o", tmp_path / "memory.png") == 0
    assert draw(monkeypatch, "memory", "--plan", tmp_path / "bare.json", "-o", tmp_path / "bare.png") == 0
    assert all(colours(tmp_path / name) > 20 for name in ("loss.png", "memory.png", "bare.png"))
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_bad_files_are_named(tmp_path, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\nnonsense\n{"step": 2}\n')
    with pytest.raises(InputError, match=r"error: .*metrics.jsonl:2: not a metrics line"):
        draw(monkeypatch, "loss", "--metrics", path, "-o", tmp_path / "x.png")
    path.write_text('{"step": 1}\n')
    with pytest.raises(InputError, match="no line has a step and a loss"):
        draw(monkeypatch, "loss", "--metrics", path, "-o", tmp_path / "x.png")
    with pytest.raises(InputError, match="unknown kind of picture"):
        draw(monkeypatch, "loss", "--metrics", path, "-o", tmp_path / "x.bmp")
    path.write_text('{"classes": {}}')
    with pytest.raises(InputError, match="not a plan"):
        draw(monkeypatch, "memory", "--plan", path, "-o", tmp_path / "x.png")
    path.write_text('{"classes": {"parameters": 8}, "buffers": [{"class": "batch", "program": "update"}]}')
    with pytest.raises(InputError, match="a buffer is not whole"):
        draw(monkeypatch, "memory", "--plan", path, "-o", tmp_path / "x.png")
    assert [p.name for p in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_tool_says_one_line_about_a_missing_file(tmp_path, tool):
    done = tool("tts.report.plots", "loss", "--metrics", tmp_path / "none", "-o", "x.png")
    assert (
        done.returncode == 1
        and done.stderr.startswith(f"error: {tmp_path / 'none'}: ")
        and done.stderr.count("\n") == 1
    )
