"""One training step of FastSpeech 2, ours beside PyTorch 1.13, the newest PyTorch and JAX; steps interleaved in one run.

Usage, after the build (docs/benchmarks.md):

    .venv/bin/python benchmarks/peers/run.py --install     # once: the peers' interpreters, outside the repository
    .venv/bin/python benchmarks/peers/run.py

Prints every version, a table per number of threads and the bars; exits 1 if a bar of one thread is missed.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import numpy as np

import environments
from figures import Figures, Gate, as_json, gates, table, versions
from pool import Worker, WorkerFailure, interleave
from sides import all_sides
from tts.data.errors import InputError, Parser, run_tool
from tts.models.fastspeech2 import SIZES, text

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
PEERS = ("torch113", "torch", "torch-compile", "jax")


def say(words: str):
    print(words, file=sys.stderr, flush=True)


def write_batch(path: Path, config, batch: int, phones: int, frames: int):
    """Full-length utterances with made-up values; each phone lasts equally long."""
    draw = np.random.default_rng(0)
    durations = np.full((batch, phones), frames // phones, np.int32)
    durations[:, : frames % phones] += 1
    np.savez(
        path,
        phones=draw.integers(1, config.symbols, (batch, phones)).astype(np.int32),
        durations=durations,
        pitch=draw.standard_normal((batch, phones), np.float32),
        energy=draw.standard_normal((batch, phones), np.float32),
        mel=draw.standard_normal((batch, frames, config.mels), np.float32),
        phone_lengths=np.full(batch, phones, np.int32),
        mel_lengths=np.full(batch, frames, np.int32),
    )


class Benchmark:
    """One model and batch; a work folder with the job of each worker, its log, and the compiled model."""

    def __init__(self, options):
        self.options, self.config = options, SIZES[options.size]
        self.work = options.out
        self.work.mkdir(parents=True, exist_ok=True)
        # No peer keeps averaged weights, so the model is compiled without.
        module = re.sub(r"tts\.ema_decay = [^,]+, ", "", text(self.config))
        (self.work / "model.mlir").write_text(module)
        write_batch(self.work / "batch.npz", self.config, options.batch, options.phones, options.frames)
        self.sides = all_sides(options.venv_root, options.peers, options.precision)
        self.version = self._tool("tts-compile", "--version")

    def _tool(self, name, *flags) -> str:
        command = [str(c) for c in (TOOLS / name, *flags)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise InputError(command[0], f"exit {done.returncode}: {done.stderr.strip()[-500:]}", "see its message")
        return done.stdout.strip()

    def library(self, threads: int, precision: str) -> Path:
        return self.work / f"ours{threads}-{precision}.so"

    def compile(self, threads: int, precision: str):
        o = self.options
        shape = f"--bucket=text={o.phones},frames={o.frames}"
        sizes = (f"--memory-budget={o.memory_budget}", f"--batch={o.batch}", f"--micro-batch={o.batch}", shape)
        flags = (f"--threads={threads}", f"--precision={precision}")
        self._tool("tts-compile", *sizes, *flags, self.work / "model.mlir", "-o", self.library(threads, precision))

    def start(self, side, threads: int, variant: str) -> Worker:
        job = {
            "config": asdict(self.config),
            "threads": threads,
            "batch": str(self.work / "batch.npz"),
            "weights": str(self.work / "weights.safetensors"),
            "library": str(self.library(threads, side.job.get("precision", self.options.precision))),
            "precision": self.options.precision,
            "version": self.version,
            "variant": variant,
            "seed": 1,
            "lr": 1e-4,
            "weight_decay": 0.01,
            **side.job,
        }
        stem = f"{side.name}-{variant or 'only'}-{threads}"
        file = self.work / f"{stem}.job.json"
        file.write_text(json.dumps(job, indent=1))
        environment = side.environment(threads, self.options.venv_root)
        return Worker(side.name, side.command(file), environment, self.work / f"{stem}.log")

    def fastest_variant(self, side, threads: int) -> str:
        """By a second step of each, on the clock that gates."""
        pinned = dict(pair.split("=", 1) for pair in self.options.variant)
        if side.name in pinned or len(side.variants) == 1:
            return pinned.get(side.name, side.variants[0])
        costs = {}
        for variant in side.variants:
            worker = self.start(side, threads, variant)
            try:
                costs[variant] = interleave([worker], 1)[side.name][self.options.clock == "cpu"][0]
            finally:
                worker.close()
        told = ", ".join(f"{variant or 'only'} {cost:.2f} s" for variant, cost in costs.items())
        say(f"{side.name}, {threads} thread(s): {told}")
        return min(costs, key=costs.get)

    def measure(self, threads: int) -> list[Figures]:
        """Steps of all sides in turns, then memory of each in a process of its own."""
        for precision in {self.options.precision, "fp32"}:
            self.compile(threads, precision)
        measured, chosen, workers = {}, {}, []
        try:
            for side in self.sides:
                f = measured[side.name] = Figures(side.name, threads=threads, absent=side.absent)
                if side.absent is not None:
                    continue
                try:
                    # Ours comes first: it writes the first weights, which the others load.
                    chosen[side.name] = self.fastest_variant(side, threads)
                    worker = self.start(side, threads, chosen[side.name])
                    workers.append(worker)
                    self.introduce(side, worker, f)
                except WorkerFailure as failure:
                    if side.name == "ours":
                        raise InputError("ours", str(failure), f"read the logs in {self.work}") from failure
                    f.absent = str(failure)
            present = [worker for worker in workers if measured[worker.name].absent is None]
            for name, (wall, processor) in interleave(present, self.options.rounds, report=self.progress).items():
                measured[name].seconds, measured[name].processor_seconds = wall, processor
        finally:
            for worker in workers:
                worker.close()
        for side in self.sides:
            if measured[side.name].absent is None and self.options.memory:
                self.measure_memory(side, threads, chosen[side.name], measured[side.name])
        return list(measured.values())

    def introduce(self, side, worker: Worker, f: Figures):
        about = worker.ask("about")
        f.version, f.implementation, f.libraries = about["version"], about["implementation"], about["libraries"]
        f.libraries += [side.note] if side.note else []
        if side.name == "ours":
            worker.ask("save", path=str(self.work / "weights.safetensors"))
        f.loss = worker.ask("evaluate")["loss"]

    def progress(self, name, turn, told):
        say(
            f"turn {turn} {name}: {told['seconds']:.2f} s, cpu {told['processor_seconds']:.2f} s, loss {told['loss']:.4f}"
        )

    def measure_memory(self, side, threads: int, variant: str, f: Figures):
        worker = self.start(side, threads, variant)
        try:
            interleave([worker], 2, warmup=1)
            f.memory_after_import, f.memory_highest = worker.baseline["highest"], worker.ask("memory")["highest"]
        finally:
            worker.close()


def machine() -> dict:
    names = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    vectors = sorted(f for f in environments.processor_flags() if f.startswith(("avx", "amx")))
    return {
        "processor": names[0] if names else platform.machine(),
        "processors": os.cpu_count(),
        "vectors": vectors,
        "load": os.getloadavg()[0],
    }


def parse(arguments) -> argparse.Namespace:
    parser = Parser(prog="run.py", description="A training step of FastSpeech 2: ours beside PyTorch and JAX.")
    parser.add_argument("--size", choices=list(SIZES), default="base")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--phones", type=int, default=96)
    parser.add_argument("--frames", type=int, default=576)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="the first one gates")
    parser.add_argument("--rounds", type=int, default=5, help="steps of each side after one to warm up")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32", help="bf16: PyTorch by autocast")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--variant", action="append", default=[], metavar="PEER=NAME", help="instead of the fastest")
    parser.add_argument(
        "--clock", choices=["wall", "cpu"], default="wall", help="which seconds gate; cpu if others work"
    )
    parser.add_argument("--memory-budget", default="8G", help="for tts-compile")
    parser.add_argument("--venv-root", type=Path, default=Path.home() / ".cache" / "tts-peers")
    parser.add_argument("--no-memory", dest="memory", action="store_false", help="steps only, no bar of memory")
    parser.add_argument("--install", action="store_true", help="make the environments of --peers and stop")
    parser.add_argument("--out", type=Path, default=Path("peers-out"), help="where jobs, logs and peers.json go")
    options = parser.parse_args(arguments)
    if options.precision != "fp32" and "jax" in options.peers:
        options.peers = [peer for peer in options.peers if peer != "jax"]  # its model is fp32's
    options.out, options.venv_root = options.out.resolve(), options.venv_root.resolve()
    return options


def install(options) -> int:
    needs = {"torch113": "openblas", "torch-compile": "torch"}
    failures = environments.install(options.venv_root, {needs.get(peer, peer) for peer in options.peers})
    for name, why in failures.items():
        print(f"{name} does not install here: {why}")
    return int(bool(failures))


def main(arguments=None) -> int:
    options = parse(arguments)
    if options.install:
        return install(options)
    benchmark = Benchmark(options)
    about, measured = machine(), {}
    print(
        f"{about['processor']}, {about['processors']} processors, {' '.join(about['vectors'])}, load {about['load']:.1f}"
    )
    print(
        f"FastSpeech 2 {options.size}, batch {options.batch}, {options.phones} phones, {options.frames} frames, "
        f"{options.precision}"
    )
    told: list[Gate] = []
    for threads in options.threads:
        measured[threads] = benchmark.measure(threads)
        told = told or gates(measured[threads], options.clock)
        print(f"\n{versions(measured[threads])}\n\n{table(measured[threads])}", flush=True)
    print(f"\nbars, {options.threads[0]} thread(s):")
    print("\n".join(gate.line() for gate in told))
    rows = as_json(about, measured, told, options.clock)
    (options.out / "peers.json").write_text(json.dumps(rows, indent=1) + "\n")
    return int(not all(gate.holds for gate in told))


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
