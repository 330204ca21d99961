"""The drivers that hold plans against budgets: what they refuse, on made-up plans."""

import json
import random
import re
import subprocess
from argparse import Namespace
from pathlib import Path

import budget_sweep
import prediction
import pytest
import random_plans

MIB = 1 << 20


def point(**changes) -> budget_sweep.Point:
    figures = {"budget": 100 * MIB, "planned": 90 * MIB, "measured": 85 * MIB, "arena": 64, "high_water": 64}
    figures |= {"large_allocations": 0, "seconds": 1.0, "micro_batches": [4], "recomputed": 0.0}
    return budget_sweep.Point(**figures | changes)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, None),
        ({"planned": 101 * MIB, "measured": 99 * MIB}, "over the budget"),
        ({"planned": 95 * MIB, "measured": 101 * MIB}, "over the budget"),
        ({"measured": 81 * MIB}, "measured far from planned"),
        ({"high_water": 63}, "high water is not the arena"),
        ({"large_allocations": 1}, "allocations after the start"),
        ({"planned": 79 * MIB, "measured": 79 * MIB}, "smaller than at less budget"),
        ({"seconds": 2.001}, "slower than at less budget"),
    ],
)
def test_a_point_of_the_sweep_is_judged(changes, fault):
    judged = point(**changes)
    judged.judge(point(planned=80 * MIB, measured=80 * MIB, seconds=2.0))
    assert judged.faults == ([fault] if fault else [])
    assert (fault or "holds") in judged.line()


class Planner:
    """What tts-opt would say: any budget from `least` on gives a plan at it."""

    least, most = 1000, 2000

    def __init__(self, **wrong):
        self.wrong = wrong

    def __call__(self, *command) -> subprocess.CompletedProcess:
        text = " ".join(map(str, command))
        budget = int(re.search(r"--memory-budget=(\d+)B", text)[1])
        if budget < self.wrong.get("feasible", self.least):
            words = f"error: no plan fits, smallest feasible budget: {self.least} bytes"
            return subprocess.CompletedProcess(command, 3, "", words)
        peak = min(budget, self.most)
        plan = {"peak_bytes": peak, "classes": {"activations": peak}, "arena_bytes": peak, "buckets": []}
        plan["predicted_step_seconds"] = 2.0 - peak / self.most
        for key, wrong in self.wrong.items():
            if key in plan and ("--plan-front" in text or key not in ("arena_bytes", "buckets")):
                plan[key] = wrong(budget, plan[key])
        if path := re.search(r"--plan-json=(\S+)", text):
            Path(path[1]).write_text(json.dumps(plan))
        return subprocess.CompletedProcess(command, 0, "", "")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, None),
        ({"feasible": 1}, "instead of 3"),
        ({"feasible": 999}, "instead of 3"),
        ({"peak_bytes": lambda budget, peak: peak + (budget == 1500)}, "over the budget"),
        ({"classes": lambda budget, classes: {"activations": 5}}, "do not sum"),
        ({"peak_bytes": lambda budget, peak: 1200 if budget == 1500 else peak}, "classes do not sum"),
        ({"predicted_step_seconds": lambda budget, seconds: 1.0 if budget < 1600 else 1.5}, "with less budget"),
        ({"predicted_step_seconds": lambda budget, seconds: 1 + (budget == 1500) / 1e3}, "with less budget"),
        ({"arena_bytes": lambda budget, arena: arena + 64}, "looked up"),
        ({"buckets": lambda budget, buckets: [{"micro_batch": 2}]}, "looked up"),
    ],
)
def test_a_wrong_plan_is_found(monkeypatch, wrong, words):
    monkeypatch.setattr(random_plans, "run", Planner(**wrong))
    case = random_plans.Case(Path("m.mlir"), ["--batch=4"], [0.0, 0.5, 1.0], [True] * 3, [False] * 3)
    if words is None:
        assert case.check() == [1.0, 1.0, 1.0]
        return
    with pytest.raises(random_plans.Fault, match=words) as caught:
        case.check()
    assert "--memory-budget=" in str(caught.value)


def test_cases_follow_from_the_seed_and_what_cannot_run_here_is_not_compiled():
    o = Namespace(budgets=4, anew_every=10, compile_every=1)
    draws = [[random_plans.draw_case(random.Random(7), [Path("dit.mlir")], o) for _ in range(1)] for _ in range(2)]
    assert draws[0] == draws[1]
    draw = random.Random(1)
    for case in (random_plans.draw_case(draw, [Path("dit.mlir"), Path("codec_lm.mlir")], o) for _ in range(200)):
        elsewhere = any(flag.startswith(("--hardware", "--ranks")) for flag in case.flags)
        assert any(case.compiles) != elsewhere
        frames = [int(f.rpartition("=")[2]) for f in case.flags if f.startswith("--bucket")]
        assert frames == sorted(set(frames))


def test_predictions_are_made_for_every_twin_and_precision():
    runs = list(prediction.runs(["small", "tiny"], None))
    assert len(runs) == 3 * 3 + 3 * 4
    assert {run.precision for run in prediction.runs(["tiny"], ["fp64"])} == {"fp64"}
