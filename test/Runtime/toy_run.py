"""Where the toy's programs are, and what a run of one left."""

import json
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin")).parent / "test" / "bin"


class Finished:
    """What a run left: exit code, text, metrics."""

    def __init__(self, done, log):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        path = log / "metrics.jsonl"
        self.lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        self.updates = [line for line in self.lines if "loss" in line]
        self.validations = [line for line in self.lines if "val_loss" in line]

    def refused(self, code, *words):
        """One line `error: place: what; what to do` with these words, and that exit code."""
        assert self.code == code, (self.code, self.err)
        assert self.err.startswith("error: ") and self.err.count("\n") == 1 and "; " in self.err, self.err
        for word in words:
            assert word in self.err, self.err
