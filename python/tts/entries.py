"""The entries of a compiled model's step table: what a tap sees and what a profile measures."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import numpy as np

PROGRAMS = ("zero", "denominators", "forward", "backward", "update", "eval", "infer", *(f"fold.{i}" for i in range(4)))
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
DTYPES = (np.float32, np.float64, np.int32, np.int64, np.uint16, np.float16, np.uint8)  # NumPy has no bfloat16
READ, WRITE = 1, 2
NO_BUCKET = 0xFFFFFFFF


class COperand(ctypes.Structure):
    """TtsEntryOperand of Runtime.h."""

    _fields_ = [
        ("buffer", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("access", ctypes.c_uint32),
        ("dtype", ctypes.c_uint32),
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


class CNonFinite(ctypes.Structure):
    """TtsNonFinite of Runtime.h."""

    _fields_ = [
        ("tensor", ctypes.c_char_p),
        ("function", ctypes.c_char_p),
        ("entry", ctypes.c_char_p),
        ("location", ctypes.c_char_p),
        ("was_read", ctypes.c_int),
        ("element", ctypes.c_uint64),
        ("elements", ctypes.c_uint64),
        ("value", ctypes.c_double),
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
    dtype: type = np.float32

    @property
    def reads(self) -> bool:
        return bool(self.access & READ)

    @property
    def writes(self) -> bool:
        return bool(self.access & WRITE)

    def array(self) -> np.ndarray:
        """The elements where they lie, flat: valid until another entry overwrites them."""
        raw = (ctypes.c_char * self.bytes).from_address(self.address)
        return np.frombuffer(raw, self.dtype)


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
        """A contraction that the library computes: a matrix product, or a convolution."""
        return self.function in ("rt.gemm", "rt.conv1d")

    @property
    def bytes(self) -> int:
        """What it must move at least: each operand once, twice if it is read and written."""
        return sum(o.bytes * (o.reads + o.writes) for o in self.operands)

    @classmethod
    def of(cls, view: CEntry) -> Entry:
        operands = tuple(
            Operand(o.buffer.decode(), CLASSES[o.klass], o.data or 0, o.bytes, o.access, DTYPES[o.dtype])
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
class NonFinite:
    """The first NaN or infinity of a step, and the entry that wrote it or was the first to be spoilt by reading it."""

    tensor: str
    function: str
    entry: str
    location: str
    was_read: bool
    element: int
    elements: int
    value: float

    @classmethod
    def of(cls, found: CNonFinite) -> NonFinite | None:
        if not found.tensor:
            return None
        names = (name.decode() for name in (found.tensor, found.function, found.entry, found.location))
        return cls(*names, bool(found.was_read), found.element, found.elements, found.value)


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

    @property
    def processor_seconds(self) -> float:
        return sum(t.processor_seconds for t in self.timed)

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
