"""Recomputing at equal bytes: our plans beside whole-block checkpointing, by us and by PyTorch, and its min-cut budget.

Usage, after the build and `benchmarks/peers/run.py --install --peers torch113 torch`:
    .venv/bin/python benchmarks/recompute/equal_bytes.py [--venv-root DIR] [--out DIR] [--rounds N] [--plot FILE.png]

All sides take their steps in turns, on one thread; a figure is the least processor seconds of `--rounds` steps. Three comparisons:

- imposed: our compiler made to compute whole blocks again (`imposed.py`) beside our plan of at most its activations;
- eager: PyTorch 1.13 with torch.utils.checkpoint around each block beside our plan of at most its bytes;
- min-cut: the newest torch.compile with `activation_memory_budget` likewise.

Bytes are the most that are live beside parameters, their gradients and the optimizer's state: ours by the plan, PyTorch's by its
profiler (without oneDNN's scratch). A side's added time is relative to its own step that computes nothing again; torch.compile's
to the fastest of its steps, as one that computes more again may be faster. Exit 1 if one of ours adds more.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from imposed import impose, whole_blocks
from variants import HERE, TOOLS, Setting, Variant, add_shape, told

from pool import PAUSE, Worker
from run import machine
from sides import all_sides

BUDGETS = ("0.7", "0.5", "0.3")
#: Steps of the same code differ by this much.
NOISE = 0.01


@dataclass
class Point:
    """A step: the most bytes live, what is handed to backward (None: not told), seconds."""

    name: str
    peak: int
    saved: int | None = None
    seconds: float = float("inf")
    bases: "list[Point]" = field(default_factory=list)

    @property
    def added(self) -> float:
        return self.seconds / min(base.seconds for base in self.bases) - 1


class Ours:
    """Our plans of the one setting; equal ones are compiled once."""

    def __init__(self, setting: Setting):
        self.setting, self.variants = setting, {}
        self.front = setting.folder / "front.json"
        self.front.unlink(missing_ok=True)
        self.none = self.add("ours", "--memory-budget=20G", f"--plan-front={self.front}")
        self.fixed = self.none.plan["peak_bytes"] - self.none.activations
        ir = (*setting.flags, "--memory-budget=20G", "--stop-after=plan", "--mlir-print-debuginfo")
        self.ir = told(TOOLS / "tts-opt", *ir, setting.folder / "model.mlir")

    def add(self, name, *flags) -> Variant:
        variant = Variant(name, self.setting, *flags)
        return self.variants.setdefault(variant.activations, variant)

    def within(self, bytes: int) -> Variant | None:
        """The fastest plan of at most so many bytes."""
        if bytes >= self.none.activations:
            return self.none
        known = json.loads(self.front.read_text())["choices"]
        if all(v["peak_bytes"] > self.fixed + bytes for v in known):
            return None
        name = f"ours-{bytes >> 20}"
        return self.add(name, f"--memory-budget={self.fixed + bytes}", f"--plan-front={self.front}")

    def imposed(self, blocks) -> Variant:
        front = self.setting.folder / f"blocks-{len(blocks)}.front.json"
        text = impose(self.front.read_text(), whole_blocks(self.ir, blocks))
        front.write_text(text)
        variant = Variant(f"blocks-{len(blocks)}", self.setting, "--memory-budget=20G", f"--plan-front={front}")
        if front.read_text() != text:
            sys.exit(f"error: {front}: the plan imposed was not taken; write what `tts-opt` prints for it")
        return variant


class PyTorch:
    """A worker per way of recomputing, all with our weights."""

    def __init__(self, setting: Setting, venv_root: Path, weights: Path):
        self.setting, self.root, self.weights, self.workers = setting, venv_root, weights, {}
        self.sides = {side.name: side for side in all_sides(venv_root, ["torch113", "torch-compile"])}

    def start(self, side: str, recompute: str) -> Point:
        of, name = self.sides[side], f"{side}-{recompute}"
        job = {
            "config": asdict(self.setting.config),
            "threads": 1,
            "batch": str(self.setting.folder / "batch.npz"),
            "weights": str(self.weights),
            "precision": "fp32",
            "variant": "conv" if side == "torch113" else "matmul",
            "recompute": recompute,
            "lr": 1e-4,
            "weight_decay": 0.01,
            **of.job,
        }
        file = self.setting.folder / f"{name}.job.json"
        file.write_text(json.dumps(job, indent=1))
        command = [of.python, HERE / "torch_side.py", file]
        worker = Worker(name, command, of.environment(1, self.root), self.setting.folder / f"{name}.log")
        self.workers[name] = worker
        held = worker.ask("held")
        return Point(name, held["peak"], held["saved"])

    def start_all(self, side: str, ways) -> list[Point]:
        """The first way computes nothing again."""
        if reason := self.sides[side].absent:
            print(f"{side} is absent: {reason}")
            return []
        points = [self.start(side, way) for way in ways]
        for point in points:
            point.bases = points if side == "torch-compile" else points[:1]
        return points

    def close(self):
        for worker in self.workers.values():
            worker.close()


def measure(rounds, setting, variants, points, workers):
    """Steps of all in turns; the first one of each warms up."""
    for turn in range(rounds + 1):
        for variant in variants:
            variant.run(setting.batch, turn + 1)
            print(f"turn {turn}, {variant.name}: {variant.step:.2f} s", file=sys.stderr, flush=True)
        for point in points:
            time.sleep(PAUSE)
            seconds = workers[point.name].ask("step", update=turn + 1)["processor_seconds"]
            if turn > 0:
                point.seconds = min(point.seconds, seconds)
            print(f"turn {turn}, {point.name}: {seconds:.2f} s", file=sys.stderr, flush=True)


def row(it: Point, ours: Point | None) -> tuple[str, bool]:
    saved = "" if it.saved is None else f"{it.saved / 1e6:.0f}"
    line = f"{it.name:18} {saved:>7} {it.peak / 1e6:>7.0f} {it.seconds:>8.3f} {100 * it.added:>+7.1f} %"
    if ours is None:
        return f"{line}   no plan of ours is as small", False
    holds = ours.added <= it.added + NOISE
    line += f" {ours.peak / 1e6:>7.0f} {ours.seconds:>8.3f} {100 * ours.added:>+7.1f} %"
    return f"{line} {ours.seconds / it.seconds:>8.3f}  {'holds' if holds else 'missed'}", holds


def draw(path: Path, none: Point, pairs):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    groups = {}
    for it, ours in pairs:
        groups.setdefault(it.name.rsplit("-", 1)[0], []).append(it)
        if ours is not None:
            groups.setdefault("ours", []).append(ours)
    words = {"blocks": "whole blocks, by our compiler", "torch113": "whole blocks, PyTorch 1.13 eager"}
    words["torch-compile"] = "min-cut budget, torch.compile"
    for name, points in groups.items():
        ordered = sorted(
            {(p.peak / 1e6, 100 * p.added) for p in points} | ({(none.peak / 1e6, 0.0)} if name == "ours" else set())
        )
        style = "o" if name == "torch-compile" else "o-"  # more kept may mean less live
        axes.plot(*zip(*ordered, strict=True), style, label=words.get(name, "our plans"))
    axes.set_xlabel("most bytes live, MB")
    axes.set_ylabel("added to its own step, %")
    axes.invert_xaxis()
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_shape(parser, rounds=3)
    parser.add_argument("--venv-root", type=Path, default=Path.home() / ".cache" / "tts-peers")
    parser.add_argument("--without-peers", action="store_true", help="our compiler alone")
    o = parser.parse_args()
    about = machine()
    setting = Setting(o)
    ours = Ours(setting)
    decoder = [f"decoder.{i}" for i in range(setting.config.decoder_blocks)]
    every = [*(f"encoder.{i}" for i in range(setting.config.encoder_blocks)), *decoder]
    imposed = [ours.imposed(blocks) for blocks in (decoder[: len(decoder) // 2], decoder, every)]

    weights = setting.folder / "weights.safetensors"
    ours.none.session.save(weights)
    peers, theirs = PyTorch(setting, o.venv_root, weights), []
    try:
        if not o.without_peers:
            theirs += peers.start_all("torch113", ("none", "blocks"))
            theirs += peers.start_all("torch-compile", ("1.0", *BUDGETS))
        matched = {v.name: ours.within(v.activations) for v in imposed}
        matched |= {p.name: ours.within(p.peak) for p in theirs}
        variants = [*ours.variants.values(), *imposed]
        measure(o.rounds, setting, variants, theirs, peers.workers)
    finally:
        peers.close()

    points = {v.name: Point(v.name, v.activations, None, v.seconds) for v in variants}
    none = points["ours"]
    for point in points.values():
        point.bases = [none]
    print(f"{about['processor']}, {' '.join(about['vectors'])}, load {about['load']:.1f}; {setting.words}")
    print(f"ours computes nothing again in {none.seconds:.3f} s with {none.peak / 1e6:.0f} MB\n")
    print(
        f"{'side':18} {'saved':>7} {'peak':>7} {'s':>8} {'added':>9} {'ours':>7} {'s':>8} {'added':>9} {'ours/it':>8}  bar"
    )
    pairs, held = [], True
    for it in [*(points[v.name] for v in imposed), *theirs]:
        best = matched[it.name]
        best = points[best.name] if best else None
        line, holds = row(it, best)
        print(line)
        pairs.append((it, best))
        held &= holds
    if o.plot:
        draw(o.plot, none, pairs)
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
