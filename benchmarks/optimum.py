#!/usr/bin/env python3
"""The rematerialization solver beside exact optima, lower bounds and simpler rules, at ten budgets for each graph.

    .venv/bin/python benchmarks/optimum.py [--seconds=60] [--out=FOLDER] [--graphs=small,large,time,torch]

`small`: ours / HiGHS' optimum (Checkmate's program, `remat/exact.py`); where HiGHS does not finish in --seconds, its best
plan and its bound. `large`: ours / our bound. Both: sqrt(n) segments and whole blocks, at the bytes they need.
`time`: CPU seconds of one thread by operations, and a plot. `torch`: PyTorch's min-cut partitioner at eleven values of
`activation_memory_budget` and the simple rules on a traced graph (its interpreter, as `peers/run.py --install` makes one: --torch=PATH).
Exit 1 when a bar is missed.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "remat"))

import exact  # noqa: E402
import graphs  # noqa: E402

SMALL = (graphs.chain(14), graphs.transformer(1), graphs.unet(2), graphs.resnet(2))
LARGE = (
    graphs.chain(100),
    graphs.transformer(12),
    graphs.transformer(48),
    graphs.unet(5),
    graphs.resnet(16),
)
#: A gap that counts as proven; RematOptions where it is not at first; the most operations that HiGHS is asked about.
PROVEN, HARDER, EXACT_OPS = 1.03, (100_000, 20_000, 200_000_000, 400_000), 60
#: Of larger graphs HiGHS is asked about the first operations, if so few have this share of the bytes.
HEAD = 0.9
TIMED = (40, 170, 420, 830, 1660)


def build(folder: Path) -> Path:
    """The solver as a program of its own, for this run."""
    program, root = folder / "remat", HERE.parent
    config = ["llvm-config-22", "--cppflags", "--ldflags", "--libs"]
    flags = subprocess.run(config, check=True, capture_output=True, text=True).stdout.split()
    sources = [*(root / "lib/Transforms/Plan/Remat").glob("*.cpp"), HERE / "remat" / "main.cpp"]
    command = ["g++", "-std=c++17", "-O2", f"-I{root / 'include'}", *map(str, sources), "-o", str(program), *flags]
    subprocess.run(command, check=True)
    return program


class Solved:
    """Our plans of one problem, looked for at limits as well, with bounds there and measures of given kept sets."""

    def __init__(self, program, problem, limits=(), sets=(), options=None):
        lines = [*problem.lines(), *(f"b {m}" for m in limits), *(f"k {' '.join(map(str, s))}" for s in sets)]
        lines += ["r " + " ".join(map(str, options))] if options else []
        text = "\n".join(lines) + "\n"
        run = subprocess.run([program], input=text, check=True, capture_output=True, text=True)
        answer = json.loads(run.stdout)
        self.plans, self.bounds, self.given = answer["plans"], answer["bounds"], answer["given"]
        self.cpu = answer["cpu_seconds"]
        self.top, self.floor = self.plans[0]["peak"], self.plans[-1]["peak"]

    def at(self, limit):
        return min((p["seconds"] for p in self.plans if p["peak"] <= limit), default=math.inf)


def budgets(solved):
    """Ten, evenly from just below keeping all to just above the least that we reach."""
    return [int(solved.floor + (solved.top - solved.floor) * (9.5 - i) / 10) for i in range(10)]


def rule_sets(problem):
    """What the simple rules keep: every sqrt(n)-th value, what blocks hand on, what crosses between equally long segments."""
    stored = [v for v, op in enumerate(problem.ops) if not op.free and op.keep]
    stride = max(2, round(math.sqrt(len(stored))))
    rules = [("sqrt(n)", stored[stride - 1 :: stride]), ("blocks", problem.blocks)]
    last = last_readers(problem)
    for length in range(2, len(problem.ops) // 2 + 1):
        cuts = range(length, len(problem.ops), length)
        rules.append(("segments", [v for v in stored if any(v < cut <= last[v] for cut in cuts)]))
    return rules


def last_readers(problem):
    """Of each value, the last operation of forward that reads it, views looked through."""
    last = list(range(len(problem.ops)))
    for v in reversed(range(len(problem.ops))):
        for operand in problem.ops[v].operands:
            last[operand] = max(last[operand], last[v] if problem.ops[v].free else v)
    return last


def against_rules(program, problem, solved):
    """(rule, bytes / all kept, ours / its seconds at these bytes), each rule where it comes closest to ours."""
    rules, worst = rule_sets(problem), {}
    given = Solved(program, problem, sets=[kept for _, kept in rules], options=(1, 0, 0)).given
    for (name, _), plan in zip(rules, given, strict=True):
        ours, share = solved.at(plan["peak"]), plan["peak"] / solved.top
        ratio = ours / plan["seconds"] if ours > 0 else 1.0
        if share < 1 and ratio > worst.get(name, (0, 0))[1]:
            worst[name] = share, ratio
    for name, (share, ratio) in worst.items():
        yield name, share, ratio


def small(program, seconds):
    print(f"\nours / optimum by HiGHS ({seconds} s each); added seconds are shares of one forward")
    print(f"{'graph':12} {'bytes':>6} {'ours':>7} {'HiGHS':>7} {'its bound':>9} {'our bound':>9} {'ratio':>7}  status")
    missed = []
    for problem in SMALL:
        solved, all_seconds = Solved(program, problem), sum(op.seconds for op in problem.ops)
        limits = budgets(solved)
        asked = Solved(program, problem, limits)
        for limit, bound in zip(limits, asked.bounds, strict=True):
            status, value, proven = exact.optimum(problem, limit, seconds)
            ours, best = asked.at(limit), math.inf if value is None else value
            ratio = ours / best if best > 0 else 1.0
            print(
                f"{problem.name:12} {limit / solved.top:6.3f} {ours / all_seconds:7.4f} {best / all_seconds:7.4f} "
                f"{proven / all_seconds:9.4f} {bound / all_seconds:9.4f} {ratio:7.4f}  {status}",
                flush=True,
            )
            if status == "optimal" and ratio > 1.01:
                missed.append(f"{problem.name} at {limit}: {ratio:.4f} of the optimum")
        missed += rules_table(program, problem, solved)
    return missed


def rules_table(program, problem, solved):
    missed = []
    for name, share, ratio in against_rules(program, problem, solved):
        print(f"{problem.name:12} {share:6.3f} of the bytes: ours / {name} {ratio:.4f}")
        if ratio > 1 + 1e-9:
            missed.append(f"{problem.name}: {ratio:.4f} of {name}")
    return missed


def large(program, seconds):
    print(
        "\nours / lower bound (a proven gap), by share of all kept bytes; h: the bound is that of HiGHS, of the head if that is smaller"
    )
    missed = []
    for problem in LARGE:
        solved = Solved(program, problem)
        limits = budgets(solved)
        asked = Solved(program, problem, limits)
        cpu, is_whole = asked.cpu, len(problem.ops) <= EXACT_OPS
        for limit, bound in zip(limits, asked.bounds, strict=True):
            ours, mark = asked.at(limit), " "
            if ours > PROVEN * bound:
                harder = Solved(program, problem, [limit], options=HARDER)
                ours, bound, cpu = min(ours, harder.at(limit)), max(bound, harder.bounds[0]), cpu + harder.cpu
            end = problem.end_of(HEAD)
            if ours > PROVEN * bound and (is_whole or end <= EXACT_OPS):
                _, value, proven = exact.optimum(problem if is_whole else problem.head(end), limit, seconds)
                if proven > bound:
                    bound, mark = proven, "h"
                if is_whole and value is not None and ours > value * 1.01:
                    missed.append(f"{problem.name} at {limit / solved.top:.2f}: {ours / value:.4f} of HiGHS' plan")
            gap = ours / bound if bound > 0 else math.inf
            print(f"{problem.name:12} {limit / solved.top:.3f} {gap:.4f}{mark}", flush=True)
            if gap > PROVEN:
                missed.append(f"{problem.name} at {limit / solved.top:.2f}: gap {gap - 1:.1%}")
        print(f"{problem.name:12} {len(problem.ops):5} ops, {solved.cpu:.2f} + {cpu:.2f} s", flush=True)
        missed += rules_table(program, problem, solved)
    return missed


def torch(program, interpreter):
    """Ours / PyTorch's added seconds, at the peak that its kept set needs, both measured as one of our plans."""
    worker = [interpreter, HERE / "remat" / "torch_worker.py"]
    answer = json.loads(subprocess.run(worker, check=True, capture_output=True, text=True).stdout)
    print(f"\nPyTorch {answer['version']}, min-cut with activation_memory_budget: ours / its added seconds at its peak")
    missed, traced = [], graphs.Problem.read("traced", answer["lines"], answer["blocks"])
    solved = Solved(program, traced, sets=answer["sets"].values())
    for budget, plan in zip(answer["sets"], solved.given, strict=True):
        ours, theirs, share = solved.at(plan["peak"]), plan["seconds"], plan["peak"] / solved.top
        print(f"budget {budget}: peak {share:.3f} of keeping all, ours {ours:.3g} s, its {theirs:.3g} s", flush=True)
        if ours > theirs * (1 + 1e-9):
            missed.append(f"PyTorch at {budget}: {ours:.3g} s, its {theirs:.3g} s")
    return missed + rules_table(program, traced, solved)


