"""The memory timeline: live bytes by class at every entry of one step, stacked, one view per length bucket."""

import itertools
import re
from dataclasses import dataclass

import numpy as np

from tts.report.certificate import Certificate, Span
from tts.report.look import bytes_text, unit_for
from tts.report.page.lines import grid
from tts.report.page.markup import Markup, join, tag
from tts.report.page.scales import Scale, number

_COLUMNS = 640
#: Height of the picture in its own units: fine enough to zoom into its upper part.
_HEIGHT = 4000
_BUCKET = re.compile(r"^(.*)\[(\d+)\]$")


@dataclass
class View:
    """One step of a bucket: its programs one after the other, drawn in columns of one or more entries."""

    bucket: int
    spans: list[Span]
    #: The position that each column shows: that of its most live bytes.
    positions: np.ndarray
    #: Where the step's most live bytes are, and how many.
    top_position: int
    top: int
    #: Entries of the step, and where the top is among them.
    entries: int
    top_entry: int


def kind_and_bucket(program: str) -> tuple[str, int | None]:
    match = _BUCKET.match(program)
    return (match[1], int(match[2])) if match else (program, None)


def views(certificate: Certificate, total: np.ndarray) -> list[View]:
    """A view for each bucket that has programs; a model without buckets has one."""
    buckets = sorted({b for s in certificate.spans if (b := kind_and_bucket(s.program)[1]) is not None})
    found = []
    for bucket in buckets or [0]:
        spans = [s for s in certificate.spans if kind_and_bucket(s.program)[1] in (None, bucket)]
        positions = np.concatenate([np.arange(s.begin, s.end) for s in spans])
        count = min(len(positions), _COLUMNS)
        # Even columns: a split into equal parts first would make the early ones wider.
        edges = np.linspace(0, len(positions), count + 1).round().astype(int)
        parts = [positions[a:b] for a, b in itertools.pairwise(edges)]
        shown = np.array([part[np.argmax(total[part])] for part in parts])
        index = int(np.argmax(total[positions]))
        top = int(positions[index])
        found.append(View(bucket, spans, shown, top, int(total[top]), len(positions), index))
    return found


def html(certificate: Certificate, live: dict[str, np.ndarray], found: list[View]) -> Markup:
    total = sum(live.values())
    peak = int(np.argmax(total))
    passing = {b.kind for b in certificate.buffers if not b.persistent}
    live = dict(sorted(live.items(), key=lambda item: item[0] in passing))  # what stays lies at the bottom
    stays = sum(b.size for b in certificate.buffers if b.persistent)
    chosen = max(found, key=lambda v: v.top).bucket
    limit = 1.06 * float(total[peak])
    figures = [_view(view, live, stays, limit, view.bucket == chosen, peak) for view in found]
    return tag(
        "div",
        _choice(certificate, found, chosen) if len(found) > 1 else "",
        _zoom(stays, limit),
        _legend(live),
        figures,
        id="timeline",
        data_stays=stays,
        cls="timeline",
    )


def _choice(certificate: Certificate, found: list[View], chosen: int) -> Markup:
    buckets = certificate.plan.get("buckets") or []
    buttons = []
    for view in found:
        dims = buckets[view.bucket]["dims"] if view.bucket < len(buckets) else {}
        buttons.append(
            tag(
                "button",
                tag("b", f"bucket {view.bucket}"),
                tag("small", " · ".join(f"{number(v)} {k}" for k, v in dims.items())),
                tag("small", bytes_text(view.top)),
                type="button",
                data_bucket=view.bucket,
                aria_pressed="true" if view.bucket == chosen else "false",
            )
        )
    return tag("div", buttons, cls="choice", role="group", aria_label="length bucket")


def _zoom(stays: int, limit: float) -> Markup | str:
    if not 0 < stays < limit:
        return ""
    buttons = [
        tag("button", "All classes", type="button", data_zoom="all", aria_pressed="true"),
        tag("button", "Only what comes and goes", type="button", data_zoom="part", aria_pressed="false"),
    ]
    return tag("div", buttons, cls="segmented", role="group", aria_label="part of the memory")


def _legend(live: dict[str, np.ndarray]) -> Markup:
    keys = [
        tag("span", tag("i", cls=f"key c-{kind}"), kind.replace("_", " "))
        for kind in reversed(live)
        if live[kind].max()
    ]
    return tag("div", keys, cls="legend")


