"""Rematerialization problems in the shapes of networks: forward's operations and backward's steps.

Costs are those of a machine of 100 GF/s and 20 GB/s, so a matrix product or a convolution costs ten to a hundred times an
element-wise operation. Backward has one step per operation; it holds the gradient that arrives, and makes one per operand.
"""

from dataclasses import dataclass, field

RATE, BANDWIDTH = 100e9, 20e9


@dataclass
class Op:
    bytes: int
    seconds: float
    operands: list
    free: bool = False
    scratch: int = 0
    keep: bool = True


@dataclass
class Problem:
    """`steps` are (live before, live during, forward values read); `blocks` are indices of block outputs."""

    name: str
    ops: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    blocks: list = field(default_factory=list)

    @staticmethod
    def read(name, lines, blocks):
        problem = Problem(name, blocks=blocks)
        for line in lines:
            kind, first, second, *rest = line.split()
            if kind == "o":
                seconds, flags, *operands = rest
                op = Op(int(first), float(seconds), [*map(int, operands)], "f" in flags, int(second), "k" not in flags)
                problem.ops.append(op)
            else:
                problem.steps.append((int(first), int(second), [*map(int, rest[1:])]))
        return problem

    def head(self, end):
        """What no plan of all can do with less: operations from `end` on cost nothing and are always there.

        Backward's steps before the first that reads the head are two: up to the one of most bytes, and after it; in both
        clones find the most room of any step.
        """
        uses = [[v for v in used if v < end] for _, _, used in self.steps]
        first = next((i for i, used in enumerate(uses) if any(not self.ops[v].free for v in used)), len(uses))
        steps = [(before, during, used) for (before, during, _), used in zip(self.steps, uses, strict=True)]
        top = max(range(first), key=lambda i: steps[i][1], default=-1)
        merged = []
        for part, during in ((steps[: top + 1], max), (steps[top + 1 : first], min)):
            if part:
                merged.append((min(s[0] for s in part), during(s[1] for s in part), []))
        return Problem(f"{self.name}, head", self.ops[:end], merged + steps[first:])

    def end_of(self, share):
        """The first operations have this share of the bytes."""
        have, wanted = 0, share * sum(op.bytes for op in self.ops)
        for i, op in enumerate(self.ops):
            have += op.bytes
            if have >= wanted:
                return i + 1
        return len(self.ops)

    def lines(self):
        for op in self.ops:
            flags = "f" if op.free else "-" if op.keep else "k"
            yield f"o {op.bytes} {op.scratch} {op.seconds!r} {flags} {' '.join(map(str, op.operands))}"
        for before, during, uses in self.steps:
            yield f"s {before} {during} - {' '.join(map(str, uses))}"


class Builder:
    """Writes forward op by op, then backward in reverse."""

    def __init__(self, name):
        self.problem = Problem(name)
        self.reads = []

    def input(self):
        self.problem.ops.append(Op(0, 0.0, [], free=True))
        self.reads.append(())
        return len(self.problem.ops) - 1

    def op(self, elements, operands, flops=0.0, reads="inputs"):
        """`reads`: what its backward needs: "inputs", "output", "both" or "nothing"."""
        size = 4 * elements
        moved = size + sum(self.problem.ops[o].bytes for o in operands)
        index = len(self.problem.ops)
        self.problem.ops.append(Op(size, max(flops / RATE, moved / BANDWIDTH), list(operands)))
        needed = {"inputs": operands, "output": [index], "both": [*operands, index], "nothing": []}[reads]
        self.reads.append(tuple(o for o in needed if not self.problem.ops[o].free))
        return index

    def block(self, index):
        self.problem.blocks.append(index)
        return index

    def finish(self):
        ops = self.problem.ops
        live = {len(ops) - 1: ops[-1].bytes}
        for index in range(len(ops) - 1, -1, -1):
            if ops[index].free:
                continue
            before = sum(live.values())
            made = {o: ops[o].bytes for o in ops[index].operands if not ops[o].free and o not in live}
            self.problem.steps.append((before, before + sum(made.values()), self.reads[index]))
            live.pop(index, None)
            live.update(made)
        return self.problem


def chain(length, seed=1):
    """Convolutions of changing width with an activation each, as in a vocoder: wide and cheap, narrow and dear."""
    b = Builder(f"chain-{length}")
    value, width = b.input(), 1 << 16
    for i in range(length):
        if i % 2 == 0:
            width = int(width * (0.6, 1.5, 0.9, 1.2, 0.8)[(i // 2 + seed) % 5])
            value = b.op(width, [value], flops=width * (600, 1500, 900)[(i // 2) % 3])
        else:
            value = b.block(b.op(width, [value], reads="output"))
    return b.finish()


def transformer(blocks, hidden=1 << 16, fine=True):
    """Pre-norm blocks; attention's backward reads q, k, v and its own result."""
    b = Builder(f"blocks-{blocks}" if fine else f"blocks-{blocks}-coarse")
    x = b.op(hidden, [b.input()])
    for _ in range(blocks):
        norm = b.op(hidden, [x])
        if fine:
            q, k, v = (b.op(hidden, [norm], flops=hidden * 512) for _ in range(3))
            a = b.op(hidden, [q, k, v], flops=hidden * 1024, reads="both")
        else:
            qkv = b.op(3 * hidden, [norm], flops=hidden * 1536)
            a = b.op(hidden, [qkv], flops=hidden * 1024, reads="both")
        o = b.op(hidden, [a], flops=hidden * 512)
        x = b.op(hidden, [o, x], reads="nothing")
        norm = b.op(hidden, [x])
        h = b.op(4 * hidden, [norm], flops=hidden * 2048)
        g = b.op(4 * hidden, [h])
        o = b.op(hidden, [g], flops=hidden * 2048)
        x = b.block(b.op(hidden, [o, x], reads="nothing"))
    return b.finish()


def unet(depth, hidden=1 << 17):
    """Two convolutions per level; each level's result is read again by the decoder."""
    b = Builder(f"unet-{depth}")
    x, size, skips = b.input(), hidden, []
    for _ in range(depth):
        x = b.op(size, [x], flops=size * 700)
        x = b.op(size, [x], reads="output")
        skips.append((x, size))
        size //= 2
        x = b.block(b.op(size, [x], flops=size * 300))
    x = b.op(size, [x], flops=size * 1400)
    for skip, size in reversed(skips):
        x = b.op(size, [x], flops=size * 300)
        x = b.op(2 * size, [x, skip], reads="nothing")
        x = b.op(size, [x], flops=size * 1400)
        x = b.block(b.op(size, [x], reads="output"))
    return b.finish()


def resnet(blocks, hidden=1 << 16):
    """conv, norm, relu, conv, norm, add, relu; every second block halves the size."""
    b = Builder(f"resnet-{blocks}")
    x, size = b.op(hidden, [b.input()], flops=hidden * 300), hidden
    for i in range(blocks):
        flops = 800
        if i % 2 == 1:
            size //= 2
            x = b.op(size, [x], flops=size * 200)
            flops *= 2
        y = b.op(size, [x], flops=size * flops)
        y = b.op(size, [y])
        y = b.op(size, [y], reads="output")
        y = b.op(size, [y], flops=size * flops)
        y = b.op(size, [y])
        x = b.op(size, [x, y], reads="nothing")
        x = b.block(b.op(size, [x], reads="output"))
    return b.finish()
