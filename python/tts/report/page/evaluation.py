"""evaluation.json as tables: single figures first, then each group of figures, whatever groups there are."""

from tts.report.page.markup import Markup, join, table, tag
from tts.report.page.scales import number


def html(evaluation: dict) -> Markup:
    plain, groups = _split(evaluation)
    return join(
        _facts(plain),
        [tag("div", tag("h3", _name(key)), _group(value)) for key, value in groups.items()],
    )


def _split(values: dict) -> tuple[dict, dict]:
    plain = {k: v for k, v in values.items() if not isinstance(v, dict | list)}
    return plain, {k: v for k, v in values.items() if isinstance(v, dict | list) and v}


def _name(key: object) -> str:
    return str(key).replace("_", " ")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, dict):
        return ", ".join(f"{_name(k)} {_value(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(_value(v) for v in value)
    return "–" if value is None else str(value)


def _facts(values: dict) -> Markup | str:
    items = [tag("div", tag("dt", _name(k)), tag("dd", _value(v))) for k, v in values.items()]
    return tag("dl", items, cls="facts") if items else ""


def _group(value: dict | list) -> Markup:
    """A list or dict of like objects is a table; anything else is names with values."""
    rows = value if isinstance(value, list) else list(value.values())
    if rows and all(isinstance(row, dict) for row in rows):
        keys = list(dict.fromkeys(k for row in rows for k in row))
        names = [str(i + 1) for i in range(len(rows))] if isinstance(value, list) else [_name(k) for k in value]
        cells = [[name, *(_value(row.get(k)) for k in keys)] for name, row in zip(names, rows)]
        return table(["", *map(_name, keys)], cells, aria_label="evaluation")
    if isinstance(value, list):
        return tag("ul", [tag("li", _value(v)) for v in value])
    return _facts(value)
