"""Where the planned bytes go: classes against the budget, and the arena as offsets over the job's timeline."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.patches import Patch, Rectangle

from tts.data.errors import InputError
from tts.report import style

plt = style.plt
_ORDER = list(style.CLASS_COLOURS)


@dataclass(frozen=True)
class Box:
    """A buffer on the map: columns [begin, end) of the timeline, bytes [offset, offset + size)."""

    kind: str
    program: str
    begin: float
    end: float
    offset: int
    size: int


def read_plan(path: Path) -> dict:
    try:
        plan = json.loads(path.read_text())
        classes = plan["classes"]
        if not classes or not all(isinstance(value, int) for value in classes.values()):
            raise ValueError("classes holds no bytes")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(path, f"not a plan ({error})", "give the train.plan.json that tts-compile writes") from error
    return plan


def boxes(plan: dict) -> tuple[list[Box], list[tuple[str, float, float]], bool]:
    """The map's boxes, the span of each program on its x axis, and whether that axis is time.

    `begin` and `end` of a buffer are positions of the certificate's timeline, both inclusive. Buffers without
    them fill their program's column; persistent ones always fill the whole width.
    """
    buffers = plan.get("buffers") or []
    transient = [b for b in buffers if b.get("program", "persistent") != "persistent"]
    timed = bool(transient) and all("begin" in b and "end" in b for b in transient)
    spans = _timed_spans(transient) if timed else _columns(transient)
    first = min((span[0] for span in spans.values()), default=0.0)
    last = max((span[1] for span in spans.values()), default=1.0)
    found = []
    for b in buffers:
        program = b.get("program", "persistent")
        if program == "persistent":
            begin, end = first, last
        else:
            begin, end = (b["begin"], b["end"] + 1) if timed else spans[program]
        found.append(Box(b.get("class", "other"), program, begin, end, b["offset"], b["size"]))
    return found, [(name, *span) for name, span in spans.items()], timed


def _timed_spans(buffers: list[dict]) -> dict[str, tuple[float, float]]:
    """A program begins with its first buffer and ends where the next one begins."""
    begins: dict[str, float] = {}
    for b in buffers:
        begins[b["program"]] = min(begins.get(b["program"], b["begin"]), b["begin"])
    order = sorted(begins, key=begins.get)
    last = max(b["end"] for b in buffers) + 1
    ends = [begins[name] for name in order[1:]] + [last]
    return {name: (float(begins[name]), float(end)) for name, end in zip(order, ends)}


def _columns(buffers: list[dict]) -> dict[str, tuple[float, float]]:
    names = list(dict.fromkeys(b["program"] for b in buffers))
    return {name: (float(index), index + 1.0) for index, name in enumerate(names)}


def plot(path: Path, out: Path) -> None:
    plan = read_plan(path)
    try:
        found, spans, timed = boxes(plan)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(path, f"a buffer is not whole ({error})", "compile the plan again") from error
    style.use()
    widths = [1.25, 2.6] if found else [1.0, 0.001]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 6.4), width_ratios=widths, layout="constrained")
    _classes(left, plan)
    if found:
        _arena(right, found, spans, plan, timed)
        _legend(figure, found)
    else:
        right.set_visible(False)
    style.save(figure, out)


def _classes(axes, plan: dict) -> None:
    classes = {name: value for name, value in plan["classes"].items() if value > 0}
    order = sorted(classes, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    peak, budget = plan.get("peak_bytes", sum(classes.values())), plan.get("budget_bytes")
    top = max(peak, budget or 0)
    unit, scale = style.unit_for(top)
    base = 0
    for name in order:
        axes.bar(
            0, classes[name] / scale, bottom=base / scale, width=0.7, color=style.class_colour(name), edgecolor="white"
        )
        base += classes[name]
    if budget:
        axes.axhline(budget / scale, color=style.INK, linestyle=(0, (5, 3)), linewidth=1.3)
        axes.text(
            0.98,
            budget / scale,
            f"budget {style.bytes_text(budget)}\n",
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
        )
    axes.set_ylim(0, 1.12 * top / scale)
    axes.set_xlim(-0.45, 1.75)
    axes.set_xticks([])
    axes.grid(axis="x", visible=False)
    axes.set_ylabel(unit)
    title = f"Peak {style.bytes_text(peak)}"
    if plan.get("eager_bytes"):
        title += f"   (an eager framework: {style.bytes_text(plan['eager_bytes'])})"
    axes.set_title(title)
    handles = [
        Patch(color=style.class_colour(name), label=f"{name.replace('_', ' ')}  {style.bytes_text(classes[name])}")
        for name in reversed(order)
    ]
    axes.legend(
        handles=handles,
        loc="center right",
        bbox_to_anchor=(1.0, 0.5),
        handlelength=1,
        handleheight=1,
        labelspacing=0.55,
    )


def _arena(axes, found: list[Box], spans: list[tuple[str, float, float]], plan: dict, timed: bool) -> None:
    arena = plan.get("arena_bytes") or max(box.offset + box.size for box in found)
    unit, scale = style.unit_for(arena)
    begin = min(box.begin for box in found)
    end = max(box.end for box in found)
    axes.set_facecolor("#f3f5f7")
    # Thin white borders tell neighbours apart, but would hide buffers that are only a few pixels high.
    for kind in dict.fromkeys(box.kind for box in found):
        these = [box for box in found if box.kind == kind]
        line = [0.4 if box.size > arena / 200 and (box.end - box.begin) > (end - begin) / 300 else 0.0 for box in these]
        patches = [Rectangle((b.begin, b.offset / scale), b.end - b.begin, b.size / scale) for b in these]
        axes.add_collection(
            PatchCollection(patches, facecolor=style.class_colour(kind), edgecolor="white", linewidth=line)
        )
    axes.set_xlim(begin, end)
    axes.set_ylim(0, arena / scale)
    axes.grid(False)
    axes.set_ylabel(f"offset, {unit}")
    across = "offset over the timeline" if timed else "offset by program"
    axes.set_title(f"Arena {style.bytes_text(arena)}: {across}, {len(found)} buffers")
    _name_programs(axes, spans, begin, end)


def _legend(figure, found: list[Box]) -> None:
    kinds = sorted({box.kind for box in found}, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    handles = [Patch(color=style.class_colour(kind), label=kind.replace("_", " ")) for kind in kinds]
    figure.legend(handles=handles, ncols=len(kinds), loc="outside lower right", handlelength=1, columnspacing=1.2)


def _name_programs(axes, spans: list[tuple[str, float, float]], begin: float, end: float) -> None:
    """Names under programs wide enough to carry one; borders between all."""
    for _, left, _ in spans[1:]:
        axes.axvline(left, color="white", linewidth=0.8, alpha=0.8)
    named = [span for span in spans if span[2] - span[1] >= (end - begin) / 45]
    axes.set_xticks(
        [float(np.mean(span[1:])) for span in named],
        [span[0] for span in named],
        rotation=40,
        ha="right",
        rotation_mode="anchor",
    )
    axes.tick_params(axis="x", length=0)
