"""The planner's choices: time of an update against peak, and the front that answers every budget."""

from pathlib import Path

from tts.data.errors import InputError
from tts.report import look, style
from tts.report.certificate import Certificate
from tts.report.page import choices as words

plt = style.plt


def plot(path: Path, out: Path) -> None:
    plan = Certificate.read(path).plan
    choices = sorted(plan.get("considered") or [], key=lambda c: c["peak_bytes"])
    if not choices:
        raise InputError(path, "does not say what was considered", "plan again with this compiler")
    style.use()
    figure, axes = plt.subplots(figsize=(8.6, 5.0), layout="constrained")
    unit, scale = look.unit_for(choices[-1]["peak_bytes"])
    best = words.front(choices)
    right = max(choices[-1]["peak_bytes"] * 1.05, plan.get("budget_bytes", 0) if len(choices) == 1 else 0)
    axes.step(
        [c["peak_bytes"] / scale for c in best] + [right / scale],
        [c["predicted_step_seconds"] for c in best] + [best[-1]["predicted_step_seconds"]],
        where="post",
        color=look.TRAIN,
        label="the fastest for each budget",
    )
    for choice in choices:
        _point(axes, choice, scale)
    budget = plan.get("budget_bytes", 0)
    if choices[0]["peak_bytes"] * 0.9 < budget < right:
        axes.axvline(budget / scale, color=look.INK, linestyle=(0, (5, 3)), linewidth=1.2, label="budget")
    axes.set_xlabel(f"peak, {unit}")
    axes.set_ylabel("seconds of an update")
    axes.set_title(f"{len(choices)} choices, {sum(bool(c.get('exact')) for c in choices)} lowered and packed")
    axes.legend()
    style.save(figure, out)


def _point(axes, choice: dict, scale: int) -> None:
    x, y = choice["peak_bytes"] / scale, choice["predicted_step_seconds"]
    chosen = choice.get("chosen")
    colour = look.VALIDATION if chosen else look.TRAIN if choice.get("exact") else look.QUIET
    axes.plot([x], [y], "o", color=colour, markersize=8 if chosen else 4, zorder=3)
    if chosen:
        text = f"{words.micro_batches(choice)} at a time, {words.again(choice)} again"
        axes.annotate(text, (x, y), xytext=(8, 8), textcoords="offset points", color=colour)
