"""The look that the report's pictures share: colours, fonts, quiet axes, and saving whole files."""

import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

INK, QUIET, GRID = "#1f2933", "#667080", "#e4e7eb"
TRAIN, VALIDATION = "#2f6fb0", "#d1495b"

# What stays for the whole job is cool, what comes and goes is warm, what is nobody's is grey.
CLASS_COLOURS = {
    "parameters": "#1d4e89",
    "half_copies": "#4f86c6",
    "gradients": "#2a9d8f",
    "optimizer": "#6a4c93",
    "ema": "#a78bca",
    "activations": "#f4a259",
    "batch": "#e9c46a",
    "workspace": "#d1495b",
    "collectives": "#9c2c77",
    "buffers": "#8a5a44",
    "unused": "#d5dbe1",
    "overhead": "#8d99a6",
}
_OTHER = "#444444"


def class_colour(name: str) -> str:
    return CLASS_COLOURS.get(name, _OTHER)


def use() -> None:
    plt.rcParams.update(
        {
            "font.size": 9,
            "text.color": INK,
            "axes.labelcolor": QUIET,
            "axes.edgecolor": QUIET,
            "axes.titlesize": 10,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": GRID,
            "xtick.color": QUIET,
            "ytick.color": QUIET,
            "legend.frameon": False,
            "figure.dpi": 130,
            "savefig.facecolor": "white",
        }
    )


def save(figure, path: Path) -> None:
    """Written beside and renamed: never half there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    figure.savefig(temporary, format=path.suffix.lstrip("."))
    plt.close(figure)
    temporary.replace(path)


def bytes_text(value: float) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value:.0f} B"


def unit_for(largest: float) -> tuple[str, int]:
    return ("GiB", 2**30) if largest >= 4 * 2**30 else ("MiB", 2**20) if largest >= 2**20 else ("KiB", 2**10)
