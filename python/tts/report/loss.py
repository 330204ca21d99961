"""The learning curves of metrics.jsonl: total and per-term losses, validation, learning rate."""

from pathlib import Path

import numpy as np

from tts.data.errors import InputError
from tts.report import look, style
from tts.report.metrics import read_metrics, series, smooth, terms

plt = style.plt


def plot(metrics: Path, out: Path) -> None:
    entries = read_metrics(metrics)
    if not series(entries, "loss")[0].size:
        raise InputError(metrics, "no line has a step and a loss", "give the metrics.jsonl of a training run")
    style.use()
    names = terms(entries, "losses")
    columns = max(2, len(names))
    figure = plt.figure(figsize=(max(9.0, 2.6 * columns), 6.6), layout="constrained")
    grid = figure.add_gridspec(2, columns * 2, height_ratios=[1.7, 1.0])
    wide = columns * 2 * 2 // 3
    _total(figure.add_subplot(grid[0, :wide]), entries)
    _rate(figure.add_subplot(grid[0, wide:]), entries)
    for index, name in enumerate(names):
        width = columns * 2 // len(names)
        _term(figure.add_subplot(grid[1, index * width : (index + 1) * width]), entries, name, first=index == 0)
    style.save(figure, out)


def _curve(axes, entries: list[dict], train: tuple[str, ...], validation: list[tuple[str, ...]], size: float) -> None:
    steps, values = series(entries, *train)
    axes.plot(steps, values, color=look.TRAIN, alpha=0.22, linewidth=0.8)
    axes.plot(steps, smooth(values), color=look.TRAIN, linewidth=1.7, label="training")
    for names in validation:
        val_steps, val_values = series(entries, *names)
        if val_steps.size:
            axes.plot(
                val_steps, val_values, "o-", color=look.VALIDATION, markersize=size, linewidth=1.4, label="validation"
            )
            break
    _bound(axes, values)
    axes.set_xlabel("updates")


def _bound(axes, values: np.ndarray) -> None:
    """A first loss far above all later ones would flatten the curve: log scale then."""
    if len(values) > 4 and values.min() > 0 and values.max() > 8 * np.median(values):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=min(0.0, float(values.min())) if len(values) else None)


def _total(axes, entries: list[dict]) -> None:
    _curve(axes, entries, ("loss",), [("val_loss",)], 3.5)
    steps, values = series(entries, "val_loss")
    title = "Loss"
    if steps.size:
        best = int(np.argmin(values))
        title += f"   (best validation {values[best]:.4f} at update {steps[best]:.0f})"
    axes.set_title(title)
    axes.legend(loc="upper right")


def _rate(axes, entries: list[dict]) -> None:
    steps, values = series(entries, "lr")
    axes.plot(steps, values, color=look.INK, linewidth=1.4)
    axes.set_ylabel("learning rate")
    axes.set_title("Learning rate, gradient norm")
    axes.set_xlabel("updates")
    axes.set_ylim(bottom=0)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
    norm_steps, norms = series(entries, "grad_norm")
    if norm_steps.size:
        other = axes.twinx()
        other.plot(norm_steps, smooth(norms), color="#f4a259", linewidth=1.0)
        other.set_ylabel("gradient norm", color="#c9772a")
        other.tick_params(axis="y", colors="#c9772a")
        other.set_ylim(bottom=0)
        other.grid(False)


def _term(axes, entries: list[dict], name: str, *, first: bool) -> None:
    validation = [("val_losses", name), (f"val_{name}",), (f"val_loss_{name}",)]
    _curve(axes, entries, ("losses", name), validation, 2.5)
    axes.set_title(name.replace("_", " "))
    if first:
        axes.set_ylabel("loss term")
