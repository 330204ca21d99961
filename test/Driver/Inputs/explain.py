"""--explain's tables against the plan's JSON: sums of columns, the verdicts, what other budgets get."""

import itertools
import json
import re
import subprocess
import sys

tool, model, path = sys.argv[1:]
ROW = re.compile(r"^[* ] \S+ +(.{15}) (\S+) +([\d.]+) % +(\d+) +(-?\d+) +(\d+) (~| ) *(\d+) +([\d.]+)  (.*)$")


def explain(budget: str, *flags: str) -> tuple[int, str]:
    command = [tool, "--threads=1", f"--memory-budget={budget}", "--explain", f"--plan-json={path}", *flags, model]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr


def rows(text: str) -> list[dict]:
    found = []
    for line in text.splitlines():
        if match := ROW.match(line):
            batch, transients, overhead, peak = (int(match[i]) for i in (4, 5, 6, 8))
            assert "3840" in text  # parameters, gradients, EMA
            found.append(
                {
                    "remat": match[2],
                    "states": peak - batch - transients - overhead,
                    "transients": transients,
                    "peak": peak,
                    "exact": match[7] == " ",
                    "seconds": float(match[9]),
                    "verdict": match[10],
                }
            )
    return found


code, text = explain("1G")
assert code == 0, text
plan = json.load(open(path))
wide = rows(text)
assert len(wide) == len(plan["considered"]) > 1, text
# 960 parameters, gradients, moments and averages, and what else persists (settings, metrics).
assert len({row["states"] for row in wide}) == 1 and 19200 <= wide[0]["states"] < 19200 + 4096, text
assert [row["verdict"].startswith("chosen") for row in wide].count(True) == 1
chosen = next(row for row in wide if row["verdict"].startswith("chosen"))
assert chosen["exact"] and chosen["peak"] == plan["peak_bytes"]
for row, known in zip(wide, plan["considered"], strict=True):
    assert row["peak"] == known["peak_bytes"] and row["transients"] == known["transient_bytes"], (row, known)
    assert row["remat"] == known["remat"]
front = [k for k in plan["considered"] if k["on_front"]]
assert all(a["peak_bytes"] > b["peak_bytes"] for a, b in itertools.pairwise(front))
budgets = re.findall(r"^  +(\d+) GiB  .*?(\d+) +[\d.]+$", text, re.M)
assert [int(b) for b, _ in budgets] == [8, 12, 16, 24, 40, 80], text
assert {int(peak) for _, peak in budgets} == {plan["peak_bytes"]}

# One byte less than the winner needs: another wins, and it is said what the faster one would need.
code, tight = explain(str(plan["peak_bytes"] - 1))
assert code == 0, tight
assert re.search(
    r"won: .*: the next faster one saves [\d.]+ s and needs (about )?\d+ bytes more than the budget", tight
)
# The winner without its last byte of the smallest budget: nothing fits, and the table says so.
code, none = explain("1K")
assert code == 3 and "\nnothing fits\n" in none and "smallest feasible budget" in none, none
