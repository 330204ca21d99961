"""Refuses a split in which training and validation share speech: same audio, same text, or nearly the same words.

    python -m tts.data.leakage SPLIT.json

SPLIT.json: {"train": [{"id": ..., "text": ..., "audio": FILE or sha256}, ...], "validation": [...]}
"""

import hashlib
import json
import sys
from pathlib import Path

from tts.data.duplicates import Item, Pair, pairs
from tts.data.errors import InputError, Parser, run_tool


def leaks(splits: dict[str, list[Item]]) -> list[Pair]:
    """The pairs of duplicates with a member in each of two splits; an id listed twice is one of them."""
    home: dict[str, str] = {}
    found = []
    for name, items in splits.items():
        for item in items:
            if home.setdefault(item.id, name) != name:
                found.append(Pair("same id", item.id, item.id))
    every = {item.id: item for items in splits.values() for item in items}
    found += [pair for pair in pairs(every.values()) if home[pair.first] != home[pair.second]]
    return found


def refuse_leaks(splits: dict[str, list[Item]], place: object) -> None:
    found = leaks(splits)
    if not found:
        return
    homes: dict[str, list[str]] = {}
    for name, items in splits.items():
        for item in items:
            homes.setdefault(item.id, []).append(name)
    told = ", ".join(
        f"{p.kind}: {p.first} ({homes[p.first][0]}) and {p.second} ({homes[p.second][-1]})" for p in found[:20]
    )
    more = f" and {len(found) - 20} more" if len(found) > 20 else ""
    raise InputError(place, f"the splits share speech: {told}{more}", "keep each group of duplicates in one split")


def read_split(path: Path) -> dict[str, list[Item]]:
    try:
        listed = json.loads(path.read_text())
        return {name: [_item(entry, path.parent) for entry in entries] for name, entries in listed.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(path, f"not a split ({error})", "see python -m tts.data.leakage --help") from error


def _item(entry: dict, folder: Path) -> Item:
    audio = entry.get("audio", "")
    if audio and not (len(audio) == 64 and set(audio) <= set("0123456789abcdef")):
        audio = hashlib.sha256((folder / audio).read_bytes()).hexdigest()
    return Item(entry["id"], entry.get("text", ""), audio)


def main() -> int:
    parser = Parser(prog="tts.data.leakage", description=__doc__.splitlines()[0])
    parser.add_argument(
        "split", type=Path, help='{"train": [{"id", "text", "audio": FILE or sha256}], "validation": [...]}'
    )
    splits = read_split(parser.parse_args().split)
    refuse_leaks(splits, parser.parse_args().split)
    print("no speech is shared: " + ", ".join(f"{name} {len(items)}" for name, items in splits.items()))
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
