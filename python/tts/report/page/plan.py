"""The plan: buckets with their micro-batches and times, what was chosen, and what that changes."""

from tts.report.look import bytes_text
from tts.report.page import choices
from tts.report.page.markup import Markup, join, table, tag
from tts.report.page.run import Run
from tts.report.page.scales import duration, number
from tts.report.page.views import View


def html(run: Run, found: list[View]) -> Markup:
    plan = run.certificate.plan
    return join(
        _buckets(plan, {v.bucket: v.top for v in found}),
        choices.html(plan),
        tag("dl", [tag("div", tag("dt", k), tag("dd", v)) for k, v in _facts(plan)], cls="facts"),
        tag(
            "div",
            _changes(
                "Changes to the experiment",
                plan.get("changes_experiment"),
                "None: batch, rate and data are those that were asked for.",
            ),
            _changes(
                "Changes to the numerics",
                plan.get("changes_numerics"),
                "None: every value is that of the whole batch at once.",
            ),
            cls="pair",
        ),
    )


def _buckets(plan: dict, tops: dict[int, int]) -> Markup:
    buckets = plan.get("buckets") or []
    dims = list(dict.fromkeys(name for b in buckets for name in b.get("dims", {})))
    head = ["bucket", *dims, "micro-batch", "remat", "time per micro-batch", "share of the data"]
    head += ["most live bytes"] if tops else []
    rows = []
    for index, bucket in enumerate(buckets):
        remat, more = bucket.get("remat", "none"), bucket.get("recompute_flops_fraction")
        seconds, share = bucket.get("predicted_micro_batch_seconds"), bucket.get("share")
        row = [index, *(number(bucket["dims"].get(d, 0)) for d in dims), number(bucket.get("micro_batch", 0))]
        in_half = len((bucket.get("half_storage") or {}).get("values", []))
        row += [f"{remat}, {100 * more:.0f} % more work" if more else remat]
        row[-1] += f", {in_half} activations in half" if in_half else ""
        row += [duration(seconds) if seconds else "–", f"{100 * share:.1f} %" if share is not None else "–"]
        rows.append(row + ([bytes_text(tops.get(index, 0))] if tops else []))
    return table(head, rows, aria_label="length buckets") if rows else tag("p", "The plan names no buckets.")


def _facts(plan: dict) -> list[tuple[str, str]]:
    libraries = plan.get("libraries") or {}
    found = [
        ("Batch", f"{plan['batch']} utterances an update" if "batch" in plan else None),
        ("Precision", plan.get("precision")),
        ("Parameters updated", "in backward, unguarded" if plan.get("update_in_backward") else None),
        ("Ranks", _ranks(plan)),
        ("State sharding", plan.get("state_sharding")),
        ("Pipeline stages", plan.get("stages")),
        ("Rate scaled by batch", plan.get("lr_scale")),
        ("Time per update, planned", _optional(duration, plan.get("predicted_step_seconds"))),
        ("Arena", _optional(bytes_text, plan.get("arena_bytes"))),
        ("Least arena possible", _optional(bytes_text, plan.get("lower_bound_bytes"))),
        ("Smallest budget", _optional(bytes_text, plan.get("smallest_budget_bytes"))),
        ("Hardware", " ".join(str(v) for v in (plan.get("hardware"), libraries.get("isa")) if v) or None),
        ("Threads", libraries.get("threads")),
        ("oneDNN", libraries.get("onednn")),
        ("Compiler", plan.get("tool")),
    ]
    return [(name, str(value)) for name, value in found if value is not None]


def _ranks(plan: dict) -> str | None:
    ranks, exchange = plan.get("ranks"), plan.get("exchange") or {}
    if not ranks or ranks == 1:
        return ranks
    occasions = {"all_reduce_bytes": "update", "micro_batch_bytes": "micro-batch"}
    sent = [f"{bytes_text(exchange[key])} per {of}" for key, of in occasions.items() if exchange.get(key)]
    utterances = plan.get("batch_per_rank", "?")
    share = f"{ranks}, {utterances} utterances each"
    if (stages := plan.get("stages", 1)) > 1:
        waits = f"{100 * plan.get('pipeline_bubble', 0):.0f} % of the time"
        share = f"{ranks} in {stages} stages, {utterances} utterances a replica, waiting for each other {waits}"
    return f"{share}; each sends {' and '.join(sent) or 'nothing'} over {exchange.get('link')}"


def _optional(write, value) -> str | None:
    return None if value is None else write(value)


def _changes(title: str, lines: list[str] | None, none: str) -> Markup:
    listed = tag("ul", [tag("li", line) for line in lines]) if lines else tag("p", none)
    return tag("div", tag("h3", title), listed)
