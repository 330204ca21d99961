"""The certificate train.plan.json: classes, buffers, and which bytes live at each position of the timeline.

docs/certificate.md defines timeline, live bytes and peak moment; tts-check re-proves the numbers, this module only
shows them.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tts.data.errors import InputError
from tts.report.look import class_rank

PERSISTENT = "persistent"


@dataclass(frozen=True)
class Buffer:
    """A record of the arena; a transient lives at the positions begin … end, both inclusive."""

    name: str
    loc: str
    kind: str
    program: str
    last_program: str
    offset: int
    size: int
    begin: int | None = None
    end: int | None = None

    @property
    def persistent(self) -> bool:
        return self.program == PERSISTENT


@dataclass(frozen=True)
class Span:
    """The positions [begin, end) of a program."""

    program: str
    begin: int
    end: int


@dataclass(frozen=True)
class Box:
    """A buffer on the arena's map: columns [begin, end) of the timeline, bytes [offset, offset + size)."""

    kind: str
    program: str
    begin: float
    end: float
    offset: int
    size: int


@dataclass
class Certificate:
    """A plan as read; `timed` when every transient says from where to where it lives."""

    path: Path
    plan: dict
    buffers: list[Buffer] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    timed: bool = False

    @classmethod
    def read(cls, path: Path) -> "Certificate":
        try:
            plan = json.loads(path.read_text())
            classes = plan["classes"]
            if not classes or not all(isinstance(value, int) for value in classes.values()):
                raise ValueError("classes holds no bytes")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            remedy = "give the train.plan.json that tts-compile writes"
            raise InputError(path, f"not a plan ({error})", remedy) from error
        try:
            buffers = [_buffer(b) for b in plan.get("buffers") or []]
            transients = [b for b in buffers if not b.persistent]
            timed = bool(transients) and all(b.begin is not None and b.end is not None for b in transients)
            spans = _spans(plan, transients) if timed else []
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(path, f"a buffer is not whole ({error})", "compile the plan again") from error
        return cls(path, plan, buffers, spans, timed)

    @property
    def classes(self) -> dict[str, int]:
        """The classes that hold bytes, in the order of stacks and legends."""
        held = {name: value for name, value in self.plan["classes"].items() if value}
        return dict(sorted(held.items(), key=lambda item: class_rank(item[0])))

    @property
    def peak(self) -> int:
        return self.plan.get("peak_bytes", sum(self.plan["classes"].values()))

    def live(self) -> dict[str, np.ndarray]:
        """Live bytes of each class at every position of the timeline, persistent buffers included."""
        length = self.spans[-1].end
        changes: dict[str, np.ndarray] = {}
        for b in self.buffers:
            change = changes.setdefault(b.kind, np.zeros(length + 1, np.int64))
            change[0 if b.persistent else b.begin] += b.size
            change[length if b.persistent else b.end + 1] -= b.size
        return {kind: np.cumsum(changes[kind])[:length] for kind in sorted(changes, key=class_rank)}

    def tensors_at(self, position: int) -> list[Buffer]:
        """The buffers that live at a position, the largest first."""
        found = [b for b in self.buffers if b.persistent or b.begin <= position <= b.end]
        return sorted(found, key=lambda b: (-b.size, b.persistent, b.name, b.offset))

    def boxes(self) -> tuple[list[Box], list[tuple[str, float, float]]]:
        """The map's boxes and the columns of each program.

        Without lifetimes transients fill their program's column; persistent ones always fill the whole width.
        """
        if self.timed:
            columns = {s.program: (float(s.begin), float(s.end)) for s in self.spans}
        else:
            names = dict.fromkeys(b.program for b in self.buffers if not b.persistent)
            columns = {name: (float(index), index + 1.0) for index, name in enumerate(names)}
        first = min((c[0] for c in columns.values()), default=0.0)
        last = max((c[1] for c in columns.values()), default=1.0)
        found = []
        for b in self.buffers:
            if b.persistent:
                begin, end = first, last
            else:
                begin, end = (b.begin, b.end + 1) if self.timed else columns[b.program]
            found.append(Box(b.kind, b.program, begin, end, b.offset, b.size))
        return found, [(name, *column) for name, column in columns.items()]


def _buffer(record: dict) -> Buffer:
    program = record.get("program", PERSISTENT)
    return Buffer(
        name=record.get("name", ""),
        loc=record.get("loc", ""),
        kind=record.get("class", "other"),
        program=program,
        last_program=record.get("last_program", program),
        offset=record["offset"],
        size=record["size"],
        begin=record.get("begin"),
        end=record.get("end"),
    )


def _spans(plan: dict, transients: list[Buffer]) -> list[Span]:
    """The programs in the timeline's order; a plan that does not list them shows those with transients only, each
    from its first buffer to the next one's."""
    if plan.get("programs"):
        spans = [Span(p["program"], p["begin"], p["begin"] + p["entries"]) for p in plan["programs"] if p["entries"]]
        return sorted(spans, key=lambda s: s.begin)
    begins: dict[str, int] = {}
    for b in transients:
        begins[b.program] = min(begins.get(b.program, b.begin), b.begin)
    order = sorted(begins, key=begins.get)
    ends = [begins[name] for name in order[1:]] + [max(b.end for b in transients) + 1]
    return [Span(name, begins[name], end) for name, end in zip(order, ends)]
