"""The planner's choices on the page and as a picture: the front, its stairs, the budget, the table."""

import json
import sys

import matplotlib.image
import pytest
from small_run import MIB, considered, plan
from test_page import Page

from tts.data.errors import InputError
from tts.report.page import choices
from tts.report.page.plan import _buckets, _facts
from tts.report.plots import main


def page(changed: dict | None = None) -> Page:
    return Page(f"<div>{choices.html(plan() | (changed or {}))}</div>")


def test_the_front_leaves_out_what_another_beats():
    ordered = sorted(considered(), key=lambda c: c["peak_bytes"])
    assert [c["peak_bytes"] // MIB for c in choices.front(ordered)] == [30, 40, 80]


def test_stairs_fall_at_the_peaks_of_the_front():
    x, y = choices.scales(plan(), sorted(considered(), key=lambda c: c["peak_bytes"]))
    (path,) = page().paths("front")[0][:1]
    numbers = [float(n) for n in path["d"].replace("M", " ").replace("H", " ").replace("V", " ").split()]
    # x0 y0, then H x V y for each further one, then to the right edge.
    peaks = [numbers[0], *numbers[2:-1:2], numbers[-1]]
    seconds = [numbers[1], *numbers[3::2]]
    assert peaks == pytest.approx([1000 * x(v * MIB) for v in (30, 40, 80)] + [1000], abs=0.06)
    assert seconds == pytest.approx([1000 * (1 - y(v)) for v in (3.0, 2.1, 2.0)], abs=0.06)


def test_every_choice_is_a_mark_and_a_row():
    found = page()
    marks = [e["class"] for e in found.all("u")]
    assert sorted(marks) == ["dot s-level", "dot s-train", "dot s-train", "mark s-validation"]
    rows = [e["text"] for e in found.all("tr")]
    assert len(rows) == 5
    assert "about 80 MiB" in rows[1] and "chosen" not in rows[1]
    assert "40 MiB" in rows[3] and rows[3].endswith("chosen")
    assert "25.0 % more work" in rows[4]


def test_where_parameters_are_updated_is_told():
    told = [choice | {"update_in_backward": choice["peak_bytes"] == 40 * MIB} for choice in considered()]
    rows = [e["text"] for e in page({"considered": told}).all("tr")]
    assert ["updated in backward" in row for row in rows] == [False, False, False, True, False]
    fact = ("Parameters updated", "in backward, unguarded")
    assert fact in _facts({"update_in_backward": True}) and fact not in _facts({"update_in_backward": False})


def test_what_is_kept_in_half_is_told():
    told = [choice | {"values_in_half": 7 * (choice["peak_bytes"] == 40 * MIB)} for choice in considered()]
    rows = [e["text"] for e in page({"considered": told}).all("tr")]
    assert ["7 activations in half" in row for row in rows] == [False, False, False, True, False]
    bucket = {"dims": {"frames": 64}, "half_storage": {"type": "bf16", "values": ["a", "b"]}}
    assert "none, 2 activations in half" in _buckets({"buckets": [bucket]}, {})
    assert "in half" not in _buckets({"buckets": [bucket | {"half_storage": {"type": "none", "values": []}}]}, {})


def test_a_budget_far_away_is_not_drawn():
    assert len(page().paths("front")[0]) == 2
    assert len(page({"budget_bytes": 4096 * MIB}).paths("front")[0]) == 1
    assert "budget 4 GiB" not in page({"budget_bytes": 4096 * MIB}).one("figcaption")["text"]
    assert "budget 64 MiB" in page().one("figcaption")["text"]


def test_a_plan_without_choices_shows_nothing():
    assert choices.html({}) == ""


@pytest.mark.parametrize("picture", ["front", "timeline"])
def test_pictures_are_drawn(picture, tmp_path, monkeypatch):
    certificate, out = tmp_path / "train.plan.json", tmp_path / f"{picture}.png"
    certificate.write_text(json.dumps(plan()))
    monkeypatch.setattr(sys, "argv", ["plots", picture, f"--plan={certificate}", f"--output={out}"])
    assert main() == 0
    image = matplotlib.image.imread(out)
    assert image.shape[0] > 400 and len({tuple(pixel) for row in image[::16, ::16] for pixel in row}) > 4

    rest = {key: value for key, value in plan().items() if key not in ("considered", "buffers")}
    certificate.write_text(json.dumps(rest))
    with pytest.raises(InputError):
        main()
