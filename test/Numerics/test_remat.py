"""Computing forward values again in backward changes no bit: plans from "keep everything" to "as little as possible"."""

import json
import subprocess

import numpy as np
import pytest

from machine import Machine, tool
from speech import utterances
from tts.models.fastspeech2 import SIZES, text, with_postnet
from tts.runtime import Session

UPDATES = 20


def compiled(folder, name: str, postnet: bool, *flags: str) -> tuple[Session, dict]:
    """With a PostNet, whose running statistics a second forward must not move, the batch is not split."""
    source, library = folder / "model.mlir", folder / f"{name}.so"
    source.write_text(text(with_postnet(SIZES["tiny"]) if postnet else SIZES["tiny"]))
    fixed = [
        "--batch=4",
        "--micro-batch=4" if postnet else "--micro-batch=2",
        "--bucket=text=12,frames=40",
        "--threads=1",
    ]
    command = [tool("tts-compile"), *fixed, *flags, source, "-o", library]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return Session(library), json.loads((folder / f"{name}.plan.json").read_text())


def trained(session: Session):
    machine = Machine(session, session.buckets[0]["micro_batch"])
    session.initialise(5)
    told = []
    for update in range(1, UPDATES + 1):
        batch = utterances([(12, 40), (5, 23), (9, 31), (11, 38)], SIZES["tiny"].symbols)
        told.append(session.step(machine.cut(batch), 1e-3, update=update, seed=9))
    state = {n: session.read(n) for n in session.parameters} | machine.read("moment2:")
    machine.close()
    return told, state


@pytest.mark.parametrize("precision, postnet", [("fp32", False), ("fp64", False), ("fp32", True)])
def test_recomputing_changes_no_bit(tmp_path, precision, postnet):
    kind = f"--precision={precision}"
    none, all_kept = compiled(tmp_path, "none", postnet, "--memory-budget=4G", "--remat=none", kind)
    full, least = compiled(tmp_path, "full", postnet, "--memory-budget=4G", "--remat=full", kind)
    between = (all_kept["peak_bytes"] + least["peak_bytes"]) // 2
    auto, some = compiled(tmp_path, "auto", postnet, f"--memory-budget={between}", kind)

    peaks = [plan["arena_bytes"] for plan in (all_kept, some, least)]
    assert peaks[0] > peaks[1] > peaks[2]
    parts = [plan["buckets"][0]["recompute_flops_fraction"] for plan in (all_kept, some, least)]
    assert parts[0] == 0 and parts[1] < parts[2] < 1
    assert [plan["buckets"][0]["remat"] for plan in (all_kept, least)] == ["none", "partial"]

    told, state = trained(none)
    for session in (auto, full):
        other, values = trained(session)
        assert other == told
        for name, value in state.items():
            assert np.array_equal(value, values[name]), name
