"""What was measured, as a table, as bars that hold or not, and as JSON."""

from dataclasses import asdict, dataclass, field
from statistics import median

# Our step over the peer's, and our memory over PyTorch 1.13's (issue 3).
STEP_BARS = {"torch113": 0.7, "torch": 0.9, "torch-compile": 0.9, "jax": 0.9}
MEMORY_BAR, MEMORY_PEER = 0.6, "torch113"
# Losses without dropout from the same weights: the sides compute the same thing.
LOSS_TOLERANCE = 1e-4
MIB = 1024 * 1024


@dataclass
class Figures:
    """One side at one number of threads; `absent` says why there are none."""

    side: str
    version: str = ""
    implementation: str = ""
    libraries: list[str] = field(default_factory=list)
    threads: int = 1
    loss: float | None = None
    seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)
    memory_after_import: int | None = None
    memory_highest: int | None = None
    absent: str | None = None

    def best(self, clock: str) -> float:
        return min(self.seconds if clock == "wall" else self.processor_seconds)


@dataclass
class Gate:
    """A bar and what was measured against it."""

    what: str
    measured: float
    bar: float

    @property
    def holds(self) -> bool:
        return self.measured <= self.bar

    def line(self) -> str:
        return f"{'holds' if self.holds else 'MISSED':<7} {self.what}: {self.measured:.4g} (at most {self.bar:g})"


def gates(sides: list[Figures], clock: str) -> list[Gate]:
    """The bars of one thread count; a peer that is absent has none, but PyTorch 1.13 must be there."""
    by_name = {f.side: f for f in sides if f.absent is None}
    ours, told = by_name["ours"], []
    for peer, bar in STEP_BARS.items():
        if peer in by_name:
            ratio = ours.best(clock) / by_name[peer].best(clock)
            told.append(Gate(f"step, ours / {peer} ({clock} seconds)", ratio, bar))
            apart = abs(ours.loss / by_name[peer].loss - 1)
            told.append(Gate(f"loss without dropout, ours and {peer} apart", apart, LOSS_TOLERANCE))
        elif peer == MEMORY_PEER:
            told.append(Gate(f"{peer} is absent: no measure", float("inf"), bar))
    peer = by_name.get(MEMORY_PEER)
    if peer and peer.memory_highest and ours.memory_highest:
        ratio = ours.memory_highest / peer.memory_highest
        told.append(Gate(f"resident memory, ours / {MEMORY_PEER}", ratio, MEMORY_BAR))
    return told


def mebibytes(count: int | None) -> str:
    return "-" if count is None else f"{count / MIB:.0f}"


def table(sides: list[Figures]) -> str:
    """Seconds are the minimum (and median) of the steps; memory is VmHWM of a process of its own."""
    header = (
        "side",
        "wall s",
        "(median)",
        "cpu s",
        "(median)",
        "ours/it wall",
        "cpu",
        "VmHWM MiB",
        "after import",
        "loss",
    )
    rows, ours = [header], next(f for f in sides if f.side == "ours")
    for f in sides:
        if f.absent is not None:
            rows.append((f.side, f"absent: {f.absent}"))
            continue
        times, ratios = [], []
        for values, mine in ((f.seconds, ours.seconds), (f.processor_seconds, ours.processor_seconds)):
            times += [f"{min(values):.3f}", f"({median(values):.3f})"]
            ratios.append(f"{min(mine) / min(values):.3f}")
        memory = (mebibytes(f.memory_highest), mebibytes(f.memory_after_import))
        rows.append((f.side, *times, *ratios, *memory, f"{f.loss:.6f}"))
    widths = [max((len(r[i]) for r in rows if len(r) == len(header)), default=0) for i in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join(lines)


def versions(sides: list[Figures]) -> str:
    lines = []
    for f in sides:
        if f.absent is None:
            lines.append(f"{f.side}: {f.version}, {f.threads} thread(s), {f.implementation}")
            lines += [f"    {library}" for library in f.libraries]
    return "\n".join(lines)


def as_json(machine: dict, measured: dict[int, list[Figures]], told: list[Gate], clock: str) -> dict:
    return {
        "machine": machine,
        "gate_clock": clock,
        "threads": {str(count): [asdict(f) for f in sides] for count, sides in measured.items()},
        "gates": [asdict(gate) | {"holds": gate.holds} for gate in told],
    }
