"""The optimum of a rematerialization problem by HiGHS: Checkmate's program over backward's steps, with tighter rows.

HAVE[t, v]: v is in memory when step t begins (t = 0: forward keeps it); AGAIN[t, v]: it is computed again in step t. Within
a step clones run in forward's order, and a value is freed after its last reader unless the next step has it. Any number of
recomputations of a value is allowed. Forward runs once, before. Three kinds of rows cut off fractions, no plan:

- FIRST[t, v], forward's own v is still in memory, and ONCE[t, v], v was computed again by step t: what is computed again for
  the first time between two steps was made of operands that forward left till then or that were computed again by then;
- bytes rounded down to a size, over the room rounded down to it;
- nothing is in memory behind its last reader, those that it would be computed again for included.
"""

import math

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

#: Steps back from t to which FIRST is compared.
WINDOWS = (0, 1, 2, 4, 8, 16, 32, math.inf)


class Rows:
    """Constraints as triplets: `sum(value * variable) <= high`."""

    def __init__(self):
        self.row, self.column, self.value, self.high = [], [], [], []

    def add(self, terms, high=0.0):
        for column, value in terms:
            self.row.append(len(self.high))
            self.column.append(column)
            self.value.append(value)
        self.high.append(high)

    def constraint(self, columns):
        matrix = csr_array((self.value, (self.row, self.column)), shape=(len(self.high), columns))
        return LinearConstraint(matrix, -np.inf, self.high)


