"""Live bytes by class at every entry of an update, and the tensors at the peak with where they come from."""

from pathlib import Path

import numpy as np

from tts.data.errors import InputError
from tts.report import look, style
from tts.report.certificate import Certificate
from tts.report.page.tensors import Sources
from tts.report.page.views import kind_and_bucket, program_at

plt = style.plt

_TENSORS = 18


def plot(path: Path, out: Path, model: Path | None = None) -> None:
    certificate = Certificate.read(path)
    if not certificate.timed:
        raise InputError(path, "does not say when its buffers live", "compile the plan again")
    live = certificate.live()
    total = sum(live.values())
    peak = int(np.argmax(total))
    style.use()
    figure, (left, right) = plt.subplots(1, 2, figsize=(14.5, 6.2), width_ratios=[1.7, 1], layout="constrained")
    _stack(left, certificate, live, total, peak)
    _tensors(right, certificate, peak, Sources(model))
    style.save(figure, out)


def _stack(axes, certificate: Certificate, live: dict[str, np.ndarray], total: np.ndarray, peak: int) -> None:
    unit, scale = look.unit_for(int(total.max()))
    positions = np.arange(len(total) + 1)
    base = np.zeros(len(total))
    for kind, values in live.items():
        top = base + values
        # The last entry lasts as long as the others.
        edges = [np.append(level, level[-1]) / scale for level in (base, top)]
        axes.fill_between(
            positions, *edges, step="post", color=look.class_colour(kind), label=kind.replace("_", " "), linewidth=0
        )
        base = top
    axes.plot([peak + 0.5], [total[peak] / scale], "o", color=look.INK, markersize=5, zorder=3)
    axes.set_xlim(0, len(total))
    axes.set_ylim(0, 1.12 * total.max() / scale)
    axes.set_ylabel(f"live, {unit}")
    axes.set_title(f"Peak {look.bytes_text(int(total[peak]))}: {program_at(certificate.spans, peak)}")
    for span in certificate.spans[1:]:
        axes.axvline(span.begin, color="white", linewidth=0.8, alpha=0.8)
    named = [span for span in certificate.spans if span.end - span.begin >= len(total) / 45]
    axes.set_xticks(
        [(span.begin + span.end) / 2 for span in named],
        [span.program for span in named],
        rotation=40,
        ha="right",
        rotation_mode="anchor",
    )
    axes.tick_params(axis="x", length=0)
    axes.legend(ncols=4, loc="upper left")


def _tensors(axes, certificate: Certificate, peak: int, sources: Sources) -> None:
    """What stays in one bar a class, then the largest that come and go."""
    found = certificate.tensors_at(peak)
    passing = [b for b in found if not b.persistent]
    bars = []
    for kind in dict.fromkeys(b.kind for b in found if b.persistent):
        staying = [b.size for b in found if b.persistent and b.kind == kind]
        bars.append((kind, sum(staying), f"{kind.replace('_', ' ')}, {len(staying)} that stay"))
    for b in passing[:_TENSORS]:
        words = (b.name, sources.place(b), kind_and_bucket(b.program)[0])
        bars.append((b.kind, b.size, "  ".join(w for w in words if w)))
    unit, scale = look.unit_for(max(size for _, size, _ in bars))
    for row, (kind, size, words) in enumerate(bars):
        axes.barh(-row, size / scale, color=look.class_colour(kind), height=0.34)
        axes.text(0, -row + 0.25, f"{words}  {look.bytes_text(size)}", va="bottom", fontsize=7.5)
    axes.set_ylim(-len(bars) + 0.4, 1)
    axes.set_yticks([])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(unit)
    axes.set_title(f"At the peak: {min(_TENSORS, len(passing))} of {len(passing)} tensors that come and go")
