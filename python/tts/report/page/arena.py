"""The arena's map: which buffer lies at which offset, entry by entry of a step."""

from tts.report.certificate import Buffer, Certificate
from tts.report.look import bytes_text, class_rank
from tts.report.page.markup import Markup, tag
from tts.report.page.scales import Scale
from tts.report.page.views import HEIGHT, View, frame


def html(certificate: Certificate, view: View) -> Markup:
    top = certificate.plan.get("arena_bytes") or max(b.offset + b.size for b in certificate.buffers)
    passing = [b for b in certificate.buffers if not b.persistent]
    first = min((b.offset for b in passing), default=0)
    starts, entry = {}, 0
    for span in view.spans:
        starts[span.program] = entry - span.begin
        entry += span.end - span.begin
    shapes: dict[str, list[str]] = {}
    for b in certificate.buffers:
        if b.persistent:
            box = _box(b, 0, view.entries, top)
        elif b.program in starts:
            box = _box(b, b.begin + starts[b.program], b.end + 1 + starts[b.last_program], top)
        else:
            continue
        shapes.setdefault(b.kind, []).append(box)
    paths = [tag("path", d="".join(shapes[kind]), cls=f"c-{kind}") for kind in sorted(shapes, key=class_rank)]
    label = f"Offsets of the buffers in the arena of {bytes_text(top)} over a step of bucket {view.bucket}"
    picture = frame(view, view.entries, Scale(0, top), Scale(first, top), paths, label)
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("strong", "Where it lies"),
            tag("span", f"offset in the arena of {bytes_text(top)}; empty is free at that moment", cls="legend"),
        ),
        picture,
        cls="chart memory map",
        data_picture="map",
        data_entries=view.entries,
        data_first=first,
        data_top=top,
    )


def _box(buffer: Buffer, begin: int, end: int, top: int) -> str:
    """From its lower to its upper offset, at least a hair high."""
    upper = round(HEIGHT * (1 - (buffer.offset + buffer.size) / top))
    height = max(1, round(HEIGHT * (1 - buffer.offset / top)) - upper)
    return f"M{begin} {upper}H{end}v{height}H{begin}Z"
