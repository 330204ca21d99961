"""Several ranks: what each planned, measured, read and sent."""

from tts.report.look import bytes_text
from tts.report.page.markup import Markup, join, table, tag
from tts.report.page.run import Run

COLUMNS = {
    "planned_peak_bytes": "planned peak",
    "measured_peak_bytes": "measured peak",
    "arena_high_water_bytes": "arena used",
    "bytes_sent": "sent to others",
    "corpus_bytes_read": "read of the corpus",
}


def html(run: Run) -> Markup:
    ranks = run.final.get("ranks") or []
    if not ranks:
        return Markup("")
    rows = [[f"rank {i}{_stage(run, i)}", *(_text(rank, key) for key in COLUMNS)] for i, rank in enumerate(ranks)]
    return join(tag("h3", "The ranks, measured"), table(["", *COLUMNS.values()], rows, aria_label="ranks"))


def _stage(run: Run, rank: int) -> str:
    plan = run.certificate.plan
    if plan.get("stages", 1) == 1:
        return ""
    return next((f", stage {i}" for i, role in enumerate(plan.get("roles", [])) if rank in role["ranks"]), "")


def _text(rank: dict, key: str) -> str:
    return bytes_text(rank[key]) if key in rank else "–"
