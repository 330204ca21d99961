"""matplotlib as the report's pictures use it: fonts, quiet axes, and saving whole files."""

import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from tts.report.look import GRID, INK, QUIET


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
