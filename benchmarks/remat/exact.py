"""The optimum of a rematerialization problem by HiGHS: Checkmate's program over backward's steps.

S[t, v]: v is in memory when step t begins (S[0, v]: forward keeps it); R[t, v]: it is computed again in step t. Within a
step clones run in forward's order and a value is freed after its last reader unless the next step has it. Any number of
recomputations of a value is allowed. Forward runs once, before.
"""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array


class Rows:
    """Constraints as triplets."""

    def __init__(self):
        self.row, self.column, self.value, self.low, self.high = [], [], [], [], []

    def add(self, terms, low, high):
        for column, value in terms:
            self.row.append(len(self.low))
            self.column.append(column)
            self.value.append(value)
        self.low.append(low)
        self.high.append(high)

    def constraint(self, columns):
        matrix = csr_array((self.value, (self.row, self.column)), shape=(len(self.low), columns))
        return LinearConstraint(matrix, self.low, self.high)


class Program:
    """Variables S, R, and FREE[t, v, k]: v is freed in step t after operation k (k = number of ops: after the step)."""

    def __init__(self, problem):
        self.problem, self.columns = problem, 0
        self.stored = [v for v, op in enumerate(problem.ops) if not op.free]
        self.steps = len(problem.steps)
        self.keep, self.again, self.free = {}, {}, {}
        self.integral, self.cost, self.upper = [], [], []
        self.unit = max(op.bytes for op in problem.ops)
        self.time = max(op.seconds for op in problem.ops)
        for t in range(self.steps + 1):
            for v in self.stored:
                last = t == self.steps
                self.keep[t, v] = self.variable(0.0, 0 if last else 1)
                if not last:
                    self.again[t, v] = self.variable(problem.ops[v].seconds / self.time, 1)
        self.readers = {v: [] for v in self.stored}
        for u in self.stored:
            for v in problem.ops[u].operands:
                if v in self.readers:
                    self.readers[v].append(u)

    def variable(self, cost, upper, integral=1):
        self.cost.append(cost)
        self.upper.append(upper)
        self.integral.append(integral)
        self.columns += 1
        return self.columns - 1

    def constrain(self, limit):
        rows, inf, end = Rows(), np.inf, len(self.problem.ops)
        for t, (before, during, uses) in enumerate(self.problem.steps):
            used = {v for v in uses if v in self.readers}
            for v in self.stored:
                s, r = self.keep[t, v], self.again[t, v]
                rows.add([(self.keep[t + 1, v], 1), (s, -1), (r, -1)], -inf, 0)
                rows.add([(s, 1), (r, 1)], 1 if v in used else 0, 1)
                for o in self.problem.ops[v].operands:
                    if o in self.readers:
                        rows.add([(r, 1), (self.keep[t, o], -1), (self.again[t, o], -1)], -inf, 0)
                self.constrain_free(rows, t, v, v in used, end)
            self.constrain_memory(rows, t, before, during, used, limit, end)
        self.constrain_forward(rows, limit)
        return rows

    def constrain_free(self, rows, t, v, used, end):
        """FREE may be 1 only after the last reader there is, and not when the next step has the value."""
        moments = [u for u in self.readers[v]] + ([end] if used else [])
        for i, k in enumerate(moments):
            f = self.free[t, v, k] = self.variable(0.0, 1)
            rows.add([(f, 1), (self.keep[t + 1, v], 1)], -np.inf, 1)
            if k != end:
                rows.add([(f, 1), (self.again[t, k], -1)], -np.inf, 0)
            for later in moments[i + 1 :]:
                if later == end:
                    rows.add([(f, 1)], -np.inf, 0)
                else:
                    rows.add([(f, 1), (self.again[t, later], 1)], -np.inf, 1)

    def constrain_memory(self, rows, t, before, during, used, limit, end):
        live = [(self.keep[t, v], self.problem.ops[v].bytes / self.unit) for v in self.stored]
        room = (limit - before) / self.unit
        for k in self.stored:
            live.append((self.again[t, k], self.problem.ops[k].bytes / self.unit))
            scratch = (self.again[t, k], self.problem.ops[k].scratch / self.unit)
            # An operation that does not run there adds nothing: the constraint of the one before is as strict.
            rows.add([*live, scratch], -np.inf, room + 1e-9)
            for v in set(self.problem.ops[k].operands):
                if (t, v, k) in self.free:
                    live.append((self.free[t, v, k], -self.problem.ops[v].bytes / self.unit))
        rows.add(live, -np.inf, (limit - during) / self.unit + 1e-9)

    def constrain_forward(self, rows, limit):
        last = {v: max([v, *self.readers[v]]) for v in self.stored}
        for i in self.stored:
            constant = self.problem.ops[i].scratch + sum(
                self.problem.ops[v].bytes for v in self.stored if v <= i <= last[v]
            )
            kept = [(self.keep[0, v], self.problem.ops[v].bytes / self.unit) for v in self.stored if last[v] < i]
            rows.add(kept or [(self.keep[0, i], 0.0)], -np.inf, (limit - constant) / self.unit + 1e-9)

    def solve(self, limit, seconds):
        """(status, added seconds or None, proven lower bound): "optimal", "infeasible" or "timeout"."""
        rows = self.constrain(limit)
        upper, cost = np.array(self.upper, dtype=float), np.array(self.cost)
        result = milp(
            cost,
            integrality=np.array(self.integral),
            bounds=Bounds(np.zeros(self.columns), upper),
            constraints=rows.constraint(self.columns),
            options={"time_limit": seconds, "mip_rel_gap": 1e-6},
        )
        status = {0: "optimal", 2: "infeasible"}.get(result.status, "timeout")
        value = None if result.x is None else float(cost @ np.round(result.x)) * self.time
        bound = result.mip_dual_bound * self.time if result.mip_dual_bound is not None else 0.0
        return status, value, bound


def optimum(problem, limit, seconds):
    return Program(problem).solve(limit, seconds)
