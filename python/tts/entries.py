"""The entries of a compiled model's step table: what a tap sees and what a profile measures."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import numpy as np

PROGRAMS = ("zero", "denominators", "forward", "backward", "update", "eval", "infer")
CLASSES = (
    "parameters",
    "half_copies",
    "gradients",
    "optimizer",
    "ema",
    "activations",
    "batch",
    "workspace",
    "collectives",
    "buffers",
)
READ, WRITE = 1, 2
NO_BUCKET = 0xFFFFFFFF


class COperand(ctypes.Structure):
    """TtsEntryOperand of Runtime.h."""

    _fields_ = [
        ("buffer", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("access", ctypes.c_uint32),
        ("klass", ctypes.c_uint32),
    ]


class CEntry(ctypes.Structure):
    """TtsEntryView of Runtime.h."""

    _fields_ = [
        ("number", ctypes.c_uint32),
        ("index", ctypes.c_uint32),
        ("program", ctypes.c_char_p),
        ("program_kind", ctypes.c_uint32),
        ("bucket", ctypes.c_uint32),
        ("range", ctypes.c_uint32),
        ("function", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("location", ctypes.c_char_p),
        ("operands", ctypes.POINTER(COperand)),
        ("scalars", ctypes.POINTER(ctypes.c_int64)),
        ("num_operands", ctypes.c_uint32),
        ("num_scalars", ctypes.c_uint32),
    ]


TAP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(CEntry))


@dataclass(frozen=True)
class Operand:
    """Bytes of the arena that an entry touches."""

    buffer: str
    klass: str
    address: int
    bytes: int
    access: int

    @property
    def reads(self) -> bool:
        return bool(self.access & READ)

    @property
    def writes(self) -> bool:
        return bool(self.access & WRITE)

    def array(self, dtype=np.float32) -> np.ndarray:
        """The bytes where they lie, as a flat array of `dtype`: valid until another entry overwrites them."""
        raw = (ctypes.c_char * self.bytes).from_address(self.address)
        return np.frombuffer(raw, dtype)


@dataclass(frozen=True)
class Entry:
    """One entry of a program, in the order of the step table."""

    number: int
    index: int
    program: str
    kind: str
    bucket: int | None
    range: int
    function: str
    name: str
    location: str
    operands: tuple[Operand, ...]
    scalars: tuple[int, ...]

    @property
    def is_gemm(self) -> bool:
        return self.function == "rt.gemm"

    @property
    def bytes(self) -> int:
        """What it must move at least: each operand once, twice if it is read and written."""
        return sum(o.bytes * (o.reads + o.writes) for o in self.operands)

    @classmethod
    def of(cls, view: CEntry) -> Entry:
        operands = tuple(
            Operand(o.buffer.decode(), CLASSES[o.klass], o.data or 0, o.bytes, o.access)
            for o in view.operands[: view.num_operands]
        )
        return cls(
            view.number,
            view.index,
            view.program.decode(),
            PROGRAMS[view.program_kind],
            None if view.bucket == NO_BUCKET else view.bucket,
            view.range,
            view.function.decode(),
            view.name.decode(),
            view.location.decode(),
            operands,
            tuple(view.scalars[: view.num_scalars]),
        )


@dataclass(frozen=True)
class Timed:
    """An entry and what it took."""

    entry: Entry
    calls: int
    seconds: float  # by the clock
    processor_seconds: float  # of the session's own thread


@dataclass
class Profile:
    """What `Session.profile()` measured, filled when its block ends."""

    timed: list[Timed] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Of all entries; the rest of a step is loading batches and scalars."""
        return sum(t.seconds for t in self.timed)

    def by(self, key) -> dict:
        """(calls, seconds) per key(entry), the slowest first."""
        sums: dict = {}
        for t in self.timed:
            calls, seconds = sums.get(key(t.entry), (0, 0.0))
            sums[key(t.entry)] = calls + t.calls, seconds + t.seconds
        return dict(sorted(sums.items(), key=lambda item: -item[1][1]))

    def table(self) -> dict[tuple[str, str], tuple[int, float]]:
        """(function, entry's name) → (calls, seconds), the slowest first."""
        return self.by(lambda entry: (entry.function, entry.name))
