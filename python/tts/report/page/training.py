"""What the run learned and how fast: losses, gradient norm, rate and throughput over updates."""

import numpy as np

from tts.report.metrics import series, smooth, terms
from tts.report.page.lines import Chart, Line
from tts.report.page.markup import Markup, join, tag
from tts.report.page.run import Run
from tts.report.page.scales import number


def html(run: Run) -> Markup:
    metrics = run.metrics
    total = _loss(run, "Loss", ("loss",), ("val_loss",))
    total.tall = True
    names = terms(metrics, "losses")
    each = [_loss(run, name.replace("_", " "), ("losses", name), ("val_losses", name)) for name in names]
    for chart in each:
        chart.legend = False  # that of the total
    others = [chart for chart in (_norm(metrics), _rate(metrics), _speed(run)) if chart]
    return join(
        total.html(),
        tag("h3", "Each loss") if each else "",
        tag("div", [chart.html() for chart in each], cls="charts"),
        tag("h3", "Gradient, rate, speed") if others else "",
        tag("div", [chart.html() for chart in others], cls="charts"),
    )


def _loss(run: Run, title: str, training: tuple[str, ...], validation: tuple[str, ...]) -> Chart:
    steps, values = series(run.metrics, *training)
    lines = [_smoothed("training", "train", steps, values)]
    words = f"training from {number(values[0])} to {number(float(lines[0].values[-1]))}"
    val_steps, val_values = series(run.metrics, *validation)
    if val_steps.size:
        lines.append(Line("validation", "validation", val_steps, val_values, dots=True))
        words += f", validation from {number(val_values[0])} to {number(val_values[-1])}"
    return Chart(title, words, lines)


def _smoothed(name: str, colour: str, steps: np.ndarray, values: np.ndarray) -> Line:
    """Long series as a running mean over the single values; short ones as they are."""
    if len(values) < 40:
        return Line(name, colour, steps, values)
    return Line(name, colour, steps, smooth(values), raw=values)


def _norm(metrics: list[dict]) -> Chart | None:
    steps, values = series(metrics, "grad_norm")
    if not steps.size:
        return None
    summary = f"from {number(values[0])} to {number(values[-1])}"
    return Chart("Gradient norm", summary, [_smoothed("gradient norm", "norm", steps, values)])


def _rate(metrics: list[dict]) -> Chart | None:
    steps, values = series(metrics, "lr")
    if not steps.size:
        return None
    return Chart("Learning rate", f"at most {number(values.max())}", [Line("learning rate", "rate", steps, values)])


def _speed(run: Run) -> Chart | None:
    timed = [u for u in run.updates if u.get("frames") and u.get("seconds")]
    if not timed:
        return None
    steps = np.array([u["step"] for u in timed], float)
    values = np.array([u["frames"] / u["seconds"] for u in timed])
    line = _smoothed("frames a second", "speed", steps, values)
    return Chart("Frames a second", f"{number(round(float(np.median(values))))} in the middle", [line])
