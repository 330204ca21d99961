"""Two ranks in two network namespaces, joined by a line that delays, loses or ends: a named error or the right result, never a wrong one.

    sudo .venv/bin/python benchmarks/ranks_network.py [--faults none delay loss down]

Between the namespaces stands a third one in which a program of few lines passes every Ethernet frame on, late or not at all: that needs no
traffic shaping of the kernel (sch_netem is often missing). mpirun starts the far rank through an agent that is `ip netns exec`.
Needs root, `ip` and the right to make namespaces. For every fault: what the ranks ended with, after how long, and whether the metrics are
those of the run without a fault, to the bit. Exit 1 if a rank still runs 30 s after the line went down, or if a figure differs.
"""

import argparse
import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin")).parent / "test" / "bin"
FAULTS = {"none": (0.0, 0.0), "delay": (0.05, 0.0), "loss": (0.0, 0.05), "down": (0.0, 0.0)}
LIMIT = 30.0
ENDS = ("10.77.0.1", "10.77.0.2")


class NotPermitted(Exception):
    """This machine refuses namespaces; the text says what was refused."""


def command(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise NotPermitted(f"{' '.join(words)}: {done.stderr.strip()}")


def without_offloads(device: str) -> None:
    """Frames as they would be on a wire: whole checksums, none longer than the MTU."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for feature in (0x17, 0x1F, 0x24, 0x2C):  # ETHTOOL_STXCSUM, _STSO, _SGSO, _SGRO
            value = ctypes.create_string_buffer(struct.pack("II", feature, 0))
            request = struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
            fcntl.ioctl(control, 0x8946, request)  # SIOCETHTOOL


def relay(devices: list[str], delay: float, loss: float) -> None:
    """Passes frames between two devices of this namespace until killed; SIGUSR1 cuts the line."""
    is_cut = []
    signal.signal(signal.SIGUSR1, lambda *_: is_cut.append(True))
    ends = []
    for device in devices:
        ends.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3)))  # ETH_P_ALL
        ends[-1].bind((device, 0))
    draw, waiting, number = random.Random(1), [], 0
    print("ready", flush=True)
    while True:
        pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 1.0
        for end in select.select(ends, [], [], pause)[0]:
            frame, address = end.recvfrom(65536)
            if address[2] == socket.PACKET_OUTGOING or is_cut or draw.random() < loss:
                continue
            number += 1
            heapq.heappush(waiting, (time.monotonic() + delay, number, frame, ends[1 - ends.index(end)]))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, frame, end = heapq.heappop(waiting)
            if not is_cut:
                with contextlib.suppress(OSError):
                    end.send(frame)


class Line:
    """Namespaces a and b, and the relay between them."""

    def __init__(self, delay: float, loss: float):
        self.names = [f"tts{os.getpid()}{side}" for side in "abm"]
        self.delay, self.loss, self.process = delay, loss, None

    def __enter__(self):
        near, far, middle = self.names
        try:
            for name in self.names:
                command("ip", "netns", "add", name)
                command("ip", "-n", name, "link", "set", "lo", "up")
            for name, address, device in ((near, ENDS[0], "ttsa"), (far, ENDS[1], "ttsb")):
                command(
                    "ip", "-n", middle, "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", name
                )
                command("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
                self._enter(name, "eth0")
                command("ip", "-n", name, "link", "set", "eth0", "up")
                command("ip", "-n", middle, "link", "set", device, "up")
            words = [__file__, "--relay", "ttsa", "ttsb", f"--delay={self.delay}", f"--loss={self.loss}"]
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", middle, sys.executable, *words], stdout=subprocess.PIPE, text=True
            )
            if self.process.stdout.readline() != "ready\n":
                raise NotPermitted("the relay does not start: AF_PACKET sockets are refused")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _enter(self, name: str, device: str) -> None:
        command("ip", "netns", "exec", name, sys.executable, __file__, "--plain", device)

    def cut(self) -> None:
        self.process.send_signal(signal.SIGUSR1)

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


class Training:
    """The toy on two ranks, one per namespace."""

    def __init__(self, line: Line, folder: Path, data: Path, steps: int, env: dict | None = None):
        folder.mkdir()
        self.log, self.program = folder / "log" / "metrics.jsonl", folder / "train"
        shutil.copy(BUILT / "tts-toy-ranks", self.program)
        agent = folder / "agent"
        agent.write_text(f'#!/bin/sh\nshift\nexec ip netns exec {line.names[1]} /bin/sh -c "$*"\n')
        agent.chmod(0o755)
        network = ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "10.77.0.0/24"]
        network += ["--mca", "oob_tcp_if_include", "10.77.0.0/24", "--mca", "plm_rsh_agent", str(agent)]
        start = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--enable-recovery", *network]
        start += ["-x", "TOY_RANKS", "-x", "TTS_RANK_TIMEOUT", "-H", ",".join(f"{end}:1" for end in ENDS), "-n", "2"]
        flags = [f"--data={data}", f"--steps={steps}", "--eval-every=4", f"--log-dir={folder / 'log'}"]
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", line.names[0], *start, self.program, *flags],
            stdout=subprocess.DEVNULL,
            stderr=(folder / "err").open("w"),
            env={**os.environ, "TOY_RANKS": "2", "TTS_RANK_TIMEOUT": "10", **(env or {})},
            start_new_session=True,
        )
        self.errors = folder / "err"

    def lines(self) -> list[dict]:
        rows = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return [{k: v for k, v in row.items() if k != "seconds"} for row in rows if "step" in row]

    def running(self) -> list[int]:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(entry / "exe") == str(self.program):
                    found.append(int(entry.name))
        return found

    def wait(self, is_over, seconds: float) -> float | None:
        """Seconds until that is so, or None."""
        start = time.monotonic()
        while time.monotonic() - start < seconds:
            if is_over():
                return time.monotonic() - start
            time.sleep(0.05)
        return None

    def end(self) -> str:
        """Ends what is left; the errors of the ranks."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for pid in self.running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        return "".join(line + "\n" for line in self.errors.read_text().splitlines() if line.startswith("error: "))


def trial(fault: str, folder: Path, data: Path, steps: int) -> tuple[list[dict], str, float]:
    """Metrics, errors and seconds (of the run, or from the cut to the end of the last rank) under a fault."""
    with Line(*FAULTS[fault]) as line:
        run = Training(line, folder, data, steps if fault != "down" else 10**9)
        try:
            if fault != "down":
                taken = run.wait(lambda: run.process.poll() is not None, 240)
            else:
                if run.wait(lambda: len(run.lines()) > 2, 60) is None:
                    raise RuntimeError(f"{fault}: no update in a minute: {run.end()}")
                line.cut()
                taken = run.wait(lambda: not run.running(), LIMIT)
            if taken is None:
                raise RuntimeError(f"{fault}: ranks {run.running()} do not end")
            return run.lines(), run.end(), taken
        finally:
            run.end()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--data", type=Path, help="a corpus of the toy's inputs")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--relay", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--delay", type=float, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--loss", type=float, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--plain", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.relay:
        return relay(options.relay, options.delay, options.loss)
    if options.plain:
        return without_offloads(options.plain)
    faults, right = 0, None
    with tempfile.TemporaryDirectory() as name:
        for fault in dict.fromkeys(["none", *options.faults]):
            try:
                lines, errors, seconds = trial(fault, Path(name) / fault, options.data, options.steps)
            except RuntimeError as wrong:
                print(wrong)
                faults += 1
                continue
            right = right or lines
            same = lines[: len(right)] == right[: len(lines)]
            faults += not same or (fault != "down" and len(lines) != len(right))
            print(
                f"{fault}: {seconds:.1f} s, {len(lines)} lines, {'the same' if same else 'OTHERS'}; {errors or 'no error'}"
            )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
