"""eager_bytes of a whole DiT, frame by frame: what TTS.md's table counts, its blocks, and what that leaves out."""

import dataclasses
import json
import pathlib
import subprocess
import sys

from tts.models import dit

tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(exist_ok=True)
tiny = dataclasses.replace(dit.SIZES["tiny"], batch=2)
d, w, mels = tiny.channels, tiny.text_channels, tiny.mels


def eager(blocks: int, text_blocks: int, frames: int, precision: str) -> int:
    buckets = ({"text": 8, "frames": frames},)
    config = dataclasses.replace(tiny, blocks=blocks, text_blocks=text_blocks, buckets=buckets)
    model, path = folder / "dit.mlir", folder / "plan.json"
    model.write_text(dit.text(config))
    flags = ["--memory-budget=1G", "--remat=none", "--threads=1", f"--precision={precision}", "--plan-table=none"]
    subprocess.run([tool, *flags, f"--plan-json={path}", "-o", folder / "out.mlir", model], check=True)
    return json.loads(path.read_text())["eager_bytes"]


def per_frame(blocks: int, text_blocks: int, precision: str) -> float:
    grown = eager(blocks, text_blocks, 60, precision) - eager(blocks, text_blocks, 50, precision)
    return grown / 10 / tiny.batch


for precision, block, text_block in (("fp32", (53 + 9 * 2) * d, 44 * w), ("bf16", (39 + 5 * 2) * d, 24 * w)):
    one = per_frame(1, 0, precision)
    # Mean and deviation of each norm, a log-sum-exp of each head.
    assert per_frame(2, 0, precision) - one == block + 2 * 8 + 4 * tiny.heads, precision
    assert per_frame(1, 1, precision) - one == text_block + 8, precision

# The mel, what joins it with the text, two convolutions with Mish, the last norm and layer, the loss, the index of each
# frame's phone; and the gradient that backward starts with, of a tensor as wide as a feed-forward part.
ends = 4 * mels + 4 * (2 * mels + w) + 16 * d + (12 * d + 8) + 8 * mels + 8
assert per_frame(1, 0, "fp32") == ends + (53 + 9 * 2) * d + 2 * 8 + 4 * tiny.heads + max(8 * d, 4 * (2 * mels + w))
