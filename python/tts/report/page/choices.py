"""What the planner had to choose from: peak against time of an update, the front of both, and the choices in words."""

from tts.report.look import bytes_text, unit_for
from tts.report.page.lines import grid
from tts.report.page.markup import Markup, join, table, tag
from tts.report.page.scales import Scale, duration, fit, number

_SIDE = 1000


def html(plan: dict) -> Markup:
    """Nothing for a plan that does not say what was considered."""
    choices = sorted(plan.get("considered") or [], key=lambda c: c["peak_bytes"])
    if len(choices) < 2:
        return Markup("")
    return join(tag("h3", "What there was to choose from"), _picture(plan, choices), _table(choices))


def front(choices: list[dict]) -> list[dict]:
    """Ascending in peak: each is faster than all smaller ones."""
    found: list[dict] = []
    for choice in choices:
        if not found or choice["predicted_step_seconds"] < found[-1]["predicted_step_seconds"]:
            found.append(choice)
    return found


def again(choice: dict) -> str:
    """What is computed again, and how much of a step's operations that is; how many activations are kept in half, where
    the parameters are updated, and which states a rank has shards of."""
    part = choice.get("recompute_flops_fraction") or 0
    more = f", {100 * part:.1f} % more work" if part >= 0.0005 else ""
    half = f", {count} activations in half" if (count := choice.get("values_in_half")) else ""
    place = ", updated in backward" if choice.get("update_in_backward") else ""
    sharding = choice.get("state_sharding", "none")
    shards = "" if sharding == "none" else f", {sharding} sharded over ranks"
    return choice["remat"].replace("-", "‑") + more + half + place + shards


def micro_batches(choice: dict) -> str:
    sizes = choice["micro_batches"]
    return str(sizes[0]) if len(set(sizes)) == 1 else ", ".join(str(size) for size in sizes)


def scales(plan: dict, choices: list[dict]) -> tuple[Scale, Scale]:
    """Peaks, with the budget where that is near, and seconds."""
    low, high = choices[0]["peak_bytes"], choices[-1]["peak_bytes"]
    budget = plan.get("budget_bytes") or high
    high = max(high, budget) if budget < 1.5 * high else high
    pad = 0.06 * (high - low) or 0.1 * high
    return Scale(low - pad, high + pad), fit([c["predicted_step_seconds"] for c in choices], zero=False)


def _picture(plan: dict, choices: list[dict]) -> Markup:
    x, y = scales(plan, choices)
    best = front(choices)
    ticks = y.ticks(4)
    budget = plan.get("budget_bytes") or 0
    inside = x.low < budget < x.high
    legend = [tag("span", tag("i", cls="key s-train"), "the fastest for each budget")]
    if inside:
        legend.append(tag("span", tag("i", cls="key s-level"), f"budget {bytes_text(budget)}"))
    level = f"M{_SIDE * x(budget):.1f} 0V{_SIDE}" if inside else ""
    return tag(
        "figure",
        tag("figcaption", tag("b", "Time of an update against peak"), tag("span", legend, cls="legend")),
        tag(
            "div",
            grid(ticks, y, names=[duration(t) for t in ticks]),
            tag(
                "div",
                tag(
                    "svg",
                    tag("path", d=_stairs(best, x, y), cls="s-train"),
                    tag("path", d=level, cls="s-level") if level else "",
                    viewBox=f"0 0 {_SIDE} {_SIDE}",
                    preserveAspectRatio="none",
                    aria_hidden="true",
                ),
                [_dot(choice, x, y) for choice in choices],
                cls="area",
                role="img",
                aria_label=f"{len(choices)} choices from {bytes_text(choices[0]['peak_bytes'])} to "
                f"{bytes_text(choices[-1]['peak_bytes'])}, {len(best)} of them the fastest for some budget",
            ),
            _columns(x),
            cls="plot front",
        ),
        cls="chart",
        data_picture="front",
    )


def _stairs(best: list[dict], x: Scale, y: Scale) -> str:
    """A budget gets the last choice whose peak it reaches."""

    def at(value: float, scale: Scale) -> float:
        return _SIDE * scale(value)

    first, *rest = best
    path = f"M{at(first['peak_bytes'], x):.1f} {_SIDE - at(first['predicted_step_seconds'], y):.1f}"
    for choice in rest:
        path += f"H{at(choice['peak_bytes'], x):.1f}V{_SIDE - at(choice['predicted_step_seconds'], y):.1f}"
    return path + f"H{_SIDE}"


def _dot(choice: dict, x: Scale, y: Scale) -> Markup:
    kind = "mark s-validation" if choice.get("chosen") else "dot s-train" if choice.get("exact") else "dot s-level"
    place = f"left:{100 * x(choice['peak_bytes']):.2f}%;bottom:{100 * y(choice['predicted_step_seconds']):.2f}%"
    return tag("u", cls=kind, style=place)


def _columns(x: Scale) -> Markup:
    unit, size = unit_for(x.high)
    in_unit = Scale(x.low / size, x.high / size)
    labels = [
        tag("span", number(v), style=f"left:{100 * in_unit(v):.2f}%", cls="odd" if i % 2 else None)
        for i, v in enumerate(in_unit.ticks(6))
    ]
    return tag("div", labels, tag("em", f"peak, {unit}"), cls="columns", aria_hidden="true")


def _table(choices: list[dict]) -> Markup:
    rows = []
    for choice in sorted(choices, key=lambda c: -c["peak_bytes"]):
        about = "" if choice.get("exact") else "about "
        rows.append(
            [
                micro_batches(choice),
                about + bytes_text(choice["peak_bytes"]),
                duration(choice["predicted_step_seconds"]),
                again(choice),
                bytes_text(choice["classes"]["activations"]),
                bytes_text(choice["classes"]["workspace"]),
                "chosen" if choice.get("chosen") else "",
            ]
        )
    head = ["micro-batch", "peak", "time per update", "computed again", "activations", "workspace", ""]
    return table(head, rows, aria_label="choices considered")
