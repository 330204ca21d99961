"""--explain's tables against the plan's JSON: sums of columns, the verdicts, what other budgets get."""

import itertools
import json
import re
import subprocess
import sys

tool, model, path = sys.argv[1:]
COLUMNS = ("states", "activations", "workspace", "batch", "others", "overhead")
ROW = re.compile(
    rf"^[* ] \S+ +.{{15}} (\S+) +[\d.]+ % +\d+((?: +-?\d+){{{len(COLUMNS)}}}) (~| ) *(\d+) +([\d.]+)  (.*)$"
)


def explain(budget: str, *flags: str) -> tuple[int, str]:
    command = [tool, "--threads=1", f"--memory-budget={budget}", "--explain", f"--plan-json={path}", *flags, model]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr


def rows(text: str) -> list[dict]:
    found = []
    for line in text.splitlines():
        if match := ROW.match(line):
            classes = dict(zip(COLUMNS, map(int, match[2].split()), strict=True))
            row = {"remat": match[1], "peak": int(match[4]), "exact": match[3] == " ", "seconds": float(match[5])}
            assert sum(classes.values()) == row["peak"], line
            assert all(size >= 0 for size in classes.values()) or not row["exact"], line
            found.append({**row, "classes": classes, "verdict": match[6]})
    return found


code, text = explain("1G")
assert code == 0, text
plan = json.load(open(path))
wide = rows(text)
assert len(wide) == len(plan["considered"]) > 1, text
# 960 parameters, gradients, two moments and averages.
assert all(row["classes"]["states"] == 5 * 3840 for row in wide), text
assert [row["verdict"].startswith("chosen") for row in wide].count(True) == 1
chosen = next(row for row in wide if row["verdict"].startswith("chosen"))
assert chosen["exact"] and chosen["peak"] == plan["peak_bytes"]
assert all(chosen["classes"][name] == plan["classes"][name] for name in ("activations", "workspace", "overhead")), plan
for row, known in zip(wide, plan["considered"], strict=True):
    assert row["peak"] == known["peak_bytes"] == sum(known["classes"].values()), (row, known)
    assert all(known["classes"][name] == row["classes"][name] for name in ("activations", "workspace", "overhead"))
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