def _view(view: View, live: dict[str, np.ndarray], stays: int, limit: float, shown: bool, peak: int) -> Markup:
    count = len(view.positions)
    height = round(_HEIGHT * (1 - stays / limit))
    picture = tag(
        "svg",
        _areas(view, live, limit),
        _borders(view, count),
        viewBox=f"0 0 {count} {_HEIGHT}",
        preserveAspectRatio="none",
        aria_hidden="true",
        data_all=f"0 0 {count} {_HEIGHT}",
        data_part=f"0 0 {count} {height}",
    )
    whole, part = Scale(0, limit), Scale(0, limit - stays)
    is_peak = view.top == sum(values[peak] for values in live.values())
    label = f"{'peak' if is_peak else 'highest'} {bytes_text(view.top)}"
    left = 100 * (view.top_entry + 0.5) / view.entries
    mark = tag(
        "div",
        tag("span", label, cls="left" if left > 60 else None),
        cls="peak",
        style=f"left:{left:.2f}%;--all:{100 * whole(view.top):.2f}%;--part:{100 * part(view.top - stays):.2f}%",
    )
    summary = (
        f"Live bytes by class over the {view.entries} entries of a step of bucket {view.bucket}; "
        f"the most, {bytes_text(view.top)}, in {program_at(view.spans, view.top_position)}"
    )
    return tag(
        "figure",
        tag(
            "div",
            tag("div", _bytes_grid(whole), cls="for-all"),
            tag("div", _bytes_grid(part), cls="for-part"),
            tag("div", picture, mark, cls="area", tabindex="0", role="img", aria_label=summary),
            _programs(view),
            cls="plot tall",
        ),
        cls="chart memory",
        data_bucket=view.bucket,
        hidden=not shown,
    )


def _bytes_grid(scale: Scale) -> Markup:
    unit, size = unit_for(scale.high)
    in_unit = Scale(scale.low / size, scale.high / size)
    ticks = in_unit.ticks(4)
    return grid(ticks, in_unit, names=[f"{number(t)} {unit}" if t == ticks[-1] else number(t) for t in ticks])


def program_at(spans: list[Span], position: int) -> str:
    for span in spans:
        if span.begin <= position < span.end:
            return f"{span.program}, entry {position - span.begin + 1} of {span.end - span.begin}"
    return f"position {position}"


def _areas(view: View, live: dict[str, np.ndarray], limit: float) -> list[Markup]:
    """Each class down to the ground, the uppermost first: the next ones cover what is not its own."""
    below = np.zeros(len(view.positions))
    paths = []
    for kind, values in live.items():
        own = values[view.positions]
        below = below + own
        if own.any():
            paths.append(tag("path", d=_staircase(below / limit), cls=f"c-{kind}"))
    return paths[::-1]


def _staircase(fractions: np.ndarray) -> str:
    heights = np.round(_HEIGHT * (1 - fractions)).astype(int)
    changes = np.flatnonzero(np.diff(heights)) + 1
    steps = "".join(f"H{at}V{heights[at]}" for at in changes.tolist())
    return f"M0 {heights[0]}{steps}H{len(heights)}V{_HEIGHT}H0Z"


def _borders(view: View, count: int) -> Markup:
    entry, found = 0, []
    for span in view.spans[:-1]:
        entry += span.end - span.begin
        found.append(f"M{count * entry / view.entries:.1f} 0V{_HEIGHT}")
    return tag("path", d="".join(found) or "M0 0", cls="border")


def _programs(view: View) -> Markup:
    """The programs' names under the parts that are wide enough to carry one."""
    entry, names = 0, []
    for span in view.spans:
        share = 100 * (span.end - span.begin) / view.entries
        left, entry = 100 * entry / view.entries, entry + span.end - span.begin
        kind = kind_and_bucket(span.program)[0]
        if share > 0.75 * len(kind):
            slim = share < 2 * len(kind)  # too narrow on a phone
            names.append(tag("span", kind, style=f"left:{left:.2f}%;width:{share:.2f}%", cls="slim" if slim else None))
    return tag("div", join(*names), cls="programs", aria_hidden="true")
