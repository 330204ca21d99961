"""Verifies a corpus directory: manifest, hashes, every shard and tensor, lengths, and that the splits share no speech."""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np

from tts.audio.features import Features
from tts.data import corpus, leakage, shards, tokens
from tts.data.duplicates import Item
from tts.data.errors import InputError

_AGAIN = "prepare the corpus again"
_NEEDED = ("features", "features_hash", "symbols", "inputs", "statistics", "splits", "length_histogram",
           "suggested_buckets", "duplicate_groups", "rejected")  # fmt: skip


def check(folder: Path) -> str:
    """A line about the sound corpus; raises InputError at the first fault."""
    manifest = corpus.read_manifest(folder)
    place = folder / "manifest.json"
    for name in _NEEDED:
        if name not in manifest:
            raise InputError(place, f"field {name} is missing", _AGAIN)
    try:
        features = Features.from_manifest(manifest, place)
        of_tokens = "codec" in manifest
        if manifest["inputs"] != (tokens.INPUTS if of_tokens else corpus.inputs(features.n_mels)):
            raise InputError(place, "inputs are not those of this version", _AGAIN)
        if of_tokens:
            tokens.read_codec(folder, manifest)
        lengths = {}
        for split in corpus.splits_of(manifest):
            lengths[split] = _check_split(folder, manifest, split)
            _check_histogram(place, manifest, split, list(lengths[split].values()))
        _check_buckets(place, manifest["suggested_buckets"], lengths)
        _check_groups(place, manifest, lengths)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(place, f"a field is missing or of the wrong kind ({error})", _AGAIN) from error
    told = ", ".join(f"{split} {len(found)} utterances" for split, found in lengths.items())
    return f"{folder}: sound; {told}, {sum(f for found in lengths.values() for _, f in found.values())} frames"


def _check_split(folder: Path, manifest: dict, split: str) -> dict[str, tuple[int, int]]:
    """The (text, frames) of every utterance of a split."""
    told = manifest["splits"][split]
    names = [corpus.shard_name(split, shard) for shard in range(corpus.SHARDS)]
    if told["shards"] != corpus.SHARDS or told["files"] != names or len(told["sha256"]) != corpus.SHARDS:
        raise InputError(folder / "manifest.json", f"split {split} does not list its {corpus.SHARDS} shards", _AGAIN)
    lengths: dict[str, tuple[int, int]] = {}
    for shard, (name, expected) in enumerate(zip(names, told["sha256"], strict=True)):
        path = folder / name
        if not path.exists():
            raise InputError(path, "the shard is missing", "restore it, or prepare the corpus again")
        data = path.read_bytes()
        tensors, metadata = shards.decode(data, path)
        if shards.sha256(data) != expected:
            raise InputError(path, "its sha256 is not the manifest's", "restore it, or prepare the corpus again")
        sealed = shards.header_crc32(data), shards.crc32s(tensors)
        ids = [identity for identity in metadata.get("ids", "").split(",") if identity]
        if (metadata.get("split"), metadata.get("shard")) != (split, str(shard)):
            raise InputError(path, "its metadata names another shard", _AGAIN)
        for identity in ids:
            if corpus.shard_of(identity) != shard or not corpus.ID.fullmatch(identity):
                raise InputError(path, f"utterance {identity} does not belong in this shard", _AGAIN)
            lengths[identity] = _check_utterance(path, identity, tensors, manifest)
        if tensors:
            raise InputError(path, f"tensor {next(iter(tensors))} belongs to no listed utterance", _AGAIN)
        if "header_crc32" in told and sealed != (told["header_crc32"][shard], metadata.get("crc32")):
            raise InputError(path, "its checksums are not those of its header and tensors", _AGAIN)
    if len(lengths) != told["utterances"]:
        raise InputError(
            folder / "manifest.json", f"split {split} has {len(lengths)} utterances, not {told['utterances']}", _AGAIN
        )
    return lengths


