"""Which utterances say the same thing, and a split that keeps them together."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

SIMILAR = 0.7  # words in common over words in either


@dataclass(frozen=True)
class Item:
    id: str
    text: str
    audio: str  # sha256 of the samples


@dataclass(frozen=True)
class Pair:
    kind: str  # "same audio", "same text", "similar text"
    first: str
    second: str


def plain_words(text: str) -> tuple[str, ...]:
    """Words without case and punctuation."""
    return tuple(re.findall(r"[a-z0-9]+", text.lower().replace("'", "")))


def pairs(items: Iterable[Item]) -> Iterator[Pair]:
    """All pairs of duplicates, by the strongest reason each."""
    items = sorted(items, key=lambda item: item.id)
    words = {item.id: plain_words(item.text) for item in items}
    sets = {identity: frozenset(spoken) for identity, spoken in words.items()}
    for a, b in combinations(items, 2):
        if a.audio and a.audio == b.audio:
            yield Pair("same audio", a.id, b.id)
        elif words[a.id] and words[a.id] == words[b.id]:
            yield Pair("same text", a.id, b.id)
        elif _similar(sets[a.id], sets[b.id]):
            yield Pair("similar text", a.id, b.id)


def _similar(a: frozenset[str], b: frozenset[str]) -> bool:
    if min(len(a), len(b)) < SIMILAR * max(len(a), len(b)):
        return False  # cannot reach the ratio; spares most of the intersections
    common = len(a & b)
    return bool(common) and common >= SIMILAR * (len(a) + len(b) - common)


def groups(found: Iterable[Pair]) -> list[list[str]]:
    """The connected groups of these pairs, each sorted, in order of their first id."""
    parent: dict[str, str] = {}

    def root(identity: str) -> str:
        parent.setdefault(identity, identity)
        while parent[identity] != identity:
            parent[identity] = parent[parent[identity]]
            identity = parent[identity]
        return identity

    for pair in found:
        first, second = sorted((root(pair.first), root(pair.second)))
        parent[second] = first
    members: dict[str, list[str]] = {}
    for identity in sorted(parent):
        members.setdefault(root(identity), []).append(identity)
    return sorted(members.values())


def rank(identity: str) -> str:
    """A fixed shuffle of ids that does not depend on which others exist."""
    return hashlib.sha256(identity.encode()).hexdigest()


def split(ids: Iterable[str], grouped: list[list[str]], validation: float) -> set[str]:
    """The ids of the validation split: whole groups in a fixed shuffle, up to `validation` of all ids."""
    ids = set(ids)
    units = [[i for i in group if i in ids] for group in grouped]
    units = [unit for unit in units if unit]
    taken = {identity for unit in units for identity in unit}
    units += [[identity] for identity in ids - taken]
    room, chosen = round(validation * len(ids)), set()
    for unit in sorted(units, key=lambda unit: rank(unit[0])):
        if len(chosen) + len(unit) <= room:
            chosen.update(unit)
    return chosen
