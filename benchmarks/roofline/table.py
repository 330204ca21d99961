"""The arithmetic of the roofline table: entries and times in, rows and totals out; no process is started here."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from tts.entries import Entry, Profile

GEMM_SHARE, GEMM_RATE = 0.85, 0.90  # what docs/benchmarks.md promises

# TtsGemmScalar of Format.h
M, N, K = 1, 2, 3
TRANSPOSE_A, TRANSPOSE_B = 7, 8
BETA, BATCH, STRIDE_C = 9, 10, 13


@dataclass(frozen=True, order=True)
class Shape:
    """What oneDNN must compute: a batch of M×K times K×N, added to C or not, and how the step has it stored."""

    m: int
    n: int
    k: int
    batch: int
    accumulate: bool
    sums: bool = False  # the elements of the batch add up in one C
    transpose_a: bool = False  # stored K×M
    transpose_b: bool = False  # stored N×K
    taps: int = 1  # of a convolution: as many products add up, over the same rows

    @classmethod
    def of(cls, entry: Entry) -> Shape:
        s = entry.scalars
        if entry.function == "rt.conv1d":
            _, batch, time, channels, out, taps = s[:6]
            return cls(batch * time, out, channels, 1, False, taps=taps)
        sums = s[BATCH] > 1 and s[STRIDE_C] == 0
        return cls(s[M], s[N], s[K], s[BATCH], bool(s[BETA]), sums, bool(s[TRANSPOSE_A]), bool(s[TRANSPOSE_B]))

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k * self.batch * self.taps

    def __str__(self) -> str:
        batch = f" {'Σ' if self.sums else '×'}{self.batch}" if self.batch > 1 else ""
        if self.taps > 1:
            return f"conv {self.m}×{self.n}×{self.k} {self.taps} taps"
        stored = ("ᵀ" if self.transpose_a else "") + "·" + ("ᵀ" if self.transpose_b else "")
        return f"gemm {self.m}×{self.n}×{self.k} {stored}{batch}{' +=' if self.accumulate else ''}"


# Floating-point operations per element of an op's largest tensor; ops that only move or choose are 0, others 1. A
# transcendental function counts as one.
FLOPS = {
    "adamw": 14,
    "broadcast": 0,
    "dropout": 1,
    "ema": 3,
    "gelu": 4,
    "gelu_grad": 6,
    "key_softmax": 5,
    "key_softmax_grad": 5,
    "layer_norm": 8,
    "layer_norm_grad": 12,
    "layer_norm_gamma_grad": 4,
    "softmax": 5,
}
MOVES = {
    "cast",
    "embedding",
    "full",
    "gather",
    "mask",
    "pad",
    "reshape",
    "slice",
    "swap_middle",
    "sequence_mask",
    "transpose",
    "zeros",
}

_KERNEL = re.compile(r"func\.func private @(\S+?)\(.*\battributes \{.*rt\.kernel")
_OP = re.compile(r"\btts\.(\w+)\b.* : (.*)$")
_TENSOR = re.compile(r"tensor<((?:\d+x)*)f(?:32|64)")


def kernel_flops(ir: str) -> dict[str, int]:
    """Flops of one call of each kernel, from the IR after select."""
    flops: dict[str, int] = {}
    kernel = None
    for line in ir.splitlines():
        if found := _KERNEL.search(line):
            kernel = found[1]
            flops[kernel] = 0
        elif line.startswith("  }"):
            kernel = None
        elif kernel and (op := _OP.search(line)):
            sizes = [math.prod(int(d) for d in dims.split("x") if d) for dims in _TENSOR.findall(op[2])]
            per_element = 0 if op[1] in MOVES else FLOPS.get(op[1], 1)
            flops[kernel] += per_element * max(sizes, default=0)
    return flops


@dataclass(frozen=True)
class Limits:
    """What the machine allows, measured."""

    gemm_seconds: dict[Shape, float]  # in the layout that oneDNN likes best
    stored_seconds: dict[Shape, float]  # in the step's own
    copy_bytes_per_second: float

    @property
    def flops_per_second(self) -> float:
        """The best rate of any shape."""
        return max(shape.flops / seconds for shape, seconds in self.gemm_seconds.items())


@dataclass
class Row:
    """All calls of one kernel or of one GEMM shape in a step."""

    name: str
    shape: Shape | None
    calls: int = 0
    bytes: int = 0
    flops: int = 0
    seconds: float = 0.0
    limit_seconds: float = 0.0
    stored_seconds: float = 0.0  # of a GEMM alone, in the step's own layout

    @property
    def of_limit(self) -> float:
        return self.limit_seconds / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Roofline:
    """Rows, the slowest first, and the step they add up to."""

    rows: list[Row]
    step_seconds: float

    @property
    def gemm_seconds(self) -> float:
        return sum(row.seconds for row in self.rows if row.shape)

    @property
    def gemm_share(self) -> float:
        """Of the step, inside the rt.gemm entries."""
        return self.gemm_seconds / self.step_seconds

    @property
    def gemm_rate(self) -> float:
        """Of oneDNN's standalone rate for the same shapes, weighted by their flops: its time over ours."""
        return sum(row.limit_seconds for row in self.rows if row.shape) / self.gemm_seconds

    @property
    def stored_rate(self) -> float:
        """The same against oneDNN in the step's own layouts: what is left is the step's, not the layout's."""
        return sum(row.stored_seconds for row in self.rows if row.shape) / self.gemm_seconds

    @property
    def holds(self) -> bool:
        return self.gemm_share >= GEMM_SHARE and self.gemm_rate >= GEMM_RATE


