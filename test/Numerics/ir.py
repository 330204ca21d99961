"""Reads programs of the tts dialect from MLIR's generic form: functions as lists of ops with operands and attributes."""

import re
from dataclasses import dataclass


@dataclass
class Tensor:
    """A tensor type: sizes, of which a string is a dimension's name, and the element type."""

    shape: tuple
    dtype: str

    def sizes(self, dims: dict[str, int]) -> tuple[int, ...]:
        return tuple(dims[s] if isinstance(s, str) else s for s in self.shape)


@dataclass
class Op:
    name: str
    operands: list[str]
    attributes: dict
    results: list[str]
    types: list[Tensor]


@dataclass
class Program:
    """`arguments` and `results` pair an SSA name with its role, e.g. ("tts.param", "w"), and its type."""

    kind: str
    arguments: list[tuple[str, tuple[str, str], Tensor]]
    results: list[tuple[str, tuple[str, str]]]
    ops: list[Op]


ROLES = "param gradient moment1 moment2 ema next input scalar stash loss denominator output".split()


class Attributes:
    """A reader of attribute text: dictionaries, lists, strings, numbers; anything else stays text."""

    def __init__(self, text: str):
        self.text, self.at = text, 0

    def peek(self, expected: str) -> bool:
        while self.text[self.at : self.at + 1] in (" ", "\n"):
            self.at += 1
        return self.text.startswith(expected, self.at)

    def take(self, expected: str) -> bool:
        found = self.peek(expected)
        self.at += len(expected) if found else 0
        return found

    def match(self, pattern: str):
        self.peek("")
        found = re.compile(pattern).match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def value(self):
        if self.peek("{"):
            return self.dictionary()
        if self.take("["):
            items = []
            while not self.take("]"):
                items.append(self.value())
                self.take(",")
            return items
        if found := self.match(r'"((?:[^"\\]|\\.)*)"'):
            return found.group(1)
        if found := self.match(r"array<i(?:32|64)(?:: ([^>]*))?>"):
            return [int(n) for n in (found.group(1) or "").split(",") if n]
        if found := self.match(r"(-?[\d.]+(?:[eE][-+]?\d+)?)(?: : (\w+))?"):
            return (float if (found.group(2) or "i64").startswith("f") else int)(found.group(1))
        return self.raw()

    def raw(self) -> str:
        """Up to the comma or bracket that ends it."""
        start, depth = self.at, 0
        while depth > 0 or self.text[self.at] not in ",]}":
            if self.text.startswith("->", self.at):
                self.at += 1
            else:
                depth += (self.text[self.at] in "<([{") - (self.text[self.at] in ">)]}")
            self.at += 1
        return self.text[start : self.at]

    def dictionary(self) -> dict:
        told = {}
        assert self.take("{"), self.text[self.at :]
        while not self.take("}"):
            key = self.match(r"[\w.]+").group()
            told[key] = self.value() if self.take("=") else True
            self.take(",")
        return told


def tensor(text: str) -> Tensor:
    sizes, dtype, names = re.fullmatch(r"tensor<([?\dx]*)(\w+?\d+)(?:, #tts\.dims<([^>]*)>)?>", text).groups()
    shape = [s for s in sizes.split("x") if s]
    told = [n.strip() for n in names.split(",")] if names else shape
    return Tensor(tuple(n if s == "?" else int(s) for s, n in zip(shape, told)), dtype)


def tensors(text: str) -> list[Tensor]:
    return [tensor(t) for t in re.findall(r"tensor<(?:[^<>]|<[^>]*>)*>", text)]


OP = re.compile(r'\s*(?:(%\w+)(?::(\d+))? = )?"([\w.]+)"\(([^)]*)\)')


def operation(line: str) -> Op:
    found = OP.match(line)
    result, count, name, operands = found.groups()
    rest, attributes = line[found.end() :], {}
    if rest.startswith(" <{"):
        reader = Attributes(rest[2:])
        attributes = reader.dictionary()
        rest = rest[2 + reader.at :]
    results = [] if not result else [result] if not count else [f"{result}#{i}" for i in range(int(count))]
    return Op(name, [o for o in operands.split(", ") if o], attributes, results, tensors(rest.rpartition("->")[2]))


def role(attributes: dict) -> tuple[str, str]:
    return next((f"tts.{kind}", attributes[f"tts.{kind}"]) for kind in ROLES if f"tts.{kind}" in attributes)


def parse(text: str) -> tuple[dict[str, Program], dict]:
    """The programs of a module by kind, and the module's attributes."""
    programs, head, arguments, ops = {}, None, [], []
    module = {}
    for line in text.splitlines():
        line = line.strip()
        if line.startswith('"func.func"'):
            head, ops = Attributes(line[line.index("<{") + 1 :]).dictionary(), []
        elif line.startswith("^bb0("):
            names = re.findall(r"(%\w+): ", line)
            types = tensors(line)
            arguments = [(n, role(a), t) for n, a, t in zip(names, head.get("arg_attrs", []), types)]
        elif line.startswith('"func.return"'):
            roles = map(role, head.get("res_attrs", []))
            returned = list(zip(operation(line).operands, roles))
        elif line.startswith("}) {"):
            told = Attributes(line[3:]).dictionary()
            if head is None:
                module = told
            else:
                kind = told["tts.program"]
                programs[kind] = Program(kind, arguments, returned, ops)
                head = None
        elif OP.match(line) and not line.startswith('"builtin.module"'):
            ops.append(operation(line))
    return programs, module
