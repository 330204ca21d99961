"""Fixtures of the runtime's end-to-end tests: the toy model's `train`, and small corpora written on the spot."""

import json
import os
import resource
import subprocess
from pathlib import Path

import numpy as np
import pytest
from toy_run import BUILT, Finished

from tts.data import shards

INPUTS = {"phones": {"dtype": "I32", "dims": ["text"]}, "mel": {"dtype": "F32", "dims": ["frames", 2]}}


class Corpus:
    """Utterances of given lengths (text and frames alike) in a corpus directory."""

    def __init__(self, folder: Path, lengths, validation=5, shard_count=4, poison=None):
        self.folder, self.utterances, splits = folder, {}, {}
        folder.mkdir(parents=True)
        draw = np.random.default_rng(0)
        for split, own in (("train", lengths), ("validation", lengths[:validation])):
            names = [f"{split[0]}{i:04d}" for i in range(len(own))]
            for name, length in zip(names, own):
                mel = draw.normal(size=(length, 2)).astype(np.float32)
                if name == poison:
                    mel[0, 0] = np.nan
                phones = draw.integers(1, 9, size=length).astype(np.int32)
                self.utterances[name] = {"phones": phones, "mel": mel}
            splits[split] = self._write(split, names, shard_count)
        self.validation = [name for name in self.utterances if name[0] == "v"]
        manifest = {"version": 1, "features_hash": "abc", "inputs": INPUTS, "splits": splits}
        (folder / "manifest.json").write_text(json.dumps(manifest))

    def _write(self, split, names, count):
        files, headers = [], []
        for shard in range(count):
            own = names[shard::count]
            tensors = {f"{name}/{key}": t for name in own for key, t in self.utterances[name].items()}
            files.append(f"{split}-{shard:05d}-of-{count:05d}.safetensors")
            metadata = {"ids": ",".join(own), "split": split, "shard": str(shard), "crc32": shards.crc32s(tensors)}
            data = shards.encode(tensors, metadata)
            headers.append(shards.header_crc32(data))
            (self.folder / files[-1]).write_bytes(data)
        return {"shards": count, "utterances": len(names), "files": files, "header_crc32": headers}


@pytest.fixture
def make_corpus(tmp_path):
    """A function that writes a corpus: make_corpus(lengths, …)."""

    def make(lengths=None, name="corpus", **more):
        return Corpus(tmp_path / name, lengths or [1 + i % 16 for i in range(30)], **more)

    return make


@pytest.fixture
def corpus(make_corpus):
    return make_corpus()


@pytest.fixture
def program():
    path = BUILT / "tts-toy-train"
    assert path.exists(), f"{path} is not built"
    return path


@pytest.fixture
def model_library():
    path = BUILT / "tts-toy-model.so"
    assert path.exists(), f"{path} is not built"
    return path


@pytest.fixture
def train(program, corpus, tmp_path):
    """A function that runs the toy's train: train("--steps=3", data=…, log=…, env=…, file_limit=…)."""

    def run(*flags, data=None, log="log", env=None, file_limit=None):
        folder = tmp_path / log
        command = [program, f"--data={data or corpus.folder}", f"--log-dir={folder}", *flags]

        def limit():
            if file_limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, **(env or {})},
            preexec_fn=limit,
            restore_signals=False,  # Python ignores SIGXFSZ: a write past the limit is an error, not a signal
            cwd=tmp_path,
            timeout=120,
        )
        return Finished(done, folder)

    return run


@pytest.fixture
def tensors():
    """A function that reads a safetensors file as arrays."""
    return lambda path: shards.decode(Path(path).read_bytes(), path)[0]
