"""What recomputing costs: FastSpeech 2 at falling budgets, all compiled plans measured in turns in one run.

Usage, after the build: .venv/bin/python benchmarks/recompute/run.py [--out DIR] [--rounds N] [--plot FILE.png]

Activations are given as parts of what PyTorch 1.13 eager saves for backward on the same model and batch. Time is measured twice: the
sum over entries of each entry's shortest run, and the shortest whole step; both relative to the plan that recomputes nothing.
"""

import argparse
import sys
from pathlib import Path

from variants import HERE, Setting, Variant, add_shape, told

#: Part of what eager saves → most added time, in per cent.
BARS = {0.5: 2.5, 0.4: 5.0, 0.3: 10.0}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_shape(parser, rounds=4)
    o = parser.parse_args()
    setting = Setting(o)
    eager = int(told(sys.executable, HERE / "saved.py", o.out / "config.json", o.out / "batch.npz"))

    none = Variant("none", setting, "--memory-budget=20G", "--remat=none")
    fixed = none.plan["peak_bytes"] - none.activations
    variants = [none]
    for part in (0.6, *BARS, 0.25, 0.2):
        budget = int(fixed + part * eager)
        if budget < none.plan["peak_bytes"]:
            variants.append(Variant(f"{part:.2f}", setting, f"--memory-budget={budget}"))

    for turn in range(o.rounds):
        for variant in variants:
            variant.run(setting.batch, turn + 1)
            print(f"round {turn + 1} of {o.rounds}, {variant.name}: {variant.step:.3f} s", file=sys.stderr)

    print(f"{setting.words}; eager saves {eager / 1e6:.0f} MB")
    print(f"{'plan':>6} {'bytes':>9} {'of eager':>9} {'predicted':>10} {'entries':>9} {'step':>9}  bar")
    rows, missed = [], False
    for v in variants:
        part = v.activations / eager
        predicted = v.plan["predicted_step_seconds"] / none.plan["predicted_step_seconds"] - 1
        entries, step = v.seconds / none.seconds - 1, v.step / none.step - 1
        rows.append((part, predicted, entries, step))
        bar = next((limit for of, limit in BARS.items() if v.name == f"{of:.2f}"), None)
        missed |= bar is not None and 100 * entries > bar
        words = "" if bar is None else f"at most +{bar} %: {'holds' if 100 * entries <= bar else 'missed'}"
        figures = "".join(f" {100 * x:>+8.1f} %" for x in (predicted, entries, step))
        print(f"{v.name:>6} {v.activations / 1e6:>6.0f} MB {100 * part:>7.0f} %{figures}  {words}")
    if o.plot:
        draw(o.plot, rows)
    return int(missed)


def draw(path: Path, rows):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    parts = [100 * row[0] for row in rows]
    for column, label in ((1, "predicted"), (2, "entries' minima"), (3, "whole step")):
        axes.plot(parts, [100 * row[column] for row in rows], "o-", label=label)
    axes.plot([100 * of for of in BARS], list(BARS.values()), "kx", label="bar")
    axes.set_xlabel("bytes kept, % of what eager saves")
    axes.set_ylabel("added time, %")
    axes.invert_xaxis()
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
