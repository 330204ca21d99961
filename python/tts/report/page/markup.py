"""HTML as nested calls: every text is escaped, every element closed."""

import html
import json

_VOID = {"meta", "br", "hr", "input", "path", "line", "rect", "circle"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(content: object) -> Markup:
    return content if isinstance(content, Markup) else Markup(html.escape(str(content), quote=False))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """<name attributes>children</name>. `cls` is class, `data_x` is data-x; None and False leave one out, True is bare."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = "class" if key == "cls" else key.rstrip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{html.escape(str(value))}"')
    opening = f"<{' '.join(words)}>"
    if name in _VOID:
        return Markup(opening[:-1] + "/>")
    return Markup(opening + "".join(text(c) for c in _flat(children)) + f"</{name}>")


def join(*children: object) -> Markup:
    return Markup("".join(text(c) for c in _flat(children)))


def data(identifier: str | None, content: object, **attributes: object) -> Markup:
    """Data for the page's script; `<` is spelled so that no text can end the element."""
    encoded = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return tag("script", Markup(encoded), type="application/json", id=identifier, **attributes)


def table(head: list[object], rows: list[list[object]], foot: list[object] | None = None, **attributes) -> Markup:
    """A table whose columns from the second on hold figures; wrapped, so that a narrow page scrolls it alone."""

    def line(cells, name="td"):
        return tag(
            "tr",
            tag("th", cells[0], scope="col" if name == "th" else "row"),
            [tag(name, cell, scope="col" if name == "th" else None) for cell in cells[1:]],
        )

    return tag(
        "div",
        tag(
            "table",
            tag("thead", line(head, "th")),
            tag("tbody", [line(row) for row in rows]),
            tag("tfoot", line(foot)) if foot else "",
            **attributes,
        ),
        cls="scroll",
        tabindex="0",
        role="region",
        aria_label=attributes.get("aria_label", "table"),
    )


def _flat(children):
    for child in children:
        if isinstance(child, list | tuple):
            yield from _flat(child)
        elif child is not None:
            yield child
