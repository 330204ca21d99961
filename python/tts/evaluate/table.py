"""An evaluation as a table on the terminal: every metric with its unit and what it is over, the recipes below."""

import textwrap

_WIDTH = 120


def lines(told: dict) -> list[str]:
    yielded = [_head(told), ""]
    width = max(len(metric["title"]) for metric in told["metrics"])
    for metric in told["metrics"]:
        over = f"{metric['count']} {metric['of']}"
        if metric["of"] != "utterances":
            over += f" of {metric['utterances']} utterances"
        yielded.append(
            f"  {metric['title']:<{width}}  {metric['value']:>9.{_digits(metric)}f} {metric['unit']:<10}  {over}"
        )
    yielded.append("")
    for reason in dict.fromkeys(entry["reason"] for entry in told["left_out"]):
        keys = ", ".join(entry["what"] for entry in told["left_out"] if entry["reason"] == reason)
        yielded.append(f"left out {keys}: {reason}")
    for recipe, text in told["recipes"].items():
        yielded += textwrap.wrap(f"{recipe}: {text}", _WIDTH, initial_indent="  ", subsequent_indent="    ")
    return yielded


def _digits(metric: dict) -> int:
    return (
        4 if metric["recipe"] == "loss" else 2 if metric["recipe"] in ("mcd.mel", "mcd.wave", "mos", "duration") else 1
    )


def _head(told: dict) -> str:
    step = "" if told["step"] is None else f" (update {told['step']})"
    return (
        f"{told['weights']}{', moving average' if told['ema'] else ''}{step} on {told['utterances']} {told['split']} utterances; "
        f"{told['audible']} made audible, {told['rated']} rated; {told['seconds']:.0f} s"
    )
