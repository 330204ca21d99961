"""The samples: a player each, with the waveform and, where a text file of the same name is there, its words."""

import base64
import wave
from pathlib import Path

import numpy as np

from tts.report.look import bytes_text
from tts.report.page.markup import Markup, join, tag
from tts.report.page.run import SOUNDS, Run

#: Of all files together, as they lie on disk: base64 makes a third more of them.
LIMIT = 2 * 2**20
_BARS = 160


def html(run: Run) -> Markup:
    used, players, left_out = 0, [], []
    for path in run.sounds:
        size = path.stat().st_size
        if used + size > LIMIT:
            left_out.append(path.name)
            continue
        used += size
        players.append(_player(path))
    note = ""
    if left_out:
        listed = ", ".join(left_out[:6]) + (" …" if len(left_out) > 6 else "")
        note = tag("p", f"Not in this page, which holds {bytes_text(LIMIT)} of sound: {listed}.", cls="quiet")
    return join(tag("div", players, cls="players"), note, _source(run))


def _player(path: Path) -> Markup:
    caption = path.with_suffix(".txt")
    words = caption.read_text(errors="replace").strip() if caption.is_file() else ""
    encoded = base64.b64encode(path.read_bytes()).decode()
    return tag(
        "figure",
        tag("figcaption", tag("strong", path.stem.replace("_", " ")), tag("p", words) if words else ""),
        _waveform(path),
        tag(
            "audio",
            controls=True,
            preload="metadata",
            src=f"data:{SOUNDS[path.suffix.lower()]};base64,{encoded}",
            aria_label=path.stem,
        ),
        cls="player",
    )


def _waveform(path: Path) -> Markup | str:
    envelope = _envelope(path)
    if envelope is None:
        return ""
    bars = "".join(f"M{i + 0.5} {50 - 48 * high:.0f}V{50 + 48 * high:.0f}" for i, high in enumerate(envelope.tolist()))
    picture = [
        tag("svg", tag("path", d=bars), viewBox=f"0 0 {len(envelope)} 100", preserveAspectRatio="none", cls=cls)
        for cls in ("wave", "wave played")
    ]
    return tag("div", picture, cls="waveform", aria_hidden="true")


def _envelope(path: Path) -> np.ndarray | None:
    """The loudest sample of each part, 1 for the loudest of all; None for what the standard library cannot read."""
    try:
        with wave.open(str(path)) as sound:
            if sound.getsampwidth() != 2 or not sound.getnframes():
                return None
            samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2").astype(float)
    except (wave.Error, EOFError):
        return None
    parts = np.array_split(np.abs(samples), min(_BARS, len(samples)))
    envelope = np.array([part.max() for part in parts])
    return np.maximum(envelope / (envelope.max() or 1.0), 0.02)


def _source(run: Run) -> Markup | str:
    source = (run.corpus or {}).get("source")
    if not isinstance(source, dict):
        return ""
    words = ", ".join(str(source[key]) for key in ("name", "speaker", "license") if source.get(key))
    return tag("p", f"Voice learned from: {words}.", cls="quiet") if words else ""
