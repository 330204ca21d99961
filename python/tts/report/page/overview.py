"""The page's head: the figures that matter first, and the plan's bytes beside budget and eager framework."""

from tts.report.look import bytes_text
from tts.report.page.markup import Markup, join, table, tag
from tts.report.page.run import Run
from tts.report.page.scales import duration, number

MEANING = {
    "parameters": "the weights",
    "half_copies": "half-precision copies of the weights",
    "gradients": "accumulated over an update's micro-batches",
    "optimizer": "Adam's two moments",
    "ema": "averaged weights",
    "activations": "what forward keeps for backward, and passing results",
    "batch": "the inputs of one micro-batch",
    "workspace": "scratch of library calls",
    "collectives": "buffers of the exchange between ranks",
    "buffers": "scalars: losses, denominators",
    "unused": "gaps, alignment, bytes that only other moments use",
    "overhead": "outside the arena: the process, its libraries, host buffers",
}


def header(run: Run) -> Markup:
    plan = run.certificate.plan
    libraries = plan.get("libraries") or {}
    facts = [
        f"batch {plan['batch']}" if "batch" in plan else None,
        plan.get("precision"),
        _ranks(plan),
        " ".join(str(v) for v in (plan.get("hardware"), libraries.get("isa")) if v),
        _threads(plan, libraries.get("threads")),
    ]
    return tag(
        "header",
        tag("p", "Training report", cls="kicker"),
        tag("h1", run.title),
        tag("p", _sentence(run), cls="lead"),
        tag("p", " · ".join(str(f) for f in facts if f), cls="quiet"),
        tag("dl", [_tile(*t) for t in _tiles(run)], cls="tiles"),
    )


def _ranks(plan: dict) -> str | None:
    ranks, stages = plan.get("ranks", 1), plan.get("stages", 1)
    if ranks == 1:
        return None
    return f"{ranks} ranks" + (f" in {stages} stages" if stages > 1 else "")


def _threads(plan: dict, threads: int | None) -> str | None:
    if threads is None:
        return None
    return f"{threads} thread{'s' * (threads > 1)}{' a rank' * (plan.get('ranks', 1) > 1)}"


def _sentence(run: Run) -> Markup:
    plan, peak = run.certificate.plan, run.certificate.peak
    budget, measured = plan.get("budget_bytes"), run.final.get("measured_peak_bytes")
    words = ["Trained in " if run.updates else "Planned for ", tag("b", bytes_text(measured or peak))]
    if budget:
        words += [" of a budget of ", tag("b", bytes_text(budget))]
    if (ranks := plan.get("ranks", 1)) > 1:
        words.append(f" on {'the largest' if plan.get('roles') else 'each'} of {ranks} ranks")
    if eager := plan.get("eager_bytes"):
        sharer = "replica" if plan.get("stages", 1) > 1 else "rank"
        words.append(
            f"; an eager framework would hold {bytes_text(eager)} for the same batch{f' of a {sharer}' * (ranks > 1)}"
        )
    return join(*words, ".")


def _tile(name: str, value: str, note: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value), tag("dd", note, cls="note") if note else "")


def _tiles(run: Run) -> list[tuple[str, str, str]]:
    plan, validations = run.certificate.plan, run.validations
    budget = plan.get("budget_bytes")
    share = f"{100 * run.certificate.peak / budget:.0f} % of the budget" if budget else ""
    tiles = [("Planned peak", bytes_text(run.certificate.peak), share), _measured(run)]
    if run.updates:
        tiles += _work(run.updates, plan.get("predicted_step_seconds"))
    elif "predicted_step_seconds" in plan:
        tiles.append(("Planned time per update", duration(plan["predicted_step_seconds"]), ""))
    if validations:
        best, last = min(validations, key=lambda v: v["val_loss"]), validations[-1]
        note = "the best" if best is last else f"best {number(best['val_loss'])} at {number(best['step'], 9)}"
        tiles.append(("Validation loss", number(last["val_loss"]), note))
    return tiles


