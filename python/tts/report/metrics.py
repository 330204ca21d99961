"""The lines of metrics.jsonl as series over updates."""

import json
import math
from pathlib import Path

import numpy as np

from tts.data.errors import InputError


def read_metrics(path: Path) -> list[dict]:
    """The lines of a metrics file; a last line cut off by a killed run is left out."""
    lines = path.read_text().splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            if not isinstance(entry, dict):
                raise ValueError("not an object")
            found.append(entry)
        except ValueError as error:
            if number == len(lines):
                break
            raise InputError(
                f"{path}:{number}", f"not a metrics line ({error})", "give the metrics.jsonl of a run"
            ) from error
    return found


def series(entries: list[dict], *names: str) -> tuple[np.ndarray, np.ndarray]:
    """(step, value) of every line that has a finite number under these nested names.

    A run that was resumed repeats the steps after its checkpoint: the later line counts.
    """
    points: dict[float, float] = {}
    step = 0.0
    for entry in entries:
        step = entry.get("step", step)
        value = entry
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            points[step] = value
    steps = sorted(points)
    return np.array(steps, float), np.array([points[s] for s in steps], float)


def smooth(values: np.ndarray) -> np.ndarray:
    """A centred running mean over a fiftieth of the run, shorter at its ends."""
    half = max(1, len(values) // 100)
    total = np.concatenate([[0.0], np.cumsum(values)])
    index = np.arange(len(values))
    # The same reach on both sides, so the ends are not bent.
    reach = np.minimum(half, np.minimum(index, len(values) - 1 - index))
    return (total[index + reach + 1] - total[index - reach]) / (2 * reach + 1)


def terms(entries: list[dict], key: str) -> list[str]:
    return sorted({name for entry in entries for name in (entry.get(key) or {})})
