"""Where the planned bytes go: classes against the budget, and the arena as offsets over the job's timeline."""

from pathlib import Path

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.patches import Patch, Rectangle

from tts.report import look, style
from tts.report.certificate import Box, Certificate

plt = style.plt


def plot(path: Path, out: Path) -> None:
    certificate = Certificate.read(path)
    found, spans = certificate.boxes()
    style.use()
    widths = [1.25, 2.6] if found else [1.0, 0.001]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 6.4), width_ratios=widths, layout="constrained")
    _classes(left, certificate)
    if found:
        _arena(right, found, spans, certificate)
        _legend(figure, found)
    else:
        right.set_visible(False)
    style.save(figure, out)


def _classes(axes, certificate: Certificate) -> None:
    plan, classes, peak = certificate.plan, certificate.classes, certificate.peak
    order, budget = list(classes), plan.get("budget_bytes")
    top = max(peak, budget or 0)
    unit, scale = look.unit_for(top)
    base = 0
    for name in order:
        axes.bar(
            0, classes[name] / scale, bottom=base / scale, width=0.7, color=look.class_colour(name), edgecolor="white"
        )
        base += classes[name]
    if budget:
        axes.axhline(budget / scale, color=look.INK, linestyle=(0, (5, 3)), linewidth=1.3)
        axes.text(
            0.98,
            budget / scale,
            f"budget {look.bytes_text(budget)}\n",
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
        )
    axes.set_ylim(0, 1.12 * top / scale)
    axes.set_xlim(-0.45, 1.75)
    axes.set_xticks([])
    axes.grid(axis="x", visible=False)
    axes.set_ylabel(unit)
    title = f"Peak {look.bytes_text(peak)}"
    if plan.get("eager_bytes"):
        title += f"   (an eager framework: {look.bytes_text(plan['eager_bytes'])})"
    axes.set_title(title)
    handles = [
        Patch(color=look.class_colour(name), label=f"{name.replace('_', ' ')}  {look.bytes_text(classes[name])}")
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


def _arena(axes, found: list[Box], spans: list[tuple[str, float, float]], certificate: Certificate) -> None:
    arena = certificate.plan.get("arena_bytes") or max(box.offset + box.size for box in found)
    unit, scale = look.unit_for(arena)
    begin = min(box.begin for box in found)
    end = max(box.end for box in found)
    axes.set_facecolor("#f3f5f7")
    # Thin white borders tell neighbours apart, but would hide buffers that are only a few pixels high.
    for kind in dict.fromkeys(box.kind for box in found):
        these = [box for box in found if box.kind == kind]
        line = [0.4 if box.size > arena / 200 and (box.end - box.begin) > (end - begin) / 300 else 0.0 for box in these]
        patches = [Rectangle((b.begin, b.offset / scale), b.end - b.begin, b.size / scale) for b in these]
        axes.add_collection(
            PatchCollection(patches, facecolor=look.class_colour(kind), edgecolor="white", linewidth=line)
        )
    axes.set_xlim(begin, end)
    axes.set_ylim(0, arena / scale)
    axes.grid(False)
    axes.set_ylabel(f"offset, {unit}")
    across = "offset over the timeline" if certificate.timed else "offset by program"
    axes.set_title(f"Arena {look.bytes_text(arena)}: {across}, {len(found)} buffers")
    _name_programs(axes, spans, begin, end)


def _legend(figure, found: list[Box]) -> None:
    kinds = sorted({box.kind for box in found}, key=look.class_rank)
    handles = [Patch(color=look.class_colour(kind), label=kind.replace("_", " ")) for kind in kinds]
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
