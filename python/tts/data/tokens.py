"""A corpus of token streams made of a corpus of mels: per utterance its phones, then the codes of its mel.

A stream is `phones… begin codes… end`; the model reads all but the last of it (`tokens`) and predicts all but the first
(`targets`). Phones are given, so targets that are phones, or the mark behind them, are ignored.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts.data import buckets, codec, corpus, duplicates, shards
from tts.data.errors import InputError

IGNORED = -100  # as in PyTorch
CODEBOOKS = "codebooks.safetensors"
INPUTS = {"tokens": {"dtype": "I32", "dims": ["frames"]}, "targets": {"dtype": "I32", "dims": ["frames"]}}


@dataclass(frozen=True)
class Vocabulary:
    """Phones keep their ids; then the two marks, then the codes of level 1, of level 2, …"""

    phones: int
    levels: int
    codes: int

    @property
    def begin(self) -> int:
        return self.phones

    @property
    def end(self) -> int:
        return self.phones + 1

    @property
    def tokens(self) -> int:
        return self.phones + 2 + self.levels * self.codes

    def of_codes(self, named: np.ndarray) -> np.ndarray:
        """[vectors, levels] in a row, the levels of a vector side by side."""
        return (named + self.phones + 2 + self.codes * np.arange(self.levels)).ravel()

    def to_codes(self, stream: np.ndarray) -> np.ndarray:
        """The inverse: [vectors, levels] of what stands between the marks."""
        named = np.asarray(stream).reshape(-1, self.levels)
        return named - self.phones - 2 - self.codes * np.arange(self.levels)


@dataclass(frozen=True)
class Row:
    """What one row of the corpus holds: a stream or several, and how many of its targets are ignored."""

    tokens: np.ndarray
    targets: np.ndarray

    @property
    def lengths(self) -> tuple[int, int]:
        """(given, all) steps: the text and frames of the histogram."""
        return int((self.targets == IGNORED).sum()), len(self.tokens)

    def tensors(self) -> dict[str, np.ndarray]:
        return {"tokens": self.tokens.astype(np.int32), "targets": self.targets.astype(np.int32)}


def row(phones: np.ndarray, codes: np.ndarray, words: Vocabulary) -> Row:
    stream = np.concatenate([phones, [words.begin], codes, [words.end]])
    targets = stream[1:].copy()
    targets[: len(phones)] = IGNORED
    return Row(stream[:-1], targets)


def packed(rows: dict[str, Row], most: int) -> dict[str, Row]:
    """Utterances one behind the other in rows of at most `most` steps, in a fixed order; named after the first of each.

    A later utterance sees the earlier ones of its row, as documents do in a GPT's training.
    """
    whole: dict[str, list[Row]] = {}
    name, room = "", 0
    for identity in sorted(rows, key=duplicates.rank):
        one = rows[identity]
        if len(one.tokens) > room or not name:
            name, room = f"{identity}.row", most
            whole[name] = []
        whole[name].append(one)
        room -= len(one.tokens)
    join = lambda parts: np.concatenate(list(parts))  # noqa: E731
    return {n: Row(join(r.tokens for r in parts), join(r.targets for r in parts)) for n, parts in whole.items()}


def run(arguments: argparse.Namespace) -> None:
    manifest = make(
        arguments.corpus,
        arguments.out,
        stack=arguments.stack,
        levels=arguments.levels,
        codes=arguments.codes,
        seed=arguments.seed,
        pack=arguments.pack,
    )
    told = manifest["codec"]
    counts = ", ".join(f"{name} {split['utterances']}" for name, split in manifest["splits"].items())
    kept = ", ".join(f"{name} {share:.1%}" for name, share in told["explained"].items())
    print(f"{arguments.out}: {counts} rows of {told['tokens']} tokens; the codec keeps of the mels' variance: {kept}")


def make(
    source: Path,
    out: Path,
    *,
    stack: int = 2,
    levels: int = 2,
    codes: int = 256,
    seed: int = 0,
    pack: int | None = None,
) -> dict:
    """Writes the corpus of tokens and returns its manifest."""
    if Path(out).absolute() == Path(source).absolute():
        raise InputError(out, "is the corpus of mels itself", "give another --out")
    manifest = corpus.read_manifest(source)
    if "mel" not in manifest.get("inputs", {}):
        raise InputError(source, "has no mels", "give a corpus of python -m tts.data prepare or synthetic")
    spoken = {split: _utterances(source, manifest, split) for split in corpus.splits_of(manifest)}
    mels = {split: [u["mel"] for u in found.values()] for split, found in spoken.items()}
    learned = codec.learn(mels["train"], stack, levels, codes, seed)
    words = Vocabulary(len(manifest["symbols"]), levels, codes)
    splits = {
        split: {
            identity: row(u["phones"], words.of_codes(learned.encode(u["mel"])), words) for identity, u in found.items()
        }
        for split, found in spoken.items()
    }
    if pack:
        _refuse_longer(splits, pack)
        splits = {split: packed(rows, pack) for split, rows in splits.items()}
    told = {
        "tokens": words.tokens,
        "phones": words.phones,
        "begin": words.begin,
        "end": words.end,
        "levels": levels,
        "codes": codes,
        "stack": stack,
        "seed": seed,
        "pack": pack,
        "ignored": IGNORED,
        "explained": {split: round(codec.explained(learned, found), 4) for split, found in mels.items() if found},
    }
    return _write(out, manifest, splits, learned, told)


def _refuse_longer(splits: dict[str, dict[str, Row]], most: int) -> None:
    longest = max((len(r.tokens), identity) for rows in splits.values() for identity, r in rows.items())
    if longest[0] > most:
        raise InputError("--pack", f"{longest[1]} alone has {longest[0]} steps", "raise --pack or --stack")


def _utterances(source: Path, manifest: dict, split: str) -> dict[str, dict[str, np.ndarray]]:
    found = {}
    for name in manifest["splits"][split]["files"]:
        tensors, metadata = shards.read(source / name)
        for identity in filter(None, metadata["ids"].split(",")):
            found[identity] = {kind: tensors[f"{identity}/{kind}"] for kind in ("phones", "mel")}
    return found


def _write(out: Path, source: dict, splits: dict[str, dict[str, Row]], learned: codec.Codec, told: dict) -> dict:
    lengths = {split: [r.lengths for r in rows.values()] for split, rows in splits.items()}
    suggested = buckets.suggest([(0, steps) for pairs in lengths.values() for _, steps in pairs])
    books = shards.encode({"codebooks": learned.codebooks}, {"stack": str(learned.stack)})
    manifest = {
        "version": corpus.VERSION,
        "features": source["features"],
        "features_hash": source["features_hash"],
        "symbols": source["symbols"],
        "inputs": INPUTS,
        "codec": told | {"codebooks": CODEBOOKS, "codebooks_sha256": shards.sha256(books)},
        "splits": {},
        "length_histogram": {split: corpus.histogram(pairs) for split, pairs in lengths.items()},
        "suggested_buckets": [{"frames": bucket["frames"]} for bucket in suggested],
        # Rows of several utterances are none of the source's.
        "duplicate_groups": [] if told["pack"] else source["duplicate_groups"],
        "rejected": source["rejected"],
        "statistics": source["statistics"],
    }
    with corpus.replacing(Path(out)) as folder:
        for split, rows in splits.items():
            makers = {identity: one.tensors for identity, one in rows.items()}
            manifest["splits"][split] = corpus.write_split(folder, split, makers)
        (folder / CODEBOOKS).write_bytes(books)
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def read_codec(folder: Path, manifest: dict) -> codec.Codec:
    """The codec that made the tokens of a corpus."""
    path = Path(folder) / manifest["codec"]["codebooks"]
    data = path.read_bytes()
    if shards.sha256(data) != manifest["codec"]["codebooks_sha256"]:
        raise InputError(path, "its sha256 is not the manifest's", "restore it, or make the corpus again")
    return codec.Codec(manifest["codec"]["stack"], shards.decode(data, path)[0]["codebooks"])
