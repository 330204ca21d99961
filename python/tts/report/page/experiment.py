"""The experiment: what the plan must not change, beside what was trained, and beside another run."""

from tts.report import experiment
from tts.report.page.markup import Markup, join, table, tag
from tts.report.page.run import Run


def html(run: Run) -> Markup:
    planned, trained = run.certificate.plan.get("experiment") or {}, run.experiment
    if not planned:
        return tag("p", "The plan does not say which experiment it is of: it is of an older compiler.", cls="quiet")
    rows = experiment.settings(planned, trained)
    parts = [tag("p", verdict(run), cls="verdict"), _table("plan and run", "planned", "trained", rows)]
    if trace := trained.get("trace"):
        parts.append(
            tag(
                "p",
                f"Trace of {trace['updates']} updates: utterances {trace['utterances']}, rates {trace['rates']}. It is "
                "the same on any number of ranks, under any budget and after any --resume.",
                cls="quiet",
            )
        )
    if run.other:
        rows = experiment.between_runs(run.other.experiment, trained)
        parts += [tag("h3", f"Beside {run.other.title}"), tag("p", compared(run), cls="verdict")]
        parts.append(_table("both runs", run.other.title, run.title, rows))
    return join(parts)


def verdict(run: Run) -> str:
    """One sentence about plan and run."""
    planned, trained = run.certificate.plan.get("experiment") or {}, run.experiment
    if not trained:
        return "Not trained to its end yet, so there is nothing to compare the plan with."
    found = experiment.differences(planned, trained, run.updates)
    if found:
        return f"Another experiment than planned: {'; '.join(found)}."
    unknown = [row.name.lower() for row in experiment.settings(planned, trained) if row.same is None]
    return "The same experiment as planned" + (f", as far as is known: not {', '.join(unknown)}." if unknown else ".")


def compared(run: Run) -> str:
    """One sentence about two runs."""
    rows = experiment.between_runs(run.other.experiment, run.experiment)
    found = [row.difference for row in rows if row.same is False]
    if found:
        return f"Another experiment than {run.other.title}: {'; '.join(found)}."
    if any(row.same is None for row in rows):
        return f"No difference to {run.other.title} is known, but one of them has no last line or an older one."
    return f"The same experiment as {run.other.title}, with the same utterances and rates in all {rows[-3].trained} updates."


def _table(label: str, planned: str, trained: str, rows: list[experiment.Row]) -> Markup:
    words = {True: "same", False: "differs", None: "–"}
    cells = [[row.name, _text(row.planned), _text(row.trained), words[row.same]] for row in rows]
    return table(["setting", planned, trained, ""], cells, aria_label=label)


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f")
    return str(value)
