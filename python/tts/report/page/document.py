"""The whole page: sections in reading order, with style and script inside it."""

from pathlib import Path

import numpy as np

from tts.report import look
from tts.report.page import experiment, overview, plan, ranks, sounds, tensors, timeline, training, views
from tts.report.page.markup import Markup, join, tag
from tts.report.page.run import Run

_HERE = Path(__file__).parent
#: Bytes of a page that still opens at once on a phone; sounds take what the rest leaves.
_MOST = 2_800_000


def html(run: Run) -> str:
    certificate = run.certificate
    memory, script_data, found = tag("p", "The plan does not say when its buffers live: no timeline."), "", []
    if certificate.timed:
        live = certificate.live()
        total = sum(live.values())
        found, peak = views.views(certificate, total), int(np.argmax(total))
        sources = tensors.Sources(run.model)
        memory = join(
            _timeline_note(), timeline.html(certificate, live, found), tensors.html(certificate, peak, sources)
        )
        script_data = tensors.script_data(certificate, peak, found, sources)
    has_losses = any("loss" in m for m in run.metrics)
    losses = training.html(run) if has_losses else _missing("metrics.jsonl", "no curves")
    room = _MOST - len(memory) - len(script_data) - len(losses)
    sections = [
        ("memory", "Memory", join(overview.memory(run), ranks.html(run))),
        ("plan", "Plan", plan.html(run, found)),
        ("experiment", "Experiment", experiment.html(run)),
        ("moments", "Memory over a step", memory),
        ("training", "Training", losses),
        ("samples", "Samples", sounds.html(run, room) if run.sounds else _missing("sound file", "no samples")),
        (
            "evaluation",
            "Evaluation",
            run.evaluation.html() if run.evaluation else _missing("evaluation.json", "no evaluation"),
        ),
    ]
    body = [
        overview.header(run),
        tag("nav", [tag("a", name, href=f"#{key}") for key, name, _ in sections], aria_label="sections"),
        tag("main", [tag("section", tag("h2", name), content, id=key) for key, name, content in sections]),
        _footer(run),
        script_data,
        tag("script", Markup((_HERE / "page.js").read_text())),
    ]
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{run.title}: training report"),
        tag("style", Markup(_class_colours() + (_HERE / "page.css").read_text())),
    ]
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"


def _missing(what: str, result: str) -> Markup:
    return tag("p", f"There is no {what} in the folder, so {result} here.", cls="quiet")


def _timeline_note() -> Markup:
    return tag(
        "p",
        "Live bytes of the arena at every entry of one update's programs, in the order they run. Forward and backward "
        "repeat for each micro-batch; an update mixes buckets, and no two of them live at the same time, but in a stage "
        "of a pipeline, where forward.1 and backward.1 are a second micro-batch's.",
        cls="quiet",
    )


def _class_colours() -> str:
    """A colour per class, for shapes and for keys; those that stay dark are lifted on a dark page."""
    rules = [f".c-{name}{{--c:{colour}}}" for name, colour in look.CLASS_COLOURS.items()]
    return "".join(rules) + "\n"


def _footer(run: Run) -> Markup:
    hashes = run.certificate.plan.get("hashes") or {}
    lines = [tag("div", tag("dt", name), tag("dd", tag("code", value[:16]))) for name, value in sorted(hashes.items())]
    note = "The planned bytes are a certificate: tts-check re-proves them from the executable."
    return tag("footer", tag("p", note), tag("dl", lines, cls="facts") if lines else "")
