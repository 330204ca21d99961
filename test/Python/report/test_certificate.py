"""Live bytes and the tensors of a moment, as docs/certificate.md defines them."""

import json

import numpy as np
import pytest
from small_run import MIB, plan

from tts.data.errors import InputError
from tts.report.certificate import Certificate, Span
from tts.report.page.views import kind_and_bucket, views


@pytest.fixture
def certificate(run_folder):
    return Certificate.read(run_folder / "train.plan.json")


def test_live_bytes_sum_to_the_lower_bound_at_the_peak(certificate):
    live = certificate.live()
    total = sum(live.values())
    assert len(total) == 29 and total.min() == 17 * MIB
    assert int(np.argmax(total)) == 9 and total[9] == certificate.plan["lower_bound_bytes"]
    at_peak = {kind: int(values[9]) for kind, values in live.items()}
    assert at_peak == {kind: certificate.plan["classes"][kind] for kind in at_peak}
    # a.linear of the second bucket is born at 14, its gradient dies after 20.
    assert [int(total[p]) // MIB for p in (13, 14, 18, 19, 20, 21)] == [17, 20, 22, 22, 19, 17]


def test_tensors_of_a_moment(certificate):
    assert [(b.name, b.size // MIB) for b in certificate.tensors_at(9)] == [
        ("a.linear", 6),
        ("a.linear.grad", 5),
        ("grad:w", 4),
        ("moment1:w", 4),
        ("moment2:w", 4),
        ("w", 4),
        ("scratch", 2),
        ("mel", 1),
    ]
    assert [b.name for b in certificate.tensors_at(22) if not b.persistent] == []


def test_classes_stand_in_the_order_of_stacks(certificate):
    assert (
        list(certificate.classes)
        == "parameters gradients optimizer activations batch workspace unused overhead".split()
    )
    assert sum(certificate.classes.values()) == certificate.peak


def test_a_program_has_a_bucket_and_perhaps_a_slot():
    programs = ["update", "forward[3]", "backward[12].1"]
    assert [kind_and_bucket(p) for p in programs] == [("update", None), ("forward", 3), ("backward.1", 12)]


def test_a_view_is_one_step_of_a_bucket(certificate):
    total = sum(certificate.live().values())
    first, second = views(certificate, total)
    assert [s.program for s in second.spans] == "zero denominators[1] forward[1] backward[1] update eval[1]".split()
    assert (second.entries, second.top, second.top_position) == (17, 22 * MIB, 18)
    assert (first.top, first.top_position, first.top_entry) == (30 * MIB, 9, 9)
    assert second.positions.tolist() == [0, 1, *range(12, 25), 27, 28]


def test_columns_are_even_and_keep_the_peak():
    content = plan()
    content["programs"] = [{"program": "forward[0]", "begin": 0, "entries": 5000}]
    content["buffers"] = [
        {"name": "x", "class": "activations", "program": "forward[0]", "offset": 0, "size": 8, "begin": 0, "end": 4999},
        {
            "name": "y",
            "class": "workspace",
            "program": "forward[0]",
            "offset": 64,
            "size": 8,
            "begin": 3333,
            "end": 3333,
        },
    ]
    spans = [Span("forward[0]", 0, 5000)]
    total = np.full(5000, 8)
    total[3333] = 16
    (view,) = views(Certificate(None, content, spans=spans), total)
    assert 3333 in view.positions and len(view.positions) <= 640
    assert np.abs(view.positions / 5000 - np.arange(len(view.positions)) / len(view.positions)).max() < 0.002


@pytest.mark.parametrize(
    "content, wrong",
    [
        ("{", "not a plan"),
        ('{"classes": {}}', "not a plan"),
        ('{"classes": {"batch": 1}, "buffers": [{"program": "update"}]}', "a buffer is not whole"),
        ('{"classes": {"batch": 1}, "buffers": [1]}', "a buffer is not whole"),
    ],
)
def test_bad_plans_are_named(tmp_path, content, wrong):
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(InputError, match=wrong):
        Certificate.read(tmp_path / "p.json")


def test_lifetimes_may_be_missing(tmp_path):
    content = plan()
    for b in content["buffers"]:
        b.pop("begin", None)
    (tmp_path / "p.json").write_text(json.dumps(content))
    certificate = Certificate.read(tmp_path / "p.json")
    assert not certificate.timed and len(certificate.buffers) == 10
