"""From recorded prompts to a corpus: decode, phones, alignment, features, split, shards."""

import hashlib
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts.audio.features import Features, log_mel_of, magnitude
from tts.data import align, asterisk, buckets, corpus, duplicates, leakage, phones, prosody, segments
from tts.data.asterisk import Prompt
from tts.data.errors import InputError
from tts.data.progress import Progress
from tts.data.segments import Rejected


@dataclass(frozen=True)
class Options:
    jobs: int = 2
    max_seconds: float = 10.0  # longer recordings are cut
    validation: float = 0.05
    validation_ids: Path | None = None  # a hand-made split instead
    test: float = 0.0  # never trained on, nor looked at while training; 0: no such split
    test_ids: Path | None = None


def choose(prompts: list[Prompt], limit: int | None) -> list[Prompt]:
    """A fixed choice of `limit` prompts, in their order."""
    kept = sorted(prompts, key=lambda prompt: duplicates.rank(prompt.id))[:limit]
    return sorted(kept, key=lambda prompt: prompt.id)


def prepare(out: Path, prompts: list[Prompt], rejected: list[dict], options: Options) -> dict:
    """Writes the corpus of these prompts and returns its manifest; `rejected` are those refused before."""
    start, features = time.monotonic(), Features()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        failed = asterisk.decode(prompts, folder, features.sample_rate, options.jobs)
        prompts = [prompt for prompt in prompts if prompt.id not in failed]
        words = {prompt.id: phones.words_of(prompt.spoken) for prompt in prompts}
        aligned = align.align({identity: spoken for identity, spoken in words.items() if spoken}, folder, options.jobs)
        failed |= {p.id: "pocketsphinx found no alignment" for p in prompts if p.id not in aligned}
        prompts = [prompt for prompt in prompts if prompt.id in aligned]
        found, more = _measure(prompts, aligned, folder, features, options)
    failed |= more
    rejected = rejected + [{"id": identity, "reason": reason} for identity, reason in failed.items()]
    grouped = _group(found)
    splits = _split(found, grouped, options)
    extra = {
        "duplicate_groups": grouped,
        "rejected": sorted(rejected, key=lambda entry: entry["id"]),
        "source": {"name": "asterisk-core-sounds-en", "license": asterisk.LICENSE, "speaker": "Allison Smith"},
    }
    manifest = corpus.write(out, features, list(phones.SYMBOLS), splits, extra)
    _report(manifest, splits, features, time.monotonic() - start)
    return manifest


def _measure(prompts: list[Prompt], aligned: dict, folder: Path, features: Features, options: Options):
    """Utterances and the reasons of the rejected ones; the order is that of the prompts."""
    work = [(p.id, p.text, aligned[p.id], folder / f"{p.id}.raw", features, options.max_seconds) for p in prompts]
    progress, found, failed = Progress("features", len(work)), [], {}
    for utterances, rejected in _map(_measure_prompt, work, options.jobs):
        found += utterances
        failed |= rejected
        progress.advance()
    return found, failed


def _map(function, work: list, jobs: int) -> Iterator:
    """`function` over `work`, in order, in this process or in several."""
    if jobs == 1 or len(work) < 2:
        yield from map(function, work)
        return
    # Spawned, not forked: the parent's library threads would be copied half alive.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(function, work, chunksize=8)


def _measure_prompt(work) -> tuple[list[corpus.Utterance], dict[str, str]]:
    identity, text, whole, path, features, max_seconds = work
    wave = np.fromfile(path, "<i2").astype(np.float32) / 32768
    pieces, found, failed = segments.cut(whole, max_seconds), [], {}
    for number, piece in enumerate(pieces, 1):
        begin = round(piece[0].begin * features.sample_rate)
        end = len(wave) if number == len(pieces) else round(piece[-1].end * features.sample_rate)
        name = identity if len(pieces) == 1 else f"{identity}.part{number}"
        about = {"text": text, "source": identity, "samples": [begin, end]}
        try:
            found.append(
                _measure_piece(name, wave[begin:end], segments.shifted(piece, piece[0].begin), features, about)
            )
        except Rejected as reason:
            failed[name] = str(reason)
    return found, failed


