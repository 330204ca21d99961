"""Line charts over updates: an SVG that stretches with its frame, labels beside it that do not."""

from dataclasses import dataclass, field

import numpy as np

from tts.report.page.markup import Markup, data, join, table, tag
from tts.report.page.scales import Scale, fit, number

_COLUMNS = 480
_SIDE = 1000


@dataclass
class Line:
    """A series: dense values as a curve, sparse ones (`dots`) with a mark each."""

    name: str
    colour: str
    steps: np.ndarray
    values: np.ndarray
    dots: bool = False
    #: The same values before smoothing, drawn faintly behind.
    raw: np.ndarray | None = None


@dataclass
class Chart:
    title: str
    summary: str
    lines: list[Line] = field(default_factory=list)
    zero: bool = True
    tall: bool = False
    legend: bool = True
    #: A value drawn as a level line, with its name.
    level: tuple[str, float] | None = None

    def html(self) -> Markup:
        drawn = [line for line in self.lines if len(line.steps)]
        first = min(float(line.steps[0]) for line in drawn)
        last = max(float(line.steps[-1]) for line in drawn)
        x = Scale(first, last if last > first else first + 1)
        seen = [v for line in drawn for v in (line.values if line.raw is None else line.raw).tolist()]
        y = fit(seen + ([self.level[1]] if self.level else []), zero=self.zero)
        legend = [tag("span", tag("i", cls=f"key s-{line.colour}"), line.name) for line in drawn]
        if self.level:
            legend.append(tag("span", tag("i", cls="key s-level"), f"{self.level[0]} {number(self.level[1])}"))
        return tag(
            "figure",
            tag(
                "figcaption",
                tag("strong", self.title),
                tag("span", legend, cls="legend") if self.legend and len(legend) > 1 else "",
            ),
            tag(
                "div",
                grid(y.ticks(4), y),
                tag(
                    "div",
                    tag(
                        "svg",
                        [_curves(line, x, y) for line in drawn],
                        _level(self.level, y),
                        viewBox=f"0 0 {_SIDE} {_SIDE}",
                        preserveAspectRatio="none",
                        aria_hidden="true",
                    ),
                    [_dots(line, x, y) for line in drawn if line.dots],
                    cls="area",
                    tabindex="0",
                    role="img",
                    aria_label=f"{self.title}: {self.summary}",
                ),
                columns(x),
                cls="plot tall" if self.tall else "plot",
            ),
            self._table(drawn),
            data(None, self._data(drawn, x, y), cls="chart-data"),
            cls="chart lines",
        )

    def _data(self, drawn: list[Line], x: Scale, y: Scale) -> dict:
        """What the tooltip needs: per line its points as fractions of the frame, and the numbers to show."""
        lines = []
        for line in drawn:
            index = _spread(len(line.steps), _COLUMNS)
            lines.append(
                {
                    "name": line.name,
                    "colour": line.colour,
                    "x": line.steps[index].astype(int).tolist(),
                    "v": [float(f"{v:.5g}") for v in line.values[index].tolist()],
                    "raw": None if line.raw is None else [float(f"{v:.5g}") for v in line.raw[index].tolist()],
                    "y": [round(y(v), 4) for v in line.values[index].tolist()],
                }
            )
        return {"first": x.low, "last": x.high, "lines": lines}

    def _table(self, drawn: list[Line]) -> Markup:
        """Some of the numbers for those who cannot see the curve."""
        base = drawn[-1] if drawn[-1].dots else drawn[0]
        chosen = base.steps[_spread(len(base.steps), 12)]
        rows = []
        for step in chosen.tolist():
            near = [line.values[np.argmin(np.abs(line.steps - step))] for line in drawn]
            rows.append([number(step, 9), *(number(float(v)) for v in near)])
        return tag(
            "details",
            tag("summary", "Numbers"),
            table(["update", *(line.name for line in drawn)], rows, aria_label=f"{self.title}, numbers"),
        )


def grid(ticks: list[float], y: Scale, names: list[str] | None = None) -> Markup:
    """The y axis: names in the gutter, hair lines across."""
    names = names or [number(v) for v in ticks]
    labels = [tag("span", name, style=f"bottom:{100 * y(v):.2f}%") for v, name in zip(ticks, names)]
    rules = [tag("b", style=f"bottom:{100 * y(v):.2f}%") for v in ticks]
    return join(
        tag("div", labels, cls="gutter", aria_hidden="true"), tag("div", rules, cls="rules", aria_hidden="true")
    )


def columns(x: Scale) -> Markup:
    labels = [
        tag("span", number(v, 9), style=f"left:{100 * x(v):.2f}%", cls="odd" if i % 2 else None)
        for i, v in enumerate(x.ticks(6))
    ]
    return tag("div", labels, tag("em", "updates"), cls="columns", aria_hidden="true")


def _spread(count: int, most: int) -> np.ndarray:
    """At most so many indices, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def _extremes(values: np.ndarray) -> np.ndarray:
    """Indices of the least and the greatest value of each column: a curve through them looks like all points."""
    if len(values) <= 2 * _COLUMNS:
        return np.arange(len(values))
    parts = np.array_split(np.arange(len(values)), _COLUMNS)
    found = {0, len(values) - 1}
    for part in parts:
        found |= {int(part[np.argmin(values[part])]), int(part[np.argmax(values[part])])}
    return np.array(sorted(found))


def _path(steps: np.ndarray, values: np.ndarray, x: Scale, y: Scale) -> str:
    points = [f"{_SIDE * x(s):.1f} {_SIDE * (1 - y(v)):.1f}" for s, v in zip(steps.tolist(), values.tolist())]
    return "M" + "L".join(points)


def _curves(line: Line, x: Scale, y: Scale) -> list[Markup]:
    found = []
    if line.raw is not None:
        index = _extremes(line.raw)
        found.append(tag("path", d=_path(line.steps[index], line.raw[index], x, y), cls=f"raw s-{line.colour}"))
    index = _extremes(line.values)
    return [*found, tag("path", d=_path(line.steps[index], line.values[index], x, y), cls=f"s-{line.colour}")]


def _dots(line: Line, x: Scale, y: Scale) -> list[Markup]:
    """Marks as elements: a circle in a stretched picture would be an ellipse."""
    if len(line.steps) > 60:
        return []
    return [
        tag("u", cls=f"dot s-{line.colour}", style=f"left:{100 * x(s):.2f}%;bottom:{100 * y(v):.2f}%")
        for s, v in zip(line.steps.tolist(), line.values.tolist())
    ]


def _level(level: tuple[str, float] | None, y: Scale) -> Markup | str:
    if not level:
        return ""
    height = f"{_SIDE * (1 - y(level[1])):.1f}"
    return tag("path", d=f"M0 {height}H{_SIDE}", cls="s-level")
