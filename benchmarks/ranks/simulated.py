"""Seconds of an update as simulated (docs/scale.md) beside those measured, for ranks in network namespaces (links.py).

    .venv/bin/python benchmarks/ranks/simulated.py                                # as root; FastSpeech 2 small on 2 and 4 ranks
    .venv/bin/python benchmarks/ranks/simulated.py --ranks=2 --rate=500mbit

For each number of ranks the machine is described anew. Arithmetic: as many copies of a program of one rank as there will be ranks,
each with a rank's share of the batch, run at once without a link; their seconds beside the planned ones give the rates (ranks that share a core
are slower by that). The link: messages between neighbours, all at once (exchange.c), of which the smallest tell the latency of a round. With
this description `tts-opt --explain` simulates an update with whole states, the optimizer's in shards and the parameters' in shards, and each of
them is trained in turns, --rounds times; its time is the sum over updates of each one's least seconds. 3 is the exit status
where a simulated time is more than 10 % off. All that is timed goes before what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from links import BIN, ENVIRONMENT, call, launcher, limit, namespaces, read_metrics, urgent

from tts.data.errors import InputError, Parser, run_tool

LEVELS = ("none", "optimizer", "parameters")
BAR = 0.10
# Of a built-in host: what arithmetic goes at, to be divided by how much slower this machine is.
RATES = {"fp32_flops": 150e9, "bandwidth": 18e9}
SECONDS = {"entry_seconds": 3e-6, "call_seconds": 1e-6}


def train(launch: tuple[str, ...], program: Path, folder: Path, steps: int, log: Path) -> subprocess.Popen:
    flags = (f"--data={folder / 'corpus'}", f"--steps={steps + 1}", f"--log-dir={log}", "--seed=1")
    command = [str(part) for part in (*launch, program, *flags)]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(running: subprocess.Popen, log: Path) -> list[float]:
    _, said = running.communicate(timeout=900)
    if running.returncode:
        raise InputError("train", (said.strip().splitlines() or ["it said nothing"])[-1], "see above")
    return read_metrics(log)[0]


class Bench:
    def __init__(self, folder: Path, arguments: argparse.Namespace):
        self.folder, self.arguments = folder, arguments

    def compile(self, name: str, *flags: str) -> dict:
        """The program's certificate."""
        common = ("--memory-budget=16G", "--threads=1", f"--bucket={self.arguments.bucket}")
        call(BIN / "tts-compile", *common, *flags, self.folder / "model.mlir", "-o", self.folder / name)
        return json.loads((self.folder / f"{name}.plan.json").read_text())

    def slowness(self, ranks: int) -> float:
        """How much longer than on the built-in host a step without a link takes, as many at once as there are ranks."""
        share = self.arguments.batch // ranks
        plan = self.compile("alone", f"--batch={share}", f"--micro-batch={share}")
        least: list[float] = []
        for _ in range(self.arguments.rounds):
            logs = [self.folder / f"log-alone-{i}" for i in range(ranks)]
            running = [
                train(urgent(ranks), self.folder / "alone", self.folder, self.arguments.steps, log) for log in logs
            ]
            seconds = [finish(one, log) for one, log in zip(running, logs, strict=True)]
            means = [sum(each) / ranks for each in zip(*seconds, strict=True)]
            least = [min(pair) for pair in zip(least or means, means, strict=True)]
        return sum(least) / len(least) / plan["predicted_step_seconds"]

    def link(self, ranks: int) -> dict:
        said = call(*launcher(self.folder, ranks), *urgent(ranks), self.folder / "exchange", timeout=120)
        rows = [line.split() for line in said.splitlines()]
        seconds = {int(row[0]): float(row[1]) for row in rows if len(row) == 2 and row[0].isdigit()}
        small, medium, large = sorted(seconds)
        bandwidth = (large - medium) / (seconds[large] - seconds[medium])
        return {"name": self.arguments.rate, "ranks": 0, "bandwidth": bandwidth, "latency": seconds[small]}

    def describe(self, ranks: int) -> Path:
        slowness, link = self.slowness(ranks), self.link(ranks)
        print(
            f"{ranks} ranks: arithmetic takes {slowness:.2f} times as long as on the built-in host; the link moves "
            f"{link['bandwidth'] / 1e6:.1f} MB/s, a round takes {1e6 * link['latency']:.0f} us"
        )
        rates = {key: rate / slowness for key, rate in RATES.items()}
        rates |= {key: seconds * slowness for key, seconds in SECONDS.items()}
        file = self.folder / "machine.json"
        file.write_text(json.dumps({"name": "machine", "device": "cpu", "links": [link], **rates}))
        return file

    def simulate(self, ranks: int, machine: Path) -> dict[str, float]:
        """By level, out of the table of --explain."""
        flags = (f"--ranks={ranks}", "--threads=1", "--memory-budget=16G", f"--bucket={self.arguments.bucket}")
        pinned = (f"--micro-batch={self.arguments.batch // ranks}", "--shard-states=none", f"--hardware={machine}")
        said = call(BIN / "tts-opt", "--explain", *flags, *pinned, self.folder / "model.mlir", "-o", "/dev/null")
        rows = [line.split() for line in said.splitlines() if line.strip().startswith(f"{ranks} x 1 ")]
        if not rows:
            raise InputError("tts-opt --explain", "it simulates nothing", "give a model that fits 16G")
        return {row[4]: float(row[6]) for row in rows}

    def measure(self, ranks: int) -> dict[str, float]:
        least: dict[str, list[float]] = {}
        for level in LEVELS:
            pinned = f"--micro-batch={self.arguments.batch // ranks}"
            self.compile(level, f"--ranks={ranks}", pinned, f"--shard-states={level}")
        for _ in range(self.arguments.rounds):
            for level in LEVELS:
                log = self.folder / f"log-{level}"
                launch = (*launcher(self.folder, ranks), *urgent(ranks))
                seconds = finish(train(launch, self.folder / level, self.folder, self.arguments.steps, log), log)
                least[level] = [min(pair) for pair in zip(least.get(level, seconds), seconds, strict=True)]
        return {level: sum(seconds) / len(seconds) for level, seconds in least.items()}


def main() -> int:
    parser = Parser(prog="simulated", description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="fastspeech2", help="a module of tts.models")
    parser.add_argument("--size", default="small")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--bucket", default="text=32,frames=128", help="one, as large as the corpus' utterances")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", default="1gbit")
    arguments = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        call("mpicc", "-O2", Path(__file__).with_name("exchange.c"), "-o", folder / "exchange")
        call(
            sys.executable, "-m", "tts.data", "synthetic", f"--out={folder / 'corpus'}", "--utterances=1600", "--seed=1"
        )
        flags = (f"--size={arguments.size}", f"--batch={arguments.batch}", f"--corpus={folder / 'corpus'}")
        call(sys.executable, "-m", f"tts.models.{arguments.model}", *flags, "-o", folder / "model.mlir")
        bench = Bench(folder, arguments)
        for ranks in map(int, arguments.ranks.split(",")):
            with namespaces(ranks):
                limit(ranks, arguments.rate)
                simulated = bench.simulate(ranks, bench.describe(ranks))
                for level, seconds in bench.measure(ranks).items():
                    off = simulated[level] / seconds - 1
                    worst = max(worst, abs(off))
                    text = f"simulated {simulated[level]:.4f} s/update, measured {seconds:.4f}, {100 * off:+.1f} %"
                    print(f"{ranks} ranks, shards of {level:10} {text}", flush=True)
    return 3 if worst > BAR else 0


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
