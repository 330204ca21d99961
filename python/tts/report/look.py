"""What pictures and page share: colours of the memory's classes, and how bytes are written."""

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
_ORDER = list(CLASS_COLOURS)


def class_colour(name: str) -> str:
    return CLASS_COLOURS.get(name, _OTHER)


def class_rank(name: str) -> int:
    """The classes' order in stacks and legends."""
    return _ORDER.index(name) if name in CLASS_COLOURS else len(_ORDER)


def bytes_text(value: float) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value:.0f} B"


def unit_for(largest: float) -> tuple[str, int]:
    return ("GiB", 2**30) if largest >= 4 * 2**30 else ("MiB", 2**20) if largest >= 2**20 else ("KiB", 2**10)
