"""One evaluation from end to end: run the model, choose what is heard, measure, and put evaluation.json together."""

import json
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tts.audio.features import Features
from tts.data import corpus, duplicates, shards
from tts.data.progress import Progress
from tts.evaluate import measures, program, prosody, recordings, sounds, words
from tts.evaluate.measures import Sums

VERSION = 1


@dataclass(frozen=True)
class Options:
    executable: Path
    weights: Path
    corpus: Path
    output: Path
    ema: bool = False  # the weights' moving average instead
    utterances: int = 24
    rated: int = 8
    jobs: int = 2
    samples: Path | None = None


@dataclass
class Row:
    """What is known of an utterance so far."""

    id: str
    recorded: dict[str, np.ndarray]  # the corpus's tensors
    predicted: dict[str, np.ndarray]
    text: str | None
    sums: Sums = field(default_factory=dict)
    heard: dict[str, str] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)


def evaluate(options: Options) -> dict:
    """The evaluation; what cannot be measured on this corpus or model is listed in `left_out`, with the reason."""
    start = time.monotonic()
    manifest = corpus.read_manifest(options.corpus)
    features = Features.from_manifest(manifest, options.corpus / "manifest.json")
    run = program.evaluate(options.executable, options.weights, options.ema, options.corpus)
    texts = recordings.transcripts(manifest, list(run.outputs))
    rows = {
        identity: Row(identity, tensors, run.outputs[identity], texts.get(identity))
        for identity, tensors in _split(options.corpus, manifest).items()
    }
    audible = _choose(rows, options.utterances)
    waves, missing = recordings.find(manifest, audible, options.jobs) if audible else ({}, "")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _measure(rows, audible, waves, manifest["statistics"], features, folder, options)
        _listen(rows, folder, options)
        if options.samples:
            _keep(rows, folder, options, features.sample_rate)
    metrics = measures.losses(run.loss, run.losses, len(rows)) + measures.summarise(
        {i: r.sums for i, r in rows.items()}
    )
    return {
        "version": VERSION,
        "executable": str(options.executable),
        "weights": str(options.weights),
        "ema": options.ema,
        "corpus": str(options.corpus),
        "step": run.step,
        "split": "validation",
        "teacher_forced": True,
        "utterances": len(rows),
        "audible": len(audible),
        "rated": min(options.rated, len(audible)),
        "seconds": round(time.monotonic() - start, 1),
        "metrics": metrics,
        "recipes": {key: measures.RECIPES[key] for key in dict.fromkeys(metric["recipe"] for metric in metrics)},
        "left_out": _left_out(metrics, rows, audible, missing, features),
        "rows": [_told(row) for row in sorted(rows.values(), key=lambda row: row.id)],
    }


def _split(folder: Path, manifest: dict) -> dict[str, dict[str, np.ndarray]]:
    """The validation split's tensors by utterance."""
    told: dict[str, dict[str, np.ndarray]] = {}
    for name in manifest["splits"]["validation"]["files"]:
        for path, tensor in shards.read(folder / name)[0].items():
            identity, _, value = path.rpartition("/")
            told.setdefault(identity, {})[value] = tensor
    return told


def _choose(rows: dict[str, Row], count: int) -> list[str]:
    """Those with a transcript of their own first, for only they have a word error rate."""
    return sorted(rows, key=lambda identity: (rows[identity].text is None, duplicates.rank(identity)))[:count]


def _measure(
    rows, audible: list[str], waves, statistics: dict, features: Features, folder: Path, options: Options
) -> None:
    def log_scale(mel: np.ndarray) -> np.ndarray:
        return np.asarray(mel, np.float64) * statistics["mel_std"] + statistics["mel_mean"]

    work = []
    for row in rows.values():
        row.sums |= prosody.phone_errors(row.predicted, row.recorded, statistics, features)
        predicted = log_scale(row.predicted["mel"]) if "mel" in row.predicted else None
        place = audible.index(row.id) if row.id in audible else None
        work.append(
            sounds.Work(
                row.id,
                log_scale(row.recorded["mel"]),
                predicted,
                waves.get(row.id),
                place is not None,
                place is not None and place < options.rated,
                folder,
                features,
            )
        )
    # Longest first, so that no process is left with a long one at the end.
    work.sort(key=lambda each: (-each.rated, -each.audible, -len(each.recorded)))
    progress = Progress("measure", len(work))
    # Spawned, not forked: the parent's library threads would be copied half alive.
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for identity, sums, systems in pool.map(sounds.measure, work):
            rows[identity].sums |= sums
            rows[identity].heard = dict.fromkeys(systems, "")
            progress.advance()


def _listen(rows: dict[str, Row], folder: Path, options: Options) -> None:
    """Recognises the sounds of utterances with a transcript."""
    told = {sounds.sound_name(row.id, s): (row, s) for row in rows.values() if row.text for s in row.heard}
    for row in rows.values():
        if not row.text:
            row.heard = {}
    if not told:
        return
    for name, heard in words.recognise(list(told), folder, options.jobs).items():
        row, system = told[name]
        row.heard[system] = heard
        row.sums[f"wer.{system}"] = words.errors(words.normalised(row.text), words.normalised(heard))


def _keep(rows: dict[str, Row], folder: Path, options: Options, rate: int) -> None:
    from tts.audio.wave import write_wav

    options.samples.mkdir(parents=True, exist_ok=True)
    for row in rows.values():
        for system in measures.SYSTEMS:
            name = sounds.sound_name(row.id, system)
            if (folder / f"{name}.raw").exists():
                kept = options.samples / f"{name}.wav"
                write_wav(kept, np.fromfile(folder / f"{name}.raw", "<i2") / 32767, rate)
                row.samples[system] = os.path.relpath(kept, options.output.absolute().parent)


def _left_out(
    metrics: list[dict], rows: dict[str, Row], audible: list[str], missing: str, features: Features
) -> list[dict]:
    """Every key that this evaluation does not have, and why."""
    having = {metric["key"] for metric in metrics}
    outputs = set().union(*(row.predicted for row in rows.values()))

    def reason(key: str) -> str:
        kind, _, system = key.partition(".")
        needed = {"duration": "log_durations", "pitch": "pitch", "energy": "energy"}.get(kind, "mel")
        if kind in ("duration", "pitch", "energy") or system in ("mel", "predicted"):
            if needed not in outputs:
                return f"the model hands out no {needed}"
        if key == "mcd.mel":
            return f"{features.n_mels} bands hold no 24 cepstral coefficients"
        if not audible:
            return "no utterance was to be made audible"
        if kind == "wer" and not any(row.text for row in rows.values()):
            return "the corpus has no transcripts"
        return missing or "nothing to count was left"

    told = [{"what": key, "reason": reason(key)} for key in measures.MEASURES if key not in having]
    if missing and "mcd.recorded" in having:
        told.append({"what": "some recordings", "reason": missing})
    return told


def _told(row: Row) -> dict:
    return {
        "id": row.id,
        "text": row.text,
        "frames": len(row.recorded["mel"]),
        "phones": len(row.recorded["phones"]),
        "values": measures.values(row.sums),
        "heard": row.heard,
        "samples": row.samples,
    }


def write(path: Path, told: dict) -> None:
    """Written beside and renamed: never half there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(told, indent=1, allow_nan=False) + "\n")
    temporary.replace(path)
