"""Bounds what running independent entries of a step side by side could gain over giving every entry both threads.

    chrt -r 10 .venv/bin/python benchmarks/side_by_side.py                                  # FastSpeech 2 base, 8 × 96 × 576
    .venv/bin/python benchmarks/side_by_side.py --size=small --batch=16 --bucket=text=48,frames=240

Every entry of the step is timed with one thread and with two, the least of --rounds steps; with --busy, one thread while another
process keeps the other processor at the same step. The step table says which entries depend on which: through the values
alone (as if each had bytes of its own), or through all bytes, as they are packed now. Printed for each: the longest chain, and a
simulated schedule in which one thread runs an entry while the other runs others that are ready, where that ends before both
threads together would have run them. Nothing is lost there to waiting, and without --busy nothing to caches and memory, so
the gain is a bound. Measure on an idle machine.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "roofline"))

import numpy as np

from roofline import BIN, call, full_batch
from tts.data.errors import InputError, Parser, run_tool
from tts.entries import Entry
from tts.runtime import Session

SMALL = 16 << 10  # operand bytes below which the runtime gives a kernel one thread


@dataclass(frozen=True)
class Measured:
    """An entry of the step, with its least seconds for each number of threads."""

    entry: Entry
    one: float
    two: float

    @property
    def is_small(self) -> bool:
        return not self.entry.is_gemm and sum(o.bytes for o in self.entry.operands) < SMALL


def dependences(entries: Sequence[Entry], values_only: bool) -> list[set[int]]:
    """Of each entry of a program, the earlier ones that must have ended: makers of what it reads and, unless
    `values_only`, who else has read or written the bytes that it overwrites."""
    ends = {o.address for e in entries for o in e.operands} | {o.address + o.bytes for e in entries for o in e.operands}
    place = {address: i for i, address in enumerate(sorted(ends))}
    writer = np.full(len(place), -1)
    readers: list[set[int]] = [set() for _ in place]
    found = []
    for number, entry in enumerate(entries):
        before: set[int] = set()
        spans = [(o, slice(place[o.address], place[o.address + o.bytes])) for o in entry.operands]
        for operand, span in spans:
            if operand.reads or not values_only:
                before.update(writer[span].tolist())
            if operand.writes and not values_only:
                before.update(*readers[span])
        for operand, span in spans:
            if operand.reads:
                for cell in readers[span]:
                    cell.add(number)
        for operand, span in spans:
            if operand.writes:
                writer[span] = number
                for cell in readers[span]:
                    cell.clear()
        found.append(before - {-1, number})
    return found


def longest_chain(seconds: Sequence[float], before: Sequence[set[int]]) -> float:
    ends: list[float] = []
    for own, earlier in zip(seconds, before):
        ends.append(own + max((ends[e] for e in earlier), default=0.0))
    return max(ends, default=0.0)


def side_by_side(one: Sequence[float], two: Sequence[float], before: Sequence[set[int]]) -> float:
    """Seconds of a greedy schedule: the ready entry with the longest chain behind it, by both threads, or by one of
    them while the other runs ready entries in a row, whatever saves more."""
    after: list[list[int]] = [[] for _ in one]
    waits = [len(earlier) for earlier in before]
    for number, earlier in enumerate(before):
        for e in earlier:
            after[e].append(number)
    behind = [0.0] * len(one)
    for number in reversed(range(len(one))):
        behind[number] = two[number] + max((behind[a] for a in after[number]), default=0.0)
    ready = sorted((n for n, w in enumerate(waits) if not w), key=lambda n: -behind[n])
    total = 0.0
    while ready:
        first, rest = ready[0], ready[1:]
        beside: list[int] = []
        spent, saved, best, chosen = 0.0, 0.0, 0.0, 0
        for other in sorted(rest, key=lambda n: one[n] - two[n]):  # those first that a second thread helps least
            spent += one[other]
            saved += two[other]
            beside.append(other)
            gain = two[first] + saved - max(one[first], spent)
            if gain > best:
                best, chosen = gain, len(beside)
            if spent > 2 * one[first]:
                break
        done = [first, *beside[:chosen]]
        total += max(one[first], sum(one[n] for n in done[1:])) if chosen else two[first]
        for number in done:
            ready.remove(number)
            for a in after[number]:
                waits[a] -= 1
                if not waits[a]:
                    ready.append(a)
        ready.sort(key=lambda n: -behind[n])
    return total


def profiled(library: Path, rounds: int) -> list[tuple[Entry, float, float]]:
    """Entries of the step, and their least seconds by the clock and of the processor. A process of its own: a number of
    threads is the process's."""
    least: dict[int, tuple[float, float]] = {}
    entries: dict[int, Entry] = {}
    with Session(library) as session:
        session.initialise(1)
        batches = [(0, full_batch(session.buckets[0], np.random.default_rng(0)))]
        session.step(batches, lr=1e-4)
        for _ in range(rounds):
            with session.profile() as profile:
                session.step(batches, lr=1e-4)
            for timed in profile.timed:
                wall, processor = least.get(timed.entry.number, (np.inf, np.inf))
                least[timed.entry.number] = min(wall, timed.seconds), min(processor, timed.processor_seconds)
                entries[timed.entry.number] = timed.entry
    return [(entries[number], *least[number]) for number in sorted(entries)]


