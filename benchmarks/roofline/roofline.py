"""Prints where a training step's time goes, per kernel, against what this machine allows.

    .venv/bin/python benchmarks/roofline/roofline.py                                # FastSpeech 2 base, batch 8, 96 × 576
    .venv/bin/python benchmarks/roofline/roofline.py --model=demo-out/model.mlir --threads=2 \\
        --buckets-from=demo-out/corpus --memory-budget=2G

Compiles the model as a library, lets the runtime time every entry of a few steps, and between them lets oneDNN alone
compute the same GEMM shapes (limits.cpp); the least of each counts. With one thread, times are the processor's, so a
busy machine does not distort them; with more, the wall clock's: measure on an idle machine. Exits 0 if at least 85 %
of the step is inside GEMMs and these reach 90 % of oneDNN's standalone rate, 3 if not, 1 for bad input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import numpy as np

from table import Limits, Roofline, Shape, kernel_flops, roofline, seconds_per_call, text
from tts.calibrate.batch import full_batch
from tts.data.errors import InputError, Parser, run_tool
from tts.runtime import Session

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
COPY_BYTES = 1 << 30  # beyond any cache
PASSED_ON = ("batch", "memory-budget", "buckets-from", "micro-batch", "precision", "remat")


def call(*command, stdin: str | None = None) -> str:
    """Stdout of a command that must succeed."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run([str(c) for c in command], input=stdin, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise InputError(command[0], (done.stderr.strip().splitlines() or ["it failed"])[-1], "run it by hand")
    return done.stdout


def compile_model(options, work: Path) -> tuple[Path, dict[str, int], dict]:
    """The library, the flops of its kernels, its certificate."""
    flags = [f"--threads={options.threads}"]
    flags += [f"--{n}={v}" for n in PASSED_ON if (v := getattr(options, n.replace("-", "_"))) is not None]
    flags += [f"--bucket={bucket}" for bucket in options.bucket or []]
    model = options.model
    if model is None:
        model = work / "base.mlir"
        call(sys.executable, "-m", "tts.models.fastspeech2", "--size=base", "-o", model)
    library = work / "model.so"
    call(BIN / "tts-compile", *flags, model, "-o", library)
    ir = call(BIN / "tts-opt", *flags, "--stop-after=select", "--plan-table=none", model)
    return library, kernel_flops(ir), json.loads((work / "model.plan.json").read_text())


def typical_update(buckets: list[dict], batch: int, shares: list[float]) -> list[int]:
    """Buckets of an update's micro-batches: each bucket's share of the utterances, at least one where it has any."""
    order = []
    for index, (bucket, share) in enumerate(zip(buckets, shares)):
        count = round(share * batch / bucket["micro_batch"])
        order += [index] * (max(count, 1) if share > 0 else 0)
    return order


class LimitsProgram:
    """limits.cpp, built and running; a round at a time."""

    def __init__(self, work: Path, threads: int, shapes: list[Shape]):
        program = work / "limits"
        call("g++", "-std=c++17", "-O2", "-fopenmp", HERE / "limits.cpp", "-ldnnl", "-o", program)
        self.shapes, self.least, self.stored, self.copy = shapes, {}, {}, 0.0
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        lines = [
            f"gemm {s.m} {s.n} {s.k} {s.batch} {int(s.accumulate)} {int(s.sums)} {int(s.transpose_a)} {int(s.transpose_b)} {s.taps}"
            for s in shapes
        ]
        self.process.stdin.write("\n".join([f"threads {threads}", f"copy {COPY_BYTES}", *lines]) + "\n")

    def round(self) -> None:
        self.process.stdin.write("round\n")
        self.process.stdin.flush()
        answer = [float(word) for word in self.process.stdout.readline().split()]
        if len(answer) != 2 * len(self.shapes) + 1:
            raise InputError("limits", "it ended early", "run it by hand")
        for shape, best, stored in zip(self.shapes, answer[::2], answer[1::2]):
            self.least[shape] = min(best, self.least.get(shape, best))
            self.stored[shape] = min(stored, self.stored.get(shape, stored))
        self.copy = max(self.copy, answer[-1])

    def close(self) -> Limits:
        self.process.stdin.close()
        self.process.wait()
        return Limits(self.least, self.stored, self.copy)


def measure(options, work: Path) -> tuple[Roofline, Limits]:
    """Steps and rounds of the limits in turns."""
    library, flops, plan = compile_model(options, work)
    processor, profiles, outside = options.threads == 1, [], []
    clock = time.thread_time if processor else time.perf_counter
    with Session(library) as session:
        session.initialise(1)
        draw = np.random.default_rng(0)
        inputs = [full_batch(bucket, draw) for bucket in session.buckets]
        shares = [bucket["share"] for bucket in plan["buckets"]]
        batches = [(b, inputs[b]) for b in typical_update(session.buckets, plan["batch"], shares)]

        def step() -> float:
            start = clock()
            session.step(batches, lr=1e-4)
            return clock() - start

        step()
        shapes = sorted({Shape.of(e) for e in session.entries if e.is_gemm and e.kind not in ("eval", "infer")})
        if not shapes:
            why = "oneDNN does no product of this step: it needs AVX-512 to allocate nothing"
            raise InputError("roofline", why, "measure on a processor that has it")
        limits = LimitsProgram(work, options.threads, shapes)
        for _ in range(options.rounds):
            with session.profile() as profile:
                whole = step()
            profiles.append(profile)
            outside.append(whole - (profile.processor_seconds if processor else profile.seconds))
            limits.round()
    allowed = limits.close()
    return roofline(seconds_per_call(profiles, processor), flops, allowed, min(outside)), allowed


def main() -> int:
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="model.mlir; without it FastSpeech 2 base")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5, help="steps, and measurements of each limit")
    parser.add_argument("--least-share", type=float, default=0.002, help="rows below this share are summed up")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the rows and totals as JSON, too")
    parser.add_argument("--bucket", action="append", metavar="text=N,frames=N")
    for name in PASSED_ON:
        parser.add_argument(f"--{name}", metavar="X", help="passed on to tts-compile")
    options = parser.parse_args()
    if options.model is None:
        options.bucket = options.bucket or ["text=96,frames=576"]
        options.batch = options.batch or "8"
        options.memory_budget = options.memory_budget or "8G"
    with tempfile.TemporaryDirectory() as work:
        result, limits = measure(options, Path(work))
    print(text(result, limits, options.least_share))
    if options.json:
        totals = {
            "gemm_share": result.gemm_share,
            "gemm_rate": result.gemm_rate,
            "stored_rate": result.stored_rate,
            "holds": result.holds,
        }
        totals |= {"step_seconds": result.step_seconds, "copy_bytes_per_second": limits.copy_bytes_per_second}
        options.json.write_text(json.dumps({**totals, "rows": [asdict(row) for row in result.rows]}, indent=1))
    return 0 if result.holds else 3


if __name__ == "__main__":
    sys.exit(run_tool(main))