def _check_utterance(path: Path, identity: str, tensors: dict[str, np.ndarray], manifest: dict) -> tuple[int, int]:
    """Takes the utterance's tensors out of `tensors` and verifies them."""
    dims: dict[str, int] = {}
    values = {}
    for name, kind in manifest["inputs"].items():
        value = tensors.pop(f"{identity}/{name}", None)
        if value is None:
            raise InputError(path, f"{identity} has no {name}", _AGAIN)
        if value.dtype != shards.DTYPES[kind["dtype"]] or value.ndim != len(kind["dims"]):
            raise InputError(
                path,
                f"{identity}/{name} is {value.dtype}{list(value.shape)}, not {kind['dtype']}{kind['dims']}",
                _AGAIN,
            )
        for size, dim in zip(value.shape, kind["dims"], strict=True):
            if size != (dims.setdefault(dim, size) if isinstance(dim, str) else dim):
                raise InputError(path, f"{identity}/{name} has {size} for dimension {dim}", _AGAIN)
        if not np.isfinite(value).all():
            raise InputError(path, f"{identity}/{name} has a value that is not finite", _AGAIN)
        values[name] = value
    if "codec" in manifest:
        return _check_tokens(path, identity, values, manifest["codec"])
    if values["phones"].size == 0 or values["phones"].min() < 1 or values["phones"].max() >= len(manifest["symbols"]):
        raise InputError(path, f"{identity} has a phone outside the {len(manifest['symbols'])} symbols", _AGAIN)
    if values["durations"].min() < 1 or values["durations"].sum(dtype=np.int64) != dims["frames"]:
        raise InputError(
            path,
            f"{identity}: durations add up to {values['durations'].sum()}, the mel has {dims['frames']} frames",
            _AGAIN,
        )
    return dims["text"], dims["frames"]


def _check_tokens(path: Path, identity: str, values: dict[str, np.ndarray], codec: dict) -> tuple[int, int]:
    """Every target is the next token, or ignored, or ends an utterance of a row of several; all are the codec's."""
    read, targets = values["tokens"], values["targets"]
    told = targets != codec["ignored"]
    if not told.any():
        raise InputError(path, f"{identity} has nothing to predict", _AGAIN)
    if read.min() < 1 or max(read.max(), targets.max()) >= codec["tokens"] or (targets[told] < 1).any():
        raise InputError(path, f"{identity} has a token outside the {codec['tokens']} of its codec", _AGAIN)
    if (told & (targets != np.append(read[1:], codec["end"])) & (targets != codec["end"])).any():
        raise InputError(path, f"{identity} has a target that is not the next token", _AGAIN)
    return int((~told).sum()), len(read)


def _check_histogram(place: Path, manifest: dict, split: str, lengths: list[tuple[int, int]]) -> None:
    told = {(text, frames): count for text, frames, count in manifest["length_histogram"][split]}
    if told != Counter(lengths):
        raise InputError(place, f"length_histogram of {split} is not that of its shards", _AGAIN)


def _check_buckets(place: Path, suggested: list[dict], lengths: dict[str, dict[str, tuple[int, int]]]) -> None:
    for split, found in lengths.items():
        for identity, (text, frames) in found.items():
            if not any(text <= b.get("text", text) and frames <= b["frames"] for b in suggested):
                raise InputError(
                    place, f"{identity} of {split} ({text} phones, {frames} frames) fits no suggested bucket", _AGAIN
                )
    for smaller, larger in itertools.pairwise(suggested):
        if any(smaller[dim] > larger[dim] for dim in smaller):
            raise InputError(place, "suggested_buckets are not ascending", _AGAIN)


def _check_groups(place: Path, manifest: dict, lengths: dict[str, dict[str, tuple[int, int]]]) -> None:
    counts = Counter(identity for found in lengths.values() for identity in found)
    if both := sorted(identity for identity, count in counts.items() if count > 1):
        raise InputError(place, f"utterances in two splits: {', '.join(both)}", _AGAIN)
    for group in manifest["duplicate_groups"]:
        homes = {split for split in lengths for identity in group if identity in lengths[split]}
        if len(homes) > 1:
            raise InputError(place, f"the duplicates {', '.join(group)} are in two splits", _AGAIN)
    about = manifest.get("utterances", {})
    items = {
        split: [Item(i, about[i].get("text", ""), about[i].get("audio_sha256", "")) for i in found if i in about]
        for split, found in lengths.items()
    }
    leakage.refuse_leaks(items, place)
