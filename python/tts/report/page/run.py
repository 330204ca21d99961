"""What lies in a run's folder: certificate, metrics, sounds, evaluation, corpus; all but the first may be missing."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from tts.data.errors import InputError
from tts.report.certificate import Certificate
from tts.report.metrics import read_metrics
from tts.report.page.evaluation import Evaluation

SOUNDS = {".wav": "audio/wav", ".flac": "audio/flac", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".opus": "audio/ogg"}


@dataclass
class Run:
    folder: Path
    title: str
    certificate: Certificate
    model: Path | None = None
    metrics: list[dict] = field(default_factory=list)
    sounds: list[Path] = field(default_factory=list)
    evaluation: Evaluation | None = None
    corpus: dict | None = None
    other: "Run | None" = None  # to compare with

    @property
    def updates(self) -> list[dict]:
        """One line per update; of a step that was repeated the last."""
        lines = {m["step"]: m for m in self.metrics if "loss" in m and isinstance(m.get("step"), int)}
        return [lines[step] for step in sorted(lines)]

    @property
    def validations(self) -> list[dict]:
        lines = {m["step"]: m for m in self.metrics if "val_loss" in m and isinstance(m.get("step"), int)}
        return [lines[step] for step in sorted(lines)]

    @property
    def final(self) -> dict:
        """Of the training itself: an evaluation into the same file adds one of its own."""
        last = max((i for i, m in enumerate(self.metrics) if "loss" in m), default=-1)
        return next((m for m in self.metrics[last + 1 :] if m.get("final")), {})

    @property
    def experiment(self) -> dict:
        """What it trained, in its last line."""
        return self.final.get("experiment") or {}


def read(
    folder: Path,
    *,
    title: str | None = None,
    plan: Path | None = None,
    metrics: Path | None = None,
    evaluation: Path | None = None,
    other: Path | None = None,
) -> Run:
    """Files named on the command line must be there; those looked for in the folder need not, but for the plan."""
    if not folder.is_dir():
        raise InputError(folder, "no such folder", "give the folder of a run, with its train.plan.json")
    certificate = Certificate.read(plan or _plan(folder))
    metrics = metrics or _present(folder / "metrics.jsonl")
    evaluation = evaluation or _present(folder / "evaluation.json")
    corpus = _present(folder / "corpus" / "manifest.json")
    sounds = [p for d in (folder, folder / "samples") if d.is_dir() for p in d.iterdir() if p.suffix.lower() in SOUNDS]
    return Run(
        folder=folder,
        title=title or folder.resolve().name,
        certificate=certificate,
        model=_present(folder / "model.mlir"),
        metrics=read_metrics(metrics) if metrics else [],
        sounds=sorted(sounds, key=lambda p: (p.parent != folder, p.stem)),
        evaluation=Evaluation.read(evaluation) if evaluation else None,
        corpus=_object(corpus) if corpus else None,
        other=read(other) if other else None,
    )


def _plan(folder: Path) -> Path:
    found = _present(folder / "train.plan.json")
    others = sorted(folder.glob("*.plan.json"))
    if found or len(others) == 1:
        return found or others[0]
    wrong = f"{len(others)} plans, none called train.plan.json" if others else "no train.plan.json"
    raise InputError(folder, wrong, "give one with --plan")


def _present(path: Path) -> Path | None:
    return path if path.is_file() else None


def _object(path: Path) -> dict:
    try:
        content = json.loads(path.read_text())
        if not isinstance(content, dict):
            raise ValueError("not an object")
    except ValueError as error:
        raise InputError(path, f"not a JSON object ({error})", "make it again, or remove it") from error
    return content
