"""One evaluation from end to end: run the model, choose what is heard, measure, and put evaluation.json together."""

import json
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts.audio.features import Features
from tts.data import corpus, duplicates, shards
from tts.data.errors import InputError
from tts.data.progress import Progress
from tts.evaluate import measures, omissions, program, prosody, recordings, sounds, words
from tts.evaluate.rows import Row

VERSION = 1


@dataclass(frozen=True)
class Options:
    executable: Path
    weights: Path
    corpus: Path
    output: Path
    ema: bool = False  # the weights' moving average instead
    utterances: int = 16
    rated: int = 6
    jobs: int = 2
    samples: Path | None = None
    split: str = "validation"  # or "test", which nothing was chosen by


def evaluate(options: Options) -> dict:
    """The evaluation; what cannot be measured on this corpus or model is listed in `left_out`, with the reason."""
    start = time.monotonic()
    manifest = corpus.read_manifest(options.corpus)
    features = Features.from_manifest(manifest, options.corpus / "manifest.json")
    recorded = _split(options.corpus, manifest, options.split)
    phones = {identity: tensors["phones"] for identity, tensors in recorded.items()}
    ran = program.evaluate(
        options.executable, options.weights, options.ema, options.corpus, phones, features, options.split
    )
    texts = recordings.transcripts(manifest, list(recorded))
    rows = {
        identity: Row(
            identity, recorded[identity], ran.outputs[identity], ran.spoken.get(identity), texts.get(identity)
        )
        for identity in sorted(recorded)
    }
    audible = _choose(rows, options.utterances, sounds.shortest(features))
    waves, missing = recordings.find(manifest, audible, options.jobs) if audible else ({}, "")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _measure(rows, audible, waves, manifest["statistics"], features, folder, options)
        _listen(rows, folder, options)
        if options.samples:
            _keep(rows, folder, options, features.sample_rate)
    metrics = measures.losses(ran.loss, ran.losses, len(rows))
    metrics += measures.summarise({row.id: row.sums for row in rows.values()})
    counts = {"utterances": len(rows), "audible": len(audible), "rated": min(options.rated, len(audible))}
    return {
        "version": VERSION,
        "executable": str(options.executable),
        "weights": str(options.weights),
        "ema": options.ema,
        "corpus": str(options.corpus),
        "step": ran.step,
        "split": options.split,
        "teacher_forced": True,
        **counts,
        "seconds": round(time.monotonic() - start, 1),
        "metrics": metrics,
        "recipes": {key: measures.RECIPES[key] for key in dict.fromkeys(metric["recipe"] for metric in metrics)},
        "left_out": omissions.left_out(metrics, rows, counts, missing, ran.mute, features),
        "rows": [row.told() for row in rows.values()],
    }


def _split(folder: Path, manifest: dict, split: str) -> dict[str, dict[str, np.ndarray]]:
    """The split's tensors by utterance."""
    told: dict[str, dict[str, np.ndarray]] = {}
    if split not in manifest["splits"]:
        raise InputError(folder / "manifest.json", f"it has no split {split}", "prepare the corpus with --test")
    for name in manifest["splits"][split]["files"]:
        for path, tensor in shards.read(folder / name)[0].items():
            identity, _, value = path.rpartition("/")
            told.setdefault(identity, {})[value] = tensor
    return told


def _choose(rows: dict[str, Row], count: int, shortest: int) -> list[str]:
    """Those with a transcript of their own first, for only they have a word error rate."""
    long = [identity for identity, row in rows.items() if len(row.recorded["mel"]) >= shortest]
    return sorted(long, key=lambda identity: (rows[identity].text is None, duplicates.rank(identity)))[:count]


def _measure(
    rows, audible: list[str], waves, statistics: dict, features: Features, folder: Path, options: Options
) -> None:
    rated, work = audible[: options.rated], []
    for row in rows.values():
        row.sums |= prosody.phone_errors(row.predicted, row.recorded, statistics, features)
        mels = row.mels(statistics, sounds.shortest(features))
        work.append(sounds.Work(row.id, mels, waves.get(row.id), row.id in audible, row.id in rated, folder, features))
    # Longest first, so that no process is left with a long one at the end.
    work.sort(key=lambda each: (-each.rated, -each.audible, -len(each.mels["recorded"])))
    progress = Progress("measure", len(work))
    # Spawned, not forked: the parent's library threads would be copied half alive.
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for identity, sums, systems in pool.map(sounds.measure, work):
            rows[identity].sums |= sums
            rows[identity].sounds = systems
            progress.advance()


def _listen(rows: dict[str, Row], folder: Path, options: Options) -> None:
    """Recognises the sounds of utterances with a transcript."""
    told = {
        sounds.sound_name(row.id, system): (row, system) for row in rows.values() if row.text for system in row.sounds
    }
    if not told:
        return
    found = words.recognise(list(told), folder, options.jobs)
    for name, (row, system) in told.items():
        row.heard[system] = found[name]
        row.sums[f"wer.{system}"] = words.errors(words.normalised(row.text), words.normalised(found[name]))


def _keep(rows: dict[str, Row], folder: Path, options: Options, rate: int) -> None:
    from tts.audio.wave import write_wav

    options.samples.mkdir(parents=True, exist_ok=True)
    for row in rows.values():
        for system in row.sounds:
            name = sounds.sound_name(row.id, system)
            kept = options.samples / f"{name}.wav"
            write_wav(kept, np.fromfile(folder / f"{name}.raw", "<i2") / 32767, rate)
            row.samples[system] = os.path.relpath(kept, options.output.absolute().parent)


def write(path: Path, told: dict) -> None:
    """Written beside and renamed: never half there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(told, indent=1, allow_nan=False) + "\n")
    temporary.replace(path)