def planning_time(program, out):
    print("\nplanning time, one thread, default options")
    points = []
    for blocks in TIMED:
        problem = graphs.transformer(blocks)
        solved = Solved(program, problem, options=(64, 2000, 0))
        points.append((len(problem.ops), solved.cpu))
        print(f"{points[-1][0]:6} ops {points[-1][1]:7.3f} s, {len(solved.plans)} plans", flush=True)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    axes.loglog(*zip(*points, strict=True), marker="o")
    axes.set_xlabel("forward operations")
    axes.set_ylabel("CPU seconds")
    figure.savefig(out / "planning-time.png")
    return [f"{ops} ops took {cpu:.2f} s" for ops, cpu in points if cpu > 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--out", type=Path, default=Path("optimum-out"))
    parser.add_argument("--torch", type=Path, help="the interpreter of an environment with PyTorch 2.4 or newer")
    parser.add_argument("--graphs", default="small,large,time")
    arguments = parser.parse_args()
    if "torch" in arguments.graphs and arguments.torch is None:
        parser.error("--graphs=torch: no interpreter; give --torch=ENVIRONMENT/bin/python")
    arguments.out.mkdir(parents=True, exist_ok=True)
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for what in arguments.graphs.split(","):
            if what == "small":
                missed += small(program, arguments.seconds)
            elif what == "large":
                missed += large(program, arguments.seconds)
            elif what == "torch":
                missed += torch(program, arguments.torch)
            elif what == "time":
                missed += planning_time(program, arguments.out)
    print("\nbars missed:" if missed else "\nno bar missed")
    for line in missed:
        print("  " + line)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
