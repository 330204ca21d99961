"""How much of the gradients' sum is hidden behind backward, on a link of 1 Gbit/s between two network namespaces.

    .venv/bin/python benchmarks/ranks/overlap.py                                # as root; the DiT twin
    .venv/bin/python benchmarks/ranks/overlap.py --rate=200mbit --batch=8

Two ranks of one thread, each in a namespace of its own, joined by a pair of virtual cards whose traffic a token bucket (tc, tbf)
limits. The same program is trained in turns, --rounds times: over the link as it is, over the link with sums made when backward
has ended (TTS_EARLY_SUMS=0), and over an unlimited link. A side's time is the sum over updates of each one's least seconds. What
the sum costs when nothing hides it is the second less the third; hidden is what of it the first does not pay. At least 80 %
is wanted; 3 is the exit status below it. Only the last backward of an update can hide anything, so a rank's share is one micro-batch. Not
with a real-time priority, by which the thread that sums would wait for the one that computes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from tts.data.errors import InputError, Parser, run_tool

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
NAMES = ("tts-rank-0", "tts-rank-1")
CARDS = ("tts0", "tts1")
ADDRESSES = ("10.77.0.1", "10.77.0.2")


def call(*command: object, **options: object) -> None:
    """Runs a program and hands on what it says where it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=ENVIRONMENT, **options)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise InputError(" ".join(str(part) for part in command[:4]), said, "see above")


def limit(rate: str | None) -> None:
    """Both directions of the link at a rate of tc's, or as fast as memory."""
    for name, card in zip(NAMES, CARDS, strict=True):
        shape = ("tc", "-n", name, "qdisc")
        subprocess.run([*shape, "del", "dev", card, "root"], capture_output=True)
        if rate:
            call(*shape, "add", "dev", card, "root", "tbf", "rate", rate, "burst", "256k", "latency", "50ms")


@contextmanager
def namespaces() -> Iterator[None]:
    """Two of them with a card each."""
    try:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
            call("ip", "netns", "add", name)
        call("ip", "-n", NAMES[0], "link", "add", CARDS[0], "type", "veth", "peer", "name", CARDS[1], "netns", NAMES[1])
        for name, card, address in zip(NAMES, CARDS, ADDRESSES, strict=True):
            call("ip", "-n", name, "address", "add", f"{address}/24", "dev", card)
            for up in ("lo", card):
                call("ip", "-n", name, "link", "set", up, "up")
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def write_agent(folder: Path) -> Path:
    """What mpirun starts its daemon on the other host with: the host is a namespace, its name an address."""
    agent = folder / "agent"
    cases = "\n".join(f"  {a}) name={n};;" for a, n in zip(ADDRESSES, NAMES, strict=True))
    text = f'#!/bin/sh\ncase "$1" in\n{cases}\nesac\nshift\nexec ip netns exec "$name" sh -c "$*"\n'
    agent.write_text(text)
    agent.chmod(0o755)
    return agent


def train(folder: Path, steps: int, early: bool) -> list[float]:
    """Seconds of each update but the first."""
    log = folder / "log"
    own = f"{ADDRESSES[0].rsplit('.', 1)[0]}.0/24"
    mpirun = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-n", "2", "--map-by", "node"]
    mpirun += [
        "--host",
        ",".join(ADDRESSES),
        "--mca",
        "plm_rsh_agent",
        str(folder / "agent"),
        "--mca",
        "btl",
        "tcp,self",
    ]
    mpirun += ["--mca", "btl_tcp_if_include", own, "--mca", "oob_tcp_if_include", own, "--mca", "pml", "ob1"]
    mpirun += ["-x", "OMP_NUM_THREADS=1", "-x", f"TTS_EARLY_SUMS={int(early)}"]
    run = [folder / "train", f"--data={folder / 'corpus'}", f"--steps={steps + 1}", f"--log-dir={log}", "--seed=1"]
    call("ip", "netns", "exec", NAMES[0], *mpirun, *run, timeout=600)
    lines = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
    return [line["seconds"] for line in lines if "seconds" in line and "loss" in line][1:]


def main() -> int:
    parser = Parser(prog="overlap", description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="dit", help="a module of tts.models")
    parser.add_argument("--size", default="small")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--bucket", default="text=24,frames=96", help="one, as large as the corpus' utterances")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", default="1gbit")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, namespaces():
        folder = Path(name)
        corpus, model = folder / "corpus", folder / "model.mlir"
        call(sys.executable, "-m", "tts.data", "synthetic", f"--out={corpus}", "--utterances=1600", "--seed=1")
        flags = (f"--size={arguments.size}", f"--batch={arguments.batch}", f"--corpus={corpus}", "-o", model)
        call(sys.executable, "-m", f"tts.models.{arguments.model}", *flags)
        flags = ("--memory-budget=16G", "--ranks=2", "--threads=1", f"--bucket={arguments.bucket}")
        flags += (f"--micro-batch={arguments.batch // 2}",)
        call(BIN / "tts-compile", *flags, model, "-o", folder / "train")
        write_agent(folder)
        sides = {"early": (arguments.rate, True), "late": (arguments.rate, False), "unlimited": (None, False)}
        least: dict[str, list[float]] = {}
        for round_ in range(arguments.rounds):
            for side, (rate, early) in sides.items():
                limit(rate)
                seconds = train(folder, arguments.steps, early)
                least[side] = [min(pair) for pair in zip(least.get(side, seconds), seconds, strict=True)]
            print(f"round {round_ + 1} of {arguments.rounds}", file=sys.stderr)
    total = {side: sum(seconds) / arguments.steps for side, seconds in least.items()}
    cost = total["late"] - total["unlimited"]
    hidden = (total["late"] - total["early"]) / cost
    print(
        f"sums behind backward {total['early']:.4f} s/update, after it {total['late']:.4f}, no limit {total['unlimited']:.4f}"
    )
    print(f"the sum costs {cost:.4f} s over {arguments.rate}; {100 * hidden:.1f} % of it is hidden (bar 80 %)")
    return 0 if hidden >= 0.8 else 3


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
