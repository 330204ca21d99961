"""The tensors behind the timeline: those at the peak as a table, all of them as data for the other positions."""

import re
from pathlib import Path

from tts.report.certificate import Buffer, Certificate
from tts.report.look import bytes_text
from tts.report.page.markup import Markup, data, tag
from tts.report.page.views import View, kind_and_bucket, program_at

_ROWS = 24
_NAMED_LOCATION = re.compile(r'loc\("([^"]+)"\)\s*$')


class Sources:
    """The lines of the model file by the names of its operations: what a named location leaves out."""

    def __init__(self, model: Path | None):
        self.name = model.name if model else ""
        self.lines: dict[str, int] = {}
        if model:
            for number, line in enumerate(model.read_text(errors="replace").splitlines(), 1):
                if match := _NAMED_LOCATION.search(line):
                    self.lines.setdefault(match[1], number)

    def place(self, buffer: Buffer) -> str:
        if buffer.loc:
            return buffer.loc
        line = self.lines.get(buffer.name) or self.lines.get(buffer.name.removesuffix(".grad"))
        return f"{self.name}:{line}" if line else ""


def lifetime(buffer: Buffer) -> str:
    """The programs a buffer lives in, without the bucket that the view names already."""
    if buffer.persistent:
        return "always"
    first, last = kind_and_bucket(buffer.program)[0], kind_and_bucket(buffer.last_program)[0]
    return first if first == last else f"{first} → {last}"


def html(certificate: Certificate, peak: int, sources: Sources) -> Markup:
    found = certificate.tensors_at(peak)
    kinds = list(dict.fromkeys(b.kind for b in found))
    rest = found[_ROWS:]
    more = f"{len(rest)} smaller ones" if rest else ""
    options = [("all", "all classes"), ("transient", "what comes and goes")]
    options += [(kind, kind.replace("_", " ")) for kind in kinds]
    return tag(
        "div",
        tag(
            "div",
            tag("h3", tag("span", "Tensors at the peak", id="tensors-title")),
            tag(
                "p",
                tag("span", program_at(certificate.spans, peak), id="tensors-where"),
                ": ",
                tag("b", bytes_text(sum(b.size for b in found)), id="tensors-bytes"),
                " in ",
                tag("span", f"{len(found)} tensors", id="tensors-count"),
                ". ",
                tag("span", "Select a moment in the chart to see its tensors.", cls="needs-script"),
                tag("button", "Back to the peak", type="button", id="tensors-peak", hidden=True),
            ),
            tag(
                "div",
                tag(
                    "label", "Show ", tag("select", [tag("option", n, value=v) for v, n in options], id="tensors-kind")
                ),
                tag(
                    "label",
                    "named ",
                    tag("input", type="search", id="tensors-name", placeholder="decoder.3", autocomplete="off"),
                ),
                cls="filters needs-script",
            ),
        ),
        tag(
            "table",
            tag(
                "thead",
                tag(
                    "tr",
                    tag("th", "Tensor", scope="col"),
                    tag("th", "Operation", scope="col", cls="place"),
                    tag("th", "Class", scope="col", cls="kind"),
                    tag("th", "Lives in", scope="col", cls="life"),
                    tag("th", "Bytes", scope="col"),
                ),
            ),
            tag("tbody", [_row(b, sources) for b in found[:_ROWS]], id="tensors-rows"),
            tag(
                "tfoot",
                tag(
                    "tr",
                    tag("th", more, scope="row", colspan="4", id="tensors-rest"),
                    tag("td", bytes_text(sum(b.size for b in rest)) if rest else "", id="tensors-rest-bytes"),
                ),
            ),
            cls="tensors",
            aria_labelledby="tensors-title",
        ),
        tag("button", "Show all", type="button", id="tensors-all", cls="needs-script", hidden=not rest),
        cls="tensor-list",
    )


def _row(buffer: Buffer, sources: Sources) -> Markup:
    return tag(
        "tr",
        tag("th", tag("code", buffer.name), scope="row"),
        tag("td", sources.place(buffer), cls="place"),
        tag("td", tag("i", cls=f"key c-{buffer.kind}"), buffer.kind.replace("_", " "), cls="kind"),
        tag("td", lifetime(buffer), cls="life"),
        tag("td", bytes_text(buffer.size), title=f"{buffer.size:,} bytes at offset {buffer.offset:,}"),
    )


def script_data(certificate: Certificate, peak: int, found: list[View], sources: Sources) -> Markup:
    """Every buffer in columns, with strings by number: names repeat from bucket to bucket."""
    strings: dict[str, int] = {}

    def index(text: str) -> int:
        return strings.setdefault(text, len(strings))

    columns: dict[str, list[int]] = {key: [] for key in "name place kind life size begin end offset".split()}
    for b in certificate.buffers:
        columns["name"].append(index(b.name))
        columns["place"].append(index(sources.place(b)))
        columns["kind"].append(index(b.kind))
        columns["life"].append(index(lifetime(b)))
        columns["size"].append(b.size)
        columns["offset"].append(b.offset)
        columns["begin"].append(-1 if b.persistent else b.begin)
        columns["end"].append(-1 if b.persistent else b.end)
    content = {
        "peak": peak,
        "rows": _ROWS,
        "views": {v.bucket: v.positions.tolist() for v in found},
        "spans": [[s.program, s.begin, s.end] for s in certificate.spans],
        "strings": list(strings),
        "buffers": columns,
    }
    return data("timeline-data", content)