def _measure_piece(name: str, wave: np.ndarray, piece, features: Features, about: dict) -> corpus.Utterance:
    durations = segments.frame_durations(piece, len(wave), features.sample_rate, features.hop)
    spectrum = magnitude(wave, features)
    frames = spectrum.shape[1]
    if frames != sum(durations):
        raise Rejected(f"durations add up to {sum(durations)} frames, the mel has {frames}")
    pitch = prosody.log_f0(wave, frames, features)
    energy = np.linalg.norm(spectrum.astype(np.float64), axis=0)
    return corpus.Utterance(
        id=name,
        phones=np.array([phones.SYMBOL_ID[segment.phone] for segment in piece], np.int32),
        durations=np.array(durations, np.int32),
        pitch=prosody.phone_means(pitch, durations),
        energy=prosody.phone_means(energy, durations),
        mel=log_mel_of(spectrum, features),
        about=about | {"audio_sha256": hashlib.sha256(wave.tobytes()).hexdigest()},
    )


def _items(found: list[corpus.Utterance]) -> list[duplicates.Item]:
    return [duplicates.Item(u.id, u.about["text"], u.about["audio_sha256"]) for u in found]


def _group(found: list[corpus.Utterance]) -> list[list[str]]:
    """Groups of utterances to keep in one split, printed; the parts of a long prompt share its text, so they are one."""
    pairs = list(duplicates.pairs(_items(found)))
    grouped = duplicates.groups(pairs)
    for group in grouped:
        kinds = sorted({pair.kind for pair in pairs if pair.first in group})
        print(f"duplicates ({', '.join(kinds)}): {' '.join(group)}", file=sys.stderr)
    return grouped


def _split(
    found: list[corpus.Utterance], grouped: list[list[str]], options: Options
) -> dict[str, list[corpus.Utterance]]:
    """Validation first, so that a test split changes nothing of it; what is neither is trained on."""
    ids, chosen = {u.id for u in found}, {}
    for name, share, by_hand in (
        ("validation", options.validation, options.validation_ids),
        ("test", options.test, options.test_ids),
    ):
        if by_hand:
            chosen[name] = _read_ids(by_hand, ids)
        elif share or name == "validation":
            left = ids.difference(*chosen.values())
            chosen[name] = duplicates.split(left, grouped, share * len(ids) / max(1, len(left)))
    files = [str(path) for path in (options.validation_ids, options.test_ids) if path]
    splits = {"train": [u for u in found if not any(u.id in taken for taken in chosen.values())]}
    splits |= {name: [u for u in found if u.id in taken] for name, taken in chosen.items()}
    leakage.refuse_leaks(
        {name: _items(utterances) for name, utterances in splits.items()}, " and ".join(files) or "split"
    )
    return splits


def _read_ids(path: Path, known: set[str]) -> set[str]:
    listed = set(path.read_text().split())
    if unknown := sorted(listed - known):
        raise InputError(path, f"unknown utterances {', '.join(unknown)}", "use ids of the corpus")
    return listed


def _report(manifest: dict, splits, features: Features, seconds: float) -> None:
    for entry in manifest["rejected"]:
        print(f"rejected {entry['id']}: {entry['reason']}", file=sys.stderr)
    for name, utterances in splits.items():
        frames = sum(len(u.mel) for u in utterances)
        minutes = frames * features.hop / features.sample_rate / 60
        print(
            f"{name}: {len(utterances)} utterances, {frames} frames, {minutes:.1f} minutes, {sum(len(u.phones) for u in utterances)} phones"
        )
    lengths = [u.lengths for utterances in splits.values() for u in utterances]
    shapes = ", ".join(f"text {b['text']} x frames {b['frames']}" for b in manifest["suggested_buckets"])
    padding = buckets.padding_fraction(lengths, manifest["suggested_buckets"])
    print(f"buckets: {shapes}; {padding:.1%} of frames are padding")
    print(
        f"{len(manifest['duplicate_groups'])} duplicate groups, {len(manifest['rejected'])} rejected, {seconds:.1f} s"
    )
