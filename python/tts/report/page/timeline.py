"""The memory timeline: live bytes by class at every entry of one step, stacked, one view per length bucket."""

import numpy as np

from tts.report.certificate import Certificate
from tts.report.look import bytes_text
from tts.report.page import arena
from tts.report.page.markup import Markup, table, tag
from tts.report.page.scales import Scale, number
from tts.report.page.views import HEIGHT, View, frame, program_at


def html(certificate: Certificate, live: dict[str, np.ndarray], found: list[View]) -> Markup:
    total = sum(live.values())
    peak = int(np.argmax(total))
    passing = {b.kind for b in certificate.buffers if not b.persistent}
    live = dict(sorted(live.items(), key=lambda item: item[0] in passing))  # what stays lies at the bottom
    stays = sum(b.size for b in certificate.buffers if b.persistent)
    chosen = max(found, key=lambda v: v.top).bucket
    limit = 1.06 * float(total[peak])
    pictures = [
        tag(
            "div",
            _view(view, live, stays, limit, peak),
            arena.html(certificate, view),
            data_view=view.bucket,
            hidden=view.bucket != chosen,
        )
        for view in found
    ]
    return tag(
        "div",
        _choice(certificate, found, chosen) if len(found) > 1 else "",
        _zoom(stays, limit),
        _legend(live),
        pictures,
        id="timeline",
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


def _view(view: View, live: dict[str, np.ndarray], stays: int, limit: float, peak: int) -> Markup:
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
    picture = frame(view, len(view.positions), whole, part, _areas(view, live, limit), summary, mark)
    return tag("figure", picture, _numbers(view, live), cls="chart memory", data_picture="live")


def _numbers(view: View, live: dict[str, np.ndarray]) -> Markup:
    """Each program's fullest moment, for those who cannot see the picture."""
    total = sum(live.values())
    kinds = [kind for kind in reversed(live) if live[kind].max()]
    rows = []
    for span in view.spans:
        at = span.begin + int(np.argmax(total[span.begin : span.end]))
        own = [bytes_text(int(live[kind][at])) for kind in kinds]
        rows.append([span.program, number(span.end - span.begin, 9), bytes_text(int(total[at])), *own])
    head = ["program", "entries", "most live bytes", *(kind.replace("_", " ") for kind in kinds)]
    return tag(
        "details",
        tag("summary", "Numbers"),
        table(head, rows, aria_label=f"live bytes of bucket {view.bucket}, by program"),
    )


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
    heights = np.round(HEIGHT * (1 - fractions)).astype(int)
    changes = np.flatnonzero(np.diff(heights)) + 1
    steps = "".join(f"H{at}V{heights[at]}" for at in changes.tolist())
    return f"M0 {heights[0]}{steps}H{len(heights)}V{HEIGHT}H0Z"