class Program:
    def __init__(self, problem, limit):
        self.ops, self.steps, self.limit = problem.ops, problem.steps, limit
        self.stored = [v for v, op in enumerate(self.ops) if not op.free]
        self.used = [{v for v in uses if not self.ops[v].free} for _, _, uses in self.steps]
        self.time = max(op.seconds for op in self.ops)
        self.operands = {v: {o for o in self.ops[v].operands if not self.ops[o].free} for v in self.stored}
        self.readers = {v: [u for u in self.stored if v in self.operands[u]] for v in self.stored}
        self.cost, self.integral, self.rows = [], [], Rows()
        self.have, self.again, self.live = {}, {}, {}
        self.find_last()
        for v in self.stored:
            for t in range(self.last[v] + 1):
                self.have[t, v] = self.variable(integral=1)
                self.again[t, v] = self.variable(self.ops[v].seconds / self.time, integral=1)
        for t in range(len(self.steps)):
            self.constrain_step(t)
            self.constrain_room(t)
        self.constrain_first()
        self.constrain_forward()

    def find_last(self):
        """The last step for which each value may be needed, by way of clones too."""
        self.last = {v: max((t for t, used in enumerate(self.used) if v in used), default=-1) for v in self.stored}
        for u in reversed(self.stored):
            for v in self.operands[u]:
                self.last[v] = max(self.last[v], self.last[u])

    def variable(self, cost=0.0, integral=0):
        self.cost.append(cost)
        self.integral.append(integral)
        return len(self.cost) - 1

    def at(self, t):
        return [v for v in self.stored if t <= self.last[v]]

    def bounded(self, terms, room):
        """Terms are (variable, bytes); also rounded down to each size."""
        if not terms:
            # No such row may be left out: what cannot be met must be infeasible.
            return self.rows.add([(0, 0.0)], float(min(room, 0)))
        unit = max(abs(size) for _, size in terms)
        self.rows.add([(x, size / unit) for x, size in terms], room / unit + 1e-9)
        if room >= 0:
            for size in sorted({size for _, size in terms if size > 1}):
                whole = [(x, b // size) for x, b in terms if b >= size]
                self.rows.add(whole, room // size + 1e-9)

    def constrain_step(self, t):
        add = self.rows.add
        for v in self.at(t):
            have, again, later = self.have[t, v], self.again[t, v], self.have.get((t + 1, v))
            add([(have, 1), (again, 1)], 1)
            if later is not None:
                add([(later, 1), (have, -1), (again, -1)])
            if v in self.used[t]:
                add([(have, -1), (again, -1)], -1)
            for o in self.operands[v]:
                add([(again, 1), (self.have[t, o], -1), (self.again[t, o], -1)])

    def constrain_room(self, t):
        """During the step, and while each clone runs: what is read or carried from there on, and what is made."""
        before, during, _ = self.steps[t]
        reads = sum(self.ops[v].bytes for v in self.used[t])
        others = [v for v in self.at(t + 1) if v not in self.used[t]]
        self.bounded([(self.have[t + 1, v], self.ops[v].bytes) for v in others], self.limit - during - reads)
        if t == 0:
            self.bounded([(self.have[0, v], self.ops[v].bytes) for v in self.at(0)], self.limit - min(before, during))
        needed, arrived = {}, {}
        for v in self.at(t):
            needed[v] = self.needed_from(t, v)
            # In memory since before the step, and needed in it or later.
            arrived[v] = self.variable()
            first = next(iter(needed[v].values()))
            self.rows.add([(first, 1), (self.again[t, v], -1), (arrived[v], -1)])
        for u in self.at(t):
            # Where u is not computed again the row says less than the step's or the next clone's.
            terms = {self.again[t, u]: self.ops[u].bytes + self.ops[u].scratch}
            for v in self.at(t):
                variable = arrived[v]
                if v < u:
                    variable = next((x for k, x in needed[v].items() if k >= u), None)
                if variable is not None:
                    terms[variable] = terms.get(variable, 0) + self.ops[v].bytes
            self.bounded(list(terms.items()), self.limit - min(before, during))

    def needed_from(self, t, v):
        """Variables by reader: v is read by that one's clone in step t or later on."""
        chain, end = {}, self.variable()
        later = self.have.get((t + 1, v))
        if v in self.used[t]:
            self.rows.add([(end, -1)], -1)
        elif later is not None:
            self.rows.add([(later, 1), (end, -1)])
        chain[len(self.ops)] = end
        for u in reversed([u for u in self.readers[v] if t <= self.last[u]]):
            after, variable = next(reversed(chain.values())), self.variable()
            self.rows.add([(after, 1), (variable, -1)])
            self.rows.add([(self.again[t, u], 1), (variable, -1)])
            chain[u] = variable
        return dict(reversed(chain.items()))

    def constrain_first(self):
        add = self.rows.add
        first = {key: self.variable() for key in self.have}
        once = {key: self.variable() for key in self.have}
        for t, v in self.have:
            f, o, have, again = first[t, v], once[t, v], self.have[t, v], self.again[t, v]
            add([(f, 1), (have, -1)])
            add([(again, 1), (o, -1)])
            if t == 0:
                add([(have, 1), (f, -1)])
                add([(o, 1), (again, -1)])
            else:
                add([(f, 1), (first[t - 1, v], -1)])
                add([(once[t - 1, v], 1), (o, -1)])
                add([(o, 1), (once[t - 1, v], -1), (again, -1)])
                was, made = self.have[t - 1, v], self.again[t - 1, v]
                # Copies that are not forward's come from clones.
                add([(have, 1), (f, -1), (was, -1), (first[t - 1, v], 1), (made, -1)])
            if v in self.used[t]:
                add([(f, -1), (o, -1)], -1)
            for operand in self.operands[v]:
                for begin in sorted({max(0, t - w) for w in WINDOWS}):
                    terms = [(o, 1), (once[t, operand], -1), (first[begin, operand], -1)]
                    if begin > 0:
                        terms.append((once[begin - 1, v], -1))
                    add(terms)

    def constrain_forward(self):
        last = {v: max([v, *self.readers[v]]) for v in self.stored}
        for i in self.stored:
            there = sum(self.ops[v].bytes for v in self.stored if v <= i <= last[v])
            kept = [v for v in self.at(0) if last[v] < i]
            terms = [(self.have[0, v], self.ops[v].bytes) for v in kept]
            self.bounded(terms, self.limit - self.ops[i].scratch - there)

    def solve(self, seconds):
        """(status, added seconds or None, proven lower bound): "optimal", "infeasible" or "timeout"."""
        if not self.cost:  # nothing is ever read
            return ("infeasible", None, 0.0) if min(self.rows.high, default=0) < 0 else ("optimal", 0.0, 0.0)
        cost = np.array(self.cost)
        result = milp(
            cost,
            integrality=np.array(self.integral),
            bounds=Bounds(0, 1),
            constraints=self.rows.constraint(len(cost)),
            options={"time_limit": seconds, "mip_rel_gap": 1e-6},
        )
        status = {0: "optimal", 2: "infeasible"}.get(result.status, "timeout")
        value = None if result.x is None else float(cost @ result.x) * self.time
        bound = result.mip_dual_bound * self.time if result.mip_dual_bound is not None else 0.0
        return status, value, bound


def optimum(problem, limit, seconds):
    return Program(problem, limit).solve(seconds)
