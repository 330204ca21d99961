"""Whole-block checkpointing as a plan of our compiler: what a given set of blocks computes, again before its backward.

A block is a prefix of op names ("decoder.3"). All of its operations but the last, whose value the next block begins with, are
computed again before the first operation of backward that is named after the block, as `torch.utils.checkpoint` does;
`tts-rematerialize` leaves out what nothing reads. The plan is imposed by way of the file of `--plan-front`: one
choice, to be lowered and packed.
"""

import copy
import json
import re
from collections import Counter

LOCATION = re.compile(r"^(#loc\d+) = loc\((.*)\)$")
OPERATION = re.compile(r"^ *(?:%[^=]* = )?tts\.(\w+) .*loc\((#loc\d+)\)$")
#: Never computed again by name: they are made wherever they are read.
FREE = {"broadcast", "sinusoid", "constant", "reshape", "transpose", "slice"}


def names_of(ir: str, program: str) -> list[tuple[str, str]]:
    """(kind, name) of each operation of a program, as `#tts.recompute` names them."""
    locations = {m[1]: m[2] for m in map(LOCATION.match, ir.splitlines()) if m}

    def stem(place):
        said = locations[place]
        if said.startswith('"') and not re.match(r'"[^"]*":\d', said):
            return said.split('"')[1]
        parts = re.findall(r"#loc\d+", said)
        return next((name for part in parts if (name := stem(part))), "")

    body = ir[ir.index(f"func.func @{program}(") :]
    body = body[: body.index("\n  }")]
    uses, names = Counter(), []
    for line in body.splitlines():
        found = OPERATION.match(line)
        if not found:
            continue
        name = stem(found[2])
        names.append((found[1], f"{name}.{uses[name]}" if uses[name] else name))
        uses[name] += 1
    return names


def whole_blocks(ir: str, blocks) -> list[tuple[str, str]]:
    """(operation, before) of checkpointing these blocks."""
    backward = [name for _, name in names_of(ir, "backward")]
    ops = [(kind, name) for kind, name in names_of(ir, "forward") if kind not in FREE]
    again = []
    for block in blocks:
        before = next(i for i, name in enumerate(backward) if name.startswith(f"{block}."))
        own = [name for _, name in ops if name.startswith(f"{block}.")]
        again += [(before, place, name) for place, name in enumerate(own[:-1])]
    return [(name, backward[before]) for before, _, name in sorted(again)]


def impose(front: str, recompute) -> str:
    """The front with one choice: its first one, which computes nothing again, with these recomputations."""
    told = json.loads(front)
    choice = copy.deepcopy(told["choices"][0])
    plan = choice["plan"].removesuffix(">")
    if "recompute" in plan:
        raise ValueError(f"the first choice computes something again: {plan[:200]}")
    items = ", ".join(f'#tts.recompute<"{name}", before = "{before}">' for name, before in recompute)
    # 2: something in part; figures are made by lowering.
    choice |= {"plan": f"{plan}, recompute = [[{items}]]>", "exact": False, "remat": 2}
    return json.dumps(told | {"choices": [choice | {"least_bytes": 0, "least_seconds": 0.0}]})
