"""The exact program of the rematerialization benchmark beside trying everything, on tiny random graphs."""

import math
import random
import sys
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks" / "remat"))

import exact
import graphs


def subsets(values):
    return [frozenset(c) for n in range(len(values) + 1) for c in combinations(values, n)]


def make(seed):
    draw, problem = random.Random(seed), graphs.Problem("random", ops=[graphs.Op(0, 0.0, [], free=True)])
    for i in range(1, 6):
        operands = sorted({draw.randint(max(0, i - 2), i - 1), draw.randint(0, i - 1)})
        problem.ops.append(
            graphs.Op(draw.randint(1, 9), float(draw.randint(1, 20)), operands, False, draw.randint(0, 9))
        )
    for i in range(5, 0, -1):
        before = draw.randint(0, 4)
        uses = [o for o in (*problem.ops[i].operands, i) if o > 0 and draw.random() < 0.6]
        problem.steps.append((before, before + draw.randint(0, 1), uses))
    return problem


class Brute:
    """Every set in memory between two steps, every set of clones."""

    def __init__(self, problem, limit):
        self.ops, self.steps, self.limit = problem.ops, problem.steps, limit
        self.operands = [{o for o in op.operands if o > 0} for op in self.ops]

    def size(self, values):
        return sum(self.ops[v].bytes for v in values)

    def forward(self, kept):
        for i in range(1, len(self.ops)):
            live = {v for v in range(1, i + 1) if v in kept or v == i or any(v in o for o in self.operands[i:])}
            if self.size(live) + self.ops[i].scratch > self.limit:
                return False
        return True

    def fits(self, step, have, again, keep):
        before, during, uses = step
        wanted = set(uses).union(*(self.operands[u] for u in again))
        if not wanted <= have | again:
            return False
        there, left = set(have), sorted(again)
        while True:
            there &= set(uses).union(keep, *(self.operands[u] for u in left))
            if not left:
                return self.size(there) + during <= self.limit
            there.add(left[0])
            if self.size(there) + before + self.ops[left[0]].scratch > self.limit:
                return False
            left.pop(0)

    def solve(self):
        sets = subsets(range(1, len(self.ops)))
        cost = {kept: 0.0 for kept in sets if self.forward(kept)}
        for step in self.steps:
            after = {}
            for have, spent in cost.items():
                for again in sets:
                    total = spent + sum(self.ops[v].seconds for v in again)
                    for keep in sets:
                        if again & have or not keep <= have | again or total >= after.get(keep, math.inf):
                            continue
                        if self.fits(step, have, again, keep):
                            after[keep] = total
            cost = after
        return min(cost.values(), default=math.inf)


def test_the_exact_program_is_exact():
    finite = 0
    for seed in range(10):
        problem = make(seed)
        top = sum(op.bytes for op in problem.ops) + 8
        for limit in range(top // 3, top, 3):
            best = Brute(problem, limit).solve()
            status, value, proven = exact.optimum(problem, limit, 60)
            if math.isinf(best):
                assert status == "infeasible"
                continue
            finite += 0 < best
            assert status == "optimal"
            assert abs(value - best) < 1e-6
            assert proven <= best + 1e-6
    assert finite > 5


def test_a_head_costs_no_more_than_all():
    finite = 0
    for seed in range(20):
        problem = make(seed)
        top = sum(op.bytes for op in problem.ops) + 8
        for limit in range(top // 3, top, 4):
            best = Brute(problem, limit).solve()
            for end in range(3, 6):
                status, _, proven = exact.optimum(problem.head(end), limit, 60)
                if math.isfinite(best):
                    assert status == "optimal"
                    assert proven <= best + 1e-6
                    finite += 0 < proven
    assert finite > 5


def test_a_head_keeps_its_steps_and_the_tightest_before_them():
    op = graphs.Op
    problem = graphs.Problem(
        "four", ops=[op(0, 0.0, [], free=True), *(op(s, 1.0, [i]) for i, s in enumerate((8, 4, 2, 1)))]
    )
    problem.steps = [(0, 1, [4]), (1, 9, [3]), (2, 3, [3]), (1, 2, [2, 3]), (1, 1, [1])]
    assert problem.end_of(0.5) == 2 and problem.end_of(0.8) == 3 and problem.end_of(1) == 5
    assert problem.head(3).steps == [(0, 9, []), (2, 3, []), (1, 2, [2]), (1, 1, [1])]
    assert problem.head(5).steps == problem.steps


def test_what_is_live_beside_a_clone_counts():
    op = graphs.Op
    # 1 is live while 2 and 3 are made of it; the first step leaves no room to keep anything.
    skip = graphs.Problem("skip", ops=[op(0, 0.0, [], free=True), *(op(10, 1.0, o) for o in ([0], [1], [2], [1, 3]))])
    skip.steps = [(5, 30, []), (5, 5, [4])]
    assert exact.optimum(skip, 34, 60)[0] == "infeasible"
    assert exact.optimum(skip, 35, 60)[:2] == ("optimal", 4.0)
    # Room for one of two: 2 is carried past step 1, beside the scratch of 1's clone.
    carried = graphs.Problem("carried", ops=[op(0, 0.0, [], free=True), op(10, 1.0, [0], scratch=20), op(10, 5.0, [0])])
    carried.steps = [(0, 24, []), (0, 0, [1]), (0, 0, [2])]
    assert exact.optimum(carried, 39, 60)[:2] == ("optimal", 5.0)
    assert exact.optimum(carried, 40, 60)[:2] == ("optimal", 1.0)
