"""Runs in PyTorch's environment: a traced training graph as one of our problems, and what its min-cut partitioner keeps.

Prints JSON: the problem's lines, the indices of what blocks hand on, and for each `activation_memory_budget` those of the kept values. Seconds of an
operation are its flops at 100 GF/s or its bytes at 20 GB/s, whichever is longer; PyTorch plans with its own estimate.
"""

import copy
import json

import torch
import torch._functorch.config as config
from torch._functorch.aot_autograd import aot_function
from torch._functorch.partitioners import default_partition, estimate_runtime, min_cut_rematerialization_partition

BUDGETS = [i / 10 for i in range(11)]
RATE, BANDWIDTH = 100e9, 20e9
BLOCKS, WIDTH, ROWS, BATCH = 6, 128, 128, 4


def model(x, *weights):
    for i in range(BLOCKS):
        wq, wk, wv, wo, w1, w2, g1, g2 = weights[8 * i : 8 * i + 8]
        n = torch.nn.functional.layer_norm(x, (WIDTH,), g1)
        q, k, v = n @ wq, n @ wk, n @ wv
        a = torch.softmax(q @ k.transpose(1, 2) * WIDTH**-0.5, -1) @ v
        x = x + a @ wo
        n = torch.nn.functional.layer_norm(x, (WIDTH,), g2)
        x = x + torch.nn.functional.gelu(n @ w1) @ w2
    return (x * x).sum()


def weights():
    square, shapes = (WIDTH, WIDTH), []
    for _ in range(BLOCKS):
        shapes += [square] * 4 + [(WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH), (WIDTH,), (WIDTH,)]
    return [torch.randn(s, requires_grad=True) for s in shapes]


def size(node):
    value = node.meta.get("val")
    return value.numel() * value.element_size() if isinstance(value, torch.Tensor) else 0


def is_view(node):
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(r.alias_info is not None for r in schema.returns)


class Exporter:
    """Splits a joint graph at its tangents and writes forward's operations and backward's steps."""

    def __init__(self, graph):
        self.behind = set()
        for node in graph.nodes:
            if "tangents" in node.name or any(n in self.behind for n in node.all_input_nodes):
                self.behind.add(node)
        self.index, self.lines, self.source = {}, [], {}
        for node in graph.nodes:
            if node not in self.behind and node.op in ("placeholder", "call_function", "get_attr"):
                self.forward(node)
        self.backward([n for n in graph.nodes if n in self.behind and n.op == "call_function"])

    def forward(self, node):
        operands = [n for n in node.all_input_nodes if n in self.index]
        getitem = "getitem" in str(node.target)
        several = not getitem and isinstance(node.meta.get("val"), tuple | list)
        free = node.op != "call_function" or is_view(node)
        moved = size(node) + sum(size(n) for n in operands)
        seconds = 0.0
        if not free and not getitem:
            seconds = max(self.flops(node) / RATE, moved / BANDWIDTH)
        flags = "f" if free else "k" if several else "-"
        self.index[node] = len(self.index)
        self.source[node] = self.source[operands[0]] if is_view(node) and operands else node
        joined = " ".join(str(self.index[n]) for n in operands)
        self.lines.append(f"o {0 if free or several else size(node)} 0 {seconds!r} {flags} {joined}")

    def blocks(self):
        """Two sums to a block, and nothing else is one."""
        return [i for n, i in self.index.items() if n.target is torch.ops.aten.add.Tensor][1::2]

    @staticmethod
    def flops(node):
        if not any(name in str(node.target) for name in ("mm", "convolution", "attention")):
            return 0.0
        with config.patch(activation_memory_budget_runtime_estimator="flops"):
            return float(estimate_runtime(node))

    def backward(self, nodes):
        """Its own values live from their node to their last reader, views looked through; gradients to the end."""
        place = {n: i for i, n in enumerate(nodes)}
        root, last = {}, {}
        for i, node in enumerate(nodes):
            own = [n for n in node.all_input_nodes if n in place]
            root[node] = root[own[0]] if is_view(node) and own else node
            last[root[node]] = i
            for n in own:
                last[root[n]] = i
            if any(user.op == "output" for user in node.users):
                last[root[node]] = len(nodes)
        for i, node in enumerate(nodes):
            owned = [n for n in last if place[n] < i and last[n] >= i]
            before = sum(size(n) for n in owned)
            during = before + (size(node) if root[node] is node else 0)
            uses = " ".join(str(self.index[n]) for n in node.all_input_nodes if n in self.index)
            self.lines.append(f"s {before} {during} - {uses}")


def main():
    answer = {"version": torch.__version__, "sets": {}}

    def partition(joint, inputs, *, num_fwd_outputs, **more):
        exporter = Exporter(joint.graph)
        names = {node.name: node for node in exporter.index}
        answer["lines"], answer["blocks"] = exporter.lines, exporter.blocks()
        for budget in BUDGETS:
            with config.patch(activation_memory_budget=budget):
                forward, _ = min_cut_rematerialization_partition(
                    copy.deepcopy(joint), inputs, num_fwd_outputs=num_fwd_outputs, **more
                )
            outputs = next(n for n in forward.graph.nodes if n.op == "output").args[0]
            saved = {exporter.source[names[n.name]] for n in outputs[num_fwd_outputs:] if n.name in names}
            answer["sets"][budget] = sorted(exporter.index[n] for n in saved)
        return default_partition(joint, inputs, num_fwd_outputs=num_fwd_outputs, **more)

    x = torch.randn(BATCH, ROWS, WIDTH, requires_grad=True)
    compiled = aot_function(model, fw_compiler=lambda g, _: g, bw_compiler=lambda g, _: g, partition_fn=partition)
    compiled(x, *weights())
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
