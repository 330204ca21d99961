"""The corpus directory: manifest.json and 64 virtual shards per split, written whole or not at all."""

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tts.audio.features import Features
from tts.data import buckets, shards
from tts.data.errors import InputError

VERSION, SHARDS = 1, 64
SPLITS = ("train", "validation")  # of every corpus; "test" may be there, too
ID = re.compile(r"[A-Za-z0-9_.-]+")


def inputs(n_mels: int) -> dict[str, dict]:
    """The tensors stored per utterance."""
    return {
        "phones": {"dtype": "I32", "dims": ["text"]},
        "durations": {"dtype": "I32", "dims": ["text"]},
        "pitch": {"dtype": "F32", "dims": ["text"]},
        "energy": {"dtype": "F32", "dims": ["text"]},
        "mel": {"dtype": "F32", "dims": ["frames", n_mels]},
    }


@dataclass
class Utterance:
    """One utterance before standardisation: log-F0, energy and log-mel in their own scales."""

    id: str
    phones: np.ndarray
    durations: np.ndarray
    pitch: np.ndarray
    energy: np.ndarray
    mel: np.ndarray
    about: dict = field(default_factory=dict)  # text, audio hash and origin, for the manifest

    @property
    def lengths(self) -> tuple[int, int]:
        return len(self.phones), len(self.mel)


def splits_of(manifest: dict) -> list[str]:
    """Those that a corpus must have, then the others it lists."""
    return [*SPLITS, *(name for name in manifest["splits"] if name not in SPLITS)]


def shard_of(identity: str) -> int:
    return int.from_bytes(hashlib.sha256(identity.encode()).digest(), "big") % SHARDS


def shard_name(split: str, shard: int) -> str:
    return f"{split}-{shard:05d}-of-{SHARDS:05d}.safetensors"


def statistics(train: list[Utterance]) -> dict[str, float]:
    """Scalar mean and deviation of mel, pitch and energy over the training split, and the standardised range of the last two."""
    if not train:
        raise InputError("corpus", "no utterance is left for training", "see the rejected ones above, or raise --limit")
    told: dict[str, float] = {}
    for name in ("mel", "pitch", "energy"):
        values = np.concatenate([np.asarray(getattr(u, name), np.float64).ravel() for u in train])
        mean, deviation = float(values.mean()), float(values.std()) or 1.0
        told |= {f"{name}_mean": mean, f"{name}_std": deviation}
        if name != "mel":
            told |= {f"{name}_min": float((values.min() - mean) / deviation)}
            told |= {f"{name}_max": float((values.max() - mean) / deviation)}
    told["log_duration_mean"] = float(np.log1p(np.concatenate([u.durations for u in train])).mean())
    return told


def tensors(utterance: Utterance, stats: dict) -> dict[str, np.ndarray]:
    """What the shard stores: standardised by the training split's scalars."""

    def standard(name: str) -> np.ndarray:
        values = np.asarray(getattr(utterance, name), np.float64)
        return ((values - stats[f"{name}_mean"]) / stats[f"{name}_std"]).astype(np.float32)

    return {
        "phones": np.asarray(utterance.phones, np.int32),
        "durations": np.asarray(utterance.durations, np.int32),
        "pitch": standard("pitch"),
        "energy": standard("energy"),
        "mel": standard("mel"),
    }


def histogram(lengths: list[tuple[int, int]]) -> list[list[int]]:
    return [[text, frames, count] for (text, frames), count in sorted(Counter(lengths).items())]


def write(out: Path, features: Features, symbols: list[str], splits: dict[str, list[Utterance]], extra: dict) -> dict:
    """Writes the corpus; `extra` adds to the manifest (duplicate groups, rejected ids, source)."""
    stats = statistics(splits["train"])
    lengths = {name: [u.lengths for u in utterances] for name, utterances in splits.items()}
    manifest = {
        "version": VERSION,
        "features": features.describe(),
        "features_hash": features.hash(),
        "symbols": symbols,
        "inputs": inputs(features.n_mels),
        "statistics": stats,
        "mel_scale": "stored mel = (log mel - mel_mean) / mel_std",
        "splits": {},
        "length_histogram": {name: histogram(pairs) for name, pairs in lengths.items()},
        "suggested_buckets": buckets.suggest([pair for pairs in lengths.values() for pair in pairs]),
        "duplicate_groups": [],
        "rejected": [],
    } | extra
    with replacing(out) as folder:
        for name, utterances in splits.items():
            manifest["splits"][name] = _write_split(folder, name, utterances, stats)
        abouts = {u.id: u.about for utterances in splits.values() for u in utterances if u.about}
        if abouts:
            manifest["utterances"] = dict(sorted(abouts.items()))
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def _write_split(folder: Path, split: str, utterances: list[Utterance], stats: dict) -> dict:
    return write_split(folder, split, {u.id: lambda u=u: tensors(u, stats) for u in utterances})


def write_split(folder: Path, split: str, rows: dict[str, Callable[[], dict[str, np.ndarray]]]) -> dict:
    """Writes the shards of a split, told how to make each utterance's tensors; returns what the manifest says of it."""
    dealt: list[list[str]] = [[] for _ in range(SHARDS)]
    for identity in sorted(rows):
        dealt[shard_of(identity)].append(identity)
    files, hashes, headers = [], [], []
    for shard, members in enumerate(dealt):
        stored = {f"{identity}/{name}": value for identity in members for name, value in rows[identity]().items()}
        metadata = {"ids": ",".join(members), "split": split, "shard": str(shard), "crc32": shards.crc32s(stored)}
        data = shards.encode(stored, metadata)
        files.append(shard_name(split, shard))
        hashes.append(shards.sha256(data))
        headers.append(shards.header_crc32(data))
        (folder / files[-1]).write_bytes(data)
    return {"shards": SHARDS, "utterances": len(rows), "files": files, "sha256": hashes, "header_crc32": headers}


@contextlib.contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A folder beside `out` that takes its place at the end; an older corpus there goes, anything else is refused."""
    out = out.absolute()
    if out.exists() and not (out / "manifest.json").exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(out, "exists and is not a corpus", "give another --out, or remove it")
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = out.with_name(f".{out.name}.{os.getpid()}.new")
    old = out.with_name(f".{out.name}.{os.getpid()}.old")
    folder.mkdir()
    try:
        yield folder
        if out.exists():
            out.rename(old)
        try:
            folder.rename(out)
        except OSError:
            if old.exists():
                old.rename(out)
            raise
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_manifest(folder: Path) -> dict:
    path = folder / "manifest.json" if folder.is_dir() else folder
    try:
        manifest = json.loads(path.read_text())
        version = manifest["version"]
    except FileNotFoundError as error:
        raise InputError(path, "missing", "prepare the corpus with python -m tts.data prepare") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(path, f"not a corpus manifest ({error})", "prepare the corpus again") from error
    if version != VERSION:
        raise InputError(path, f"version {version}, this code reads {VERSION}", "prepare the corpus again")
    return manifest