def seconds_per_call(profiles: Iterable[Profile], processor: bool) -> dict[int, tuple[Entry, int, float]]:
    """Per entry: calls in a step and the least seconds of one over the steps."""
    best: dict[int, tuple[Entry, int, float]] = {}
    for profile in profiles:
        for timed in profile.timed:
            seconds = (timed.processor_seconds if processor else timed.seconds) / timed.calls
            number = timed.entry.number
            if number not in best or seconds < best[number][2]:
                best[number] = timed.entry, timed.calls, seconds
    return best


def roofline(
    measured: dict[int, tuple[Entry, int, float]], flops: dict[str, int], limits: Limits, outside: float = 0.0
) -> Roofline:
    """The table of a step: its entries, and the seconds outside them (batches, scalars, the clocks themselves)."""
    rows: dict[object, Row] = {}
    for entry, calls, seconds in measured.values():
        shape = Shape.of(entry) if entry.is_gemm else None
        row = rows.setdefault(shape or entry.function, Row(str(shape or entry.function), shape))
        own = shape.flops if shape else flops.get(entry.function, 0)
        row.calls += calls
        row.bytes += calls * entry.bytes
        row.flops += calls * own
        row.seconds += calls * seconds
        if shape:
            row.limit_seconds += calls * limits.gemm_seconds[shape]
            row.stored_seconds += calls * limits.stored_seconds[shape]
        else:
            moving, counting = entry.bytes / limits.copy_bytes_per_second, own / limits.flops_per_second
            row.limit_seconds += calls * max(moving, counting)
    ordered = sorted(rows.values(), key=lambda row: -row.seconds)
    return Roofline(ordered, outside + sum(row.seconds for row in ordered))


def text(result: Roofline, limits: Limits, least_share: float = 0.0) -> str:
    """The table as it is printed; rows below `least_share` of the step are summed up in one line."""
    lines = [
        f"{'kernel':<40} {'calls':>6} {'MB':>9} {'GFLOP':>9} {'ms':>9} {'GB/s':>7} {'GF/s':>7} {'of limit':>9} {'of step':>8}"
    ]
    shown = [row for row in result.rows if row.seconds >= least_share * result.step_seconds]
    rest = Row(f"({len(result.rows) - len(shown)} smaller)", None)
    for row in result.rows[len(shown) :]:
        rest.calls, rest.bytes, rest.flops = rest.calls + row.calls, rest.bytes + row.bytes, rest.flops + row.flops
        rest.seconds, rest.limit_seconds = rest.seconds + row.seconds, rest.limit_seconds + row.limit_seconds
    for row in shown + ([rest] if rest.calls else []):
        lines.append(
            f"{row.name:<40} {row.calls:6d} {row.bytes / 1e6:9.1f} {row.flops / 1e9:9.2f} {row.seconds * 1e3:9.2f}"
            f" {row.bytes / row.seconds / 1e9:7.1f} {row.flops / row.seconds / 1e9:7.1f}"
            f" {row.of_limit:9.1%} {row.seconds / result.step_seconds:8.1%}"
        )
    other = result.step_seconds - sum(row.seconds for row in result.rows)
    gemm_flops = sum(row.flops for row in result.rows if row.shape)
    gemm_limit = sum(row.limit_seconds for row in result.rows if row.shape)
    lines += [
        f"step {result.step_seconds * 1e3:.1f} ms, of it outside the entries {other * 1e3:.1f} ms",
        f"limits: best GEMM {limits.flops_per_second / 1e9:.0f} GF/s, copy {limits.copy_bytes_per_second / 1e9:.1f} GB/s"
        " (a kernel whose data stay in the cache exceeds it)",
        f"inside GEMMs: {result.gemm_share:.1%} of the step (at least {GEMM_SHARE:.0%}):"
        f" {'yes' if result.gemm_share >= GEMM_SHARE else 'NO'}",
        f"GEMMs: {gemm_flops / result.gemm_seconds / 1e9:.0f} GF/s, {result.gemm_rate:.1%} of oneDNN's standalone"
        f" {gemm_flops / gemm_limit / 1e9:.0f} (at least {GEMM_RATE:.0%}): {'yes' if result.gemm_rate >= GEMM_RATE else 'NO'}",
        f"of oneDNN's standalone rate in the step's own layouts: {result.stored_rate:.1%}",
    ]
    return "\n".join(lines)
