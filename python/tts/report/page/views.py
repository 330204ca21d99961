"""One step of a bucket: its programs one after the other, what both pictures of it share."""

import itertools
import re
from dataclasses import dataclass

import numpy as np

from tts.report.certificate import Certificate, Span
from tts.report.look import unit_for
from tts.report.page.lines import grid
from tts.report.page.markup import Markup, join, tag
from tts.report.page.scales import Scale, number

#: Height of a picture in its own units: fine enough to zoom into its upper part.
HEIGHT = 4000
_COLUMNS = 640
_BUCKET = re.compile(r"^(.*)\[(\d+)\]((?:\.\d+)?)$")


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
    """Of "forward[3]" forward and 3; of a pipeline stage's second slot, "forward[3].1", forward.1 and 3."""
    match = _BUCKET.match(program)
    return (match[1] + match[3], int(match[2])) if match else (program, None)


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


def program_at(spans: list[Span], position: int) -> str:
    for span in spans:
        if span.begin <= position < span.end:
            return f"{span.program}, entry {position - span.begin + 1} of {span.end - span.begin}"
    return f"position {position}"


def bytes_grid(scale: Scale) -> Markup:
    unit, size = unit_for(scale.high)
    in_unit = Scale(scale.low / size, scale.high / size)
    ticks = in_unit.ticks(4)
    return grid(ticks, in_unit, names=[f"{number(t)} {unit}" if t == ticks[-1] else number(t) for t in ticks])


def frame(
    view: View, width: int, whole: Scale, part: Scale, shapes: list[Markup], label: str, *marks: Markup
) -> Markup:
    """A picture over the step's entries with both its scales: all of the memory, and its upper part."""
    upper = f"0 0 {width} {max(1, round(HEIGHT * (part.high - part.low) / (whole.high - whole.low)))}"
    picture = tag(
        "svg",
        shapes,
        _borders(view, width),
        viewBox=f"0 0 {width} {HEIGHT}",
        preserveAspectRatio="none",
        aria_hidden="true",
        data_all=f"0 0 {width} {HEIGHT}",
        data_part=upper,
    )
    return tag(
        "div",
        tag("div", bytes_grid(whole), cls="for-all"),
        tag("div", bytes_grid(part), cls="for-part"),
        tag("div", picture, marks, cls="area", tabindex="0", role="img", aria_label=label),
        _programs(view),
        cls="plot tall",
    )


def _borders(view: View, width: int) -> Markup:
    entry, found = 0, []
    for span in view.spans[:-1]:
        entry += span.end - span.begin
        found.append(f"M{width * entry / view.entries:.1f} 0V{HEIGHT}")
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