def keep_busy(library: Path, begun, ended) -> None:
    with Session(library) as session:
        session.initialise(1)
        batches = [(0, full_batch(session.buckets[0], np.random.default_rng(0)))]
        while not ended.is_set():
            session.step(batches, lr=1e-4)
            begun.set()


def beside_another(library: Path, rounds: int) -> list[tuple[Entry, float, float]]:
    context = multiprocessing.get_context("spawn")
    begun, ended = context.Event(), context.Event()
    other = context.Process(target=keep_busy, args=(library, begun, ended))
    other.start()
    begun.wait()
    try:
        return profiled(library, rounds)
    finally:
        ended.set()
        other.join()


def measure(options, work: Path) -> list[Measured]:
    model = work / "model.mlir"
    call(sys.executable, "-m", "tts.models.fastspeech2", f"--size={options.size}", "-o", model)
    flags = [f"--batch={options.batch}", f"--micro-batch={options.batch}", f"--bucket={options.bucket}"]
    sides = []
    for threads in (1, 2):
        library = work / f"threads{threads}.so"
        call(BIN / "tts-compile", "--memory-budget=8G", f"--threads={threads}", *flags, model, "-o", library)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            profile = beside_another if threads == 1 and options.busy else profiled
            sides.append(process.submit(profile, library, options.rounds).result())
    one, two = sides
    if [(e.program, e.function, e.name) for e, *_ in one] != [(e.program, e.function, e.name) for e, *_ in two]:
        raise InputError("side_by_side", "the tables for one and two threads differ", "choose --micro-batch by hand")
    return [Measured(e, processor, wall) for (_, _, processor), (e, wall, _) in zip(one, two)]


def text(measured: list[Measured]) -> str:
    one, two = sum(m.one for m in measured), sum(m.two for m in measured)
    programs: dict[str, list[Measured]] = {}
    for m in measured:
        programs.setdefault(m.entry.program, []).append(m)
    lines = [f"{len(measured)} entries: {1e3 * one:.1f} ms by one thread, {1e3 * two:.1f} ms each by both"]
    small = [m for m in measured if m.is_small]
    slower = [m for m in measured if m.two > m.one and not m.is_small]
    lines.append(f"small ones, by one thread anyway: {len(small)}, {1e3 * sum(m.two for m in small):.2f} ms")
    loss = sum(m.two - m.one for m in slower)
    lines.append(f"slower by both than by one: {len(slower)}, {1e3 * loss:.2f} ms more")
    lines.append(f"halves of one thread's: {1e3 * one / 2:.1f} ms, {100 * (1 - one / 2 / two):.1f} % less")
    for values_only in (True, False):
        chain = scheduled = 0.0
        for entries in programs.values():
            before = dependences([m.entry for m in entries], values_only)
            chain += longest_chain([m.two for m in entries], before)
            scheduled += side_by_side([m.one for m in entries], [m.two for m in entries], before)
        bytes_ = "as if each value had bytes of its own" if values_only else "in the bytes as they are packed"
        gain = f"{1e3 * scheduled:.1f} ms side by side, {100 * (1 - scheduled / two):.1f} % less"
        lines.append(f"{bytes_}: longest chain {1e3 * chain:.1f} ms ({100 * chain / two:.0f} %), {gain}")
    return "\n".join(lines)


def main() -> int:
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="base")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--bucket", default="text=96,frames=576")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--busy", action="store_true", help="one thread beside another process of one thread")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        print(text(measure(options, Path(work))))
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
