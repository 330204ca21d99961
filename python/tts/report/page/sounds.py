"""The samples: a player each, with its waveform and words; those of an evaluation side by side for each utterance."""

import base64
import wave
from pathlib import Path

import numpy as np

from tts.report.look import bytes_text
from tts.report.page.markup import Markup, join, tag
from tts.report.page.run import SOUNDS, Run
from tts.report.page.scales import number

#: Of all files together, as they lie on disk: base64 makes a third more of them.
_MOST, _LEAST = 5 << 18, 1 << 18
_BARS = 160
_SYSTEMS = {
    "recording": "recording",
    "recorded": "recorded spectrogram, Griffin-Lim",
    "predicted": "predicted spectrogram, Griffin-Lim",
    "spoken": "spoken from phones alone, Griffin-Lim",
}


class Space:
    """What still fits into the page, and the names of what did not."""

    def __init__(self, room: int):
        self.limit = self.left = max(_LEAST, min(_MOST, room * 3 // 4))
        self.refused = []

    def take(self, name: str, *files: Path) -> bool:
        size = sum(file.stat().st_size for file in files)
        if size > self.left:
            self.refused.append(name)
            return False
        self.left -= size
        return True


def html(run: Run, room: int) -> Markup:
    """`room` is what the page may still grow by."""
    space, groups = Space(room), _groups(run)
    grouped = {file.resolve() for _, files in groups for file in files.values()}
    plain = [p for p in run.sounds if p.resolve() not in grouped]
    players = [_player(p, p.stem.replace("_", " "), _caption(p)) for p in plain if space.take(p.name, p)]
    utterances = [_utterance(row, files) for row, files in groups if space.take(row["id"], *files.values())]
    return join(
        tag("div", players, cls="players") if players else "",
        tag("h3", "Evaluated utterances") if utterances else "",
        utterances,
        _refused(space),
        _source(run),
    )


def _groups(run: Run) -> list[tuple[dict, dict[str, Path]]]:
    """The evaluation's utterances that can be heard: the best, the worst and the middle one first."""
    if not run.evaluation:
        return []
    base = run.evaluation.path.parent
    found = []
    for row in run.evaluation.rows:
        files = {system: base / name for system, name in (row.get("samples") or {}).items()}
        if files and all(f.is_file() and f.suffix.lower() in SOUNDS for f in files.values()):
            found.append((row, files))
    key = "mcd.mel"
    found.sort(key=lambda entry: (entry[0].get("values") or {}).get(key, 0))
    picked = dict.fromkeys([0, len(found) - 1, len(found) // 2, *range(len(found))])
    return [found[i] for i in picked if 0 <= i < len(found)]


def _utterance(row: dict, files: dict[str, Path]) -> Markup:
    value = (row.get("values") or {}).get("mcd.mel")
    note = f" · MCD {number(value, 3)} dB" if value is not None else ""
    order = sorted(files, key=lambda system: (list(_SYSTEMS).index(system) if system in _SYSTEMS else 9, system))
    heard = row.get("heard") or {}
    players = [
        _player(
            files[s],
            _SYSTEMS.get(s, s),
            f"recogniser: {heard[s] or 'nothing'}" if s in heard else "",
            f"{row['id']}, {s}",
        )
        for s in order
    ]
    return tag(
        "div",
        tag("p", tag("b", row.get("text") or row["id"]), " ", tag("small", row["id"] + note)),
        tag("div", players, cls="players"),
        cls="utterance",
    )


def _caption(path: Path) -> str:
    words = path.with_suffix(".txt")
    return words.read_text(errors="replace").strip() if words.is_file() else ""


def _player(path: Path, title: str, words: str, label: str | None = None) -> Markup:
    encoded = base64.b64encode(path.read_bytes()).decode()
    return tag(
        "figure",
        tag("figcaption", tag("strong", title), tag("p", words) if words else ""),
        _waveform(path),
        tag(
            "audio",
            controls=True,
            preload="metadata",
            src=f"data:{SOUNDS[path.suffix.lower()]};base64,{encoded}",
            aria_label=label or title,
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


def _refused(space: Space) -> Markup | str:
    if not space.refused:
        return ""
    listed = ", ".join(space.refused[:6]) + (f" and {len(space.refused) - 6} more" if len(space.refused) > 6 else "")
    return tag("p", f"Not in this page, which holds {bytes_text(space.limit)} of sound: {listed}.", cls="quiet")


def _source(run: Run) -> Markup | str:
    source = (run.corpus or {}).get("source")
    if not isinstance(source, dict):
        return ""
    words = ", ".join(str(source[key]) for key in ("name", "speaker", "license") if source.get(key))
    return tag("p", f"Voice learned from: {words}.", cls="quiet") if words else ""
