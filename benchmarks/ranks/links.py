"""Ranks in network namespaces, joined by cards whose traffic a token bucket (tc, tbf) limits: what the benchmarks of links share. As root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from tts.data.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
BRIDGE = "tts-switch"
# Before a program, where a busy machine is to serve it first: a core for each rank, or cores that they share evenly.
URGENT = ("chrt", "-f", "10")
SHARING = ("sh", "-c", 'echo -20 > /proc/$$/autogroup; exec nice -n -20 "$0" "$@"')


def call(*command: object, **options: object) -> str:
    """What a program says; hands on its error where it fails."""
    command = tuple(str(part) for part in command)
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, **options)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise InputError(" ".join(command[:4]), said, "see above")
    return done.stdout + done.stderr


def urgent(ranks: int) -> tuple[str, ...]:
    return URGENT if ranks <= (os.cpu_count() or 1) else SHARING


def name_of(rank: int) -> str:
    return f"tts-rank-{rank}"


def address_of(rank: int) -> str:
    return f"10.77.0.{rank + 1}"


def limit(ranks: int, rate: str | None, burst: str = "64k", queue: str = "50ms") -> None:
    """What each rank sends at a rate of tc's, or as fast as memory."""
    for rank in range(ranks):
        shape = ("tc", "-n", name_of(rank), "qdisc")
        subprocess.run([*shape, "del", "dev", "tts0", "root"], capture_output=True)
        if rate:
            call(*shape, "add", "dev", "tts0", "root", "tbf", "rate", rate, "burst", burst, "latency", queue)


def remove(ranks: int) -> None:
    for name in (*(name_of(rank) for rank in range(ranks)), BRIDGE):
        subprocess.run(["ip", "netns", "del", name], capture_output=True)


@contextmanager
def namespaces(ranks: int) -> Iterator[None]:
    """One for each rank, and one with a switch between their cards."""
    try:
        remove(ranks)
        call("ip", "netns", "add", BRIDGE)
        call("ip", "-n", BRIDGE, "link", "add", "switch", "type", "bridge")
        call("ip", "-n", BRIDGE, "link", "set", "switch", "up")
        for rank in range(ranks):
            name, port = name_of(rank), f"port{rank}"
            call("ip", "netns", "add", name)
            call("ip", "-n", name, "link", "add", "tts0", "type", "veth", "peer", "name", port, "netns", BRIDGE)
            call("ip", "-n", name, "address", "add", f"{address_of(rank)}/24", "dev", "tts0")
            call("ip", "-n", BRIDGE, "link", "set", port, "master", "switch")
            call("ip", "-n", BRIDGE, "link", "set", port, "up")
            for up in ("lo", "tts0"):
                call("ip", "-n", name, "link", "set", up, "up")
        yield
    finally:
        remove(ranks)


def write_agent(folder: Path, ranks: int) -> Path:
    """What mpirun starts its daemon on another host with: the host is a namespace, its name an address."""
    agent = folder / "agent"
    cases = "\n".join(f"  {address_of(rank)}) name={name_of(rank)};;" for rank in range(ranks))
    text = f'#!/bin/sh\ncase "$1" in\n{cases}\nesac\nshift\nexec ip netns exec "$name" sh -c "$*"\n'
    agent.write_text(text)
    agent.chmod(0o755)
    return agent


def launcher(folder: Path, ranks: int, **environment: object) -> list[str]:
    """Before the program: mpirun with a rank of one thread in each namespace."""
    hosts = ",".join(address_of(rank) for rank in range(ranks))
    command = ["ip", "netns", "exec", name_of(0), "mpirun", "--allow-run-as-root", "--bind-to", "none"]
    command += ["-n", str(ranks), "--map-by", "node", "--host", hosts]
    settings = {"plm_rsh_agent": write_agent(folder, ranks), "btl": "tcp,self", "pml": "ob1"}
    # No handshake per message, which would wait behind the bytes of the other way; ranks that share a core make way for each other.
    settings |= {"btl_tcp_eager_limit": 2 << 20, "mpi_yield_when_idle": 1}
    settings |= {"btl_tcp_if_include": "10.77.0.0/24", "oob_tcp_if_include": "10.77.0.0/24"}
    for key, value in settings.items():
        command += ["--mca", key, str(value)]
    for key, value in {"OMP_NUM_THREADS": 1, **environment}.items():
        command += ["-x", f"{key}={value}"]
    return command


def read_metrics(log: Path) -> tuple[list[float], dict]:
    """Seconds of each update but the first, and the last line."""
    lines = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
    return [line["seconds"] for line in lines if "seconds" in line and "loss" in line][1:], lines[-1]