def _work(updates: list[dict], predicted: float | None) -> list[tuple[str, str, str]]:
    """How much was done, and how fast."""
    seconds = sum(u.get("seconds", 0) for u in updates)
    frames = sum(u.get("frames", 0) for u in updates)
    utterances = sum(u.get("utterances", 0) for u in updates)
    padding = [u["padding_fraction"] for u in updates if "padding_fraction" in u]
    tiles = [("Updates", number(updates[-1]["step"], 9), f"{number(utterances, 9)} utterances" if utterances else "")]
    if seconds:
        note = f"planned {duration(predicted)}" if predicted else ""
        tiles.append(("Time per update", duration(seconds / len(updates)), note))
        tiles.append(("Training time", duration(seconds), "without validation"))
    if seconds and frames:
        tiles.append(("Frames a second", number(round(frames / seconds), 9), "without padding"))
    if padding:
        tiles.append(("Padding", f"{100 * sum(padding) / len(padding):.0f} %", "of the frames computed"))
    return tiles


def _measured(run: Run) -> tuple[str, str, str]:
    final, name = run.final, "Measured peak"
    if "measured_peak_bytes" not in final:
        return name, "–", "no final line" if run.updates else "not trained yet"
    large = final.get("large_allocations_after_start")
    note = "" if large is None else f"{number(large)} large allocations after start"
    return name, bytes_text(final["measured_peak_bytes"]), note


def memory(run: Run) -> Markup:
    """Budget, plan, measurement and eager framework as bars of one scale, then the classes of the plan."""
    plan, classes = run.certificate.plan, run.certificate.classes
    bars = [
        ("eager framework", plan.get("eager_bytes"), "eager"),
        ("budget", plan.get("budget_bytes"), "budget"),
        ("planned peak", run.certificate.peak, "plan"),
        ("measured peak", run.final.get("measured_peak_bytes"), "measured"),
    ]
    bars = [bar for bar in bars if bar[1]]
    top = max(value for _, value, _ in bars)
    return join(
        tag("div", [_bar(name, value, kind, top) for name, value, kind in bars], cls="bars"),
        tag("h3", f"The planned peak{' of a rank' * (plan.get('ranks', 1) > 1)}, by class"),
        _stack(classes, run.certificate.peak, plan.get("budget_bytes") or 0),
        _classes(classes, run.certificate.peak),
    )


def _bar(name: str, value: int, kind: str, top: int) -> Markup:
    return tag(
        "div",
        tag("span", name),
        tag("div", tag("i", cls=kind, style=f"width:{100 * value / top:.2f}%"), cls="track"),
        tag("b", bytes_text(value)),
    )


def _stack(classes: dict[str, int], peak: int, budget: int) -> Markup:
    top = max(peak, budget)
    parts = [
        tag(
            "i",
            cls=f"c-{name}",
            style=f"width:{100 * value / top:.3f}%",
            title=f"{name.replace('_', ' ')}: {bytes_text(value)}",
        )
        for name, value in classes.items()
    ]
    free = f"{bytes_text(budget - peak)} free" if budget > peak else ""
    return tag(
        "div", parts, tag("span", free), cls="stack", role="img", aria_label="planned bytes by class within the budget"
    )


def _classes(classes: dict[str, int], peak: int) -> Markup:
    rows = [
        [
            join(tag("i", cls=f"key c-{name}"), name.replace("_", " "), tag("small", MEANING.get(name, ""))),
            bytes_text(value),
            f"{100 * value / peak:.1f} %",
            f"{value:,}".replace(",", "\u202f"),
        ]
        for name, value in classes.items()
    ]
    total = ["peak", bytes_text(peak), "100 %", f"{peak:,}".replace(",", "\u202f")]
    return table(["class", "size", "share", "bytes"], rows, total, cls="classes", aria_label="classes of the peak")
