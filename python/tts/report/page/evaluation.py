"""evaluation.json (docs/evaluating.md): what was measured, how, on which utterances, and what was left out."""

import json
from dataclasses import dataclass
from pathlib import Path

from tts.data.errors import InputError
from tts.report.page.markup import Markup, join, table, tag
from tts.report.page.scales import number

_LISTED = 40


@dataclass
class Evaluation:
    path: Path
    content: dict
    metrics: list[dict]
    rows: list[dict]

    @classmethod
    def read(cls, path: Path) -> "Evaluation":
        try:
            content = json.loads(path.read_text())
            if content["version"] != 1:
                raise ValueError(f"version {content['version']}, not 1")
            metrics, rows = content["metrics"], content.get("rows") or []
            for metric in metrics:
                metric["key"], metric["title"], float(metric["value"])
            for row in rows:
                row["id"], dict(row.get("values") or {}), dict(row.get("samples") or {})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(path, f"not an evaluation ({error})", "make it again with tts.evaluate") from error
        return cls(path, content, metrics, rows)

    def html(self) -> Markup:
        return join(
            tag("p", self._sentence(), cls="quiet"),
            self._metrics(),
            self._left_out(),
            self._recipes(),
            self._rows(),
        )

    def _sentence(self) -> str:
        content = self.content
        step = f", update {number(content['step'], 9)}" if content.get("step") is not None else ""
        words = f"The {content.get('split', 'validation')} split with {content.get('weights', 'these weights')}{step}"
        if "utterances" in content:
            words += f": {number(content['utterances'], 9)} utterances"
        if content.get("audible"):
            words += f", {number(content['audible'])} of them made audible"
        if content.get("teacher_forced"):
            words += "; what is predicted has the recordings' durations, pitch and energy (teacher forcing)"
        if any(metric["key"].endswith(".spoken") for metric in self.metrics):
            words += ", what is spoken has its own"
        return words + "."

    def _metrics(self) -> Markup:
        rows = [[m["title"], _value(m["value"], m.get("unit")), _on(m)] for m in self.metrics]
        return table(["measure", "value", "on"], rows, cls="metrics", aria_label="evaluation")

    def _left_out(self) -> Markup | str:
        """What was not measured, each reason once."""
        reasons: dict[str, list[str]] = {}
        for entry in self.content.get("left_out") or []:
            reasons.setdefault(str(entry.get("reason")), []).append(str(entry.get("what")))
        words = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in reasons.items())
        return tag("p", f"Left out: {words}.", cls="quiet") if words else ""

    def _recipes(self) -> Markup | str:
        recipes = self.content.get("recipes") or {}
        items = [tag("div", tag("dt", name), tag("dd", text)) for name, text in recipes.items()]
        return tag("details", tag("summary", "How each is measured"), tag("dl", items, cls="recipes")) if items else ""

    def _rows(self) -> Markup | str:
        measured = [row for row in self.rows if row.get("values")]
        if not measured:
            return ""
        keys = [m["key"] for m in self.metrics if any(m["key"] in row["values"] for row in measured)]
        rows = [[_who(row), *(_value(row["values"].get(k)) for k in keys)] for row in measured[:_LISTED]]
        more = f" (the first {_LISTED} of {len(measured)})" if len(measured) > _LISTED else ""
        listed = table(["utterance", *keys], rows, aria_label="evaluation of each utterance")
        return tag("details", tag("summary", f"Each utterance{more}"), listed)


def _value(value: float | None, unit: str | None = "") -> str:
    return "–" if value is None else number(value) + (f" {unit}" if unit else "")


def _on(metric: dict) -> str:
    if "count" not in metric:
        return ""
    return f"{number(metric['count'], 9)} {metric.get('of', '')}".strip()


def _who(row: dict) -> Markup:
    text = row.get("text") or ""
    return join(tag("code", row["id"]), tag("small", text) if text else "")
