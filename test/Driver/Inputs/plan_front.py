"""--plan-front: what is looked up equals what is planned anew, for every budget; a stale file is renewed, another is left alone."""

import json
import pathlib
import subprocess
import sys

tool, model, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
folder.mkdir(exist_ok=True)
front = folder / "front.json"
front.unlink(missing_ok=True)


def run(budget: str, *flags: str) -> tuple[int, dict, str]:
    path = folder / "plan.json"
    path.unlink(missing_ok=True)
    command = [tool, "--threads=1", f"--memory-budget={budget}", f"--plan-json={path}", *flags, model]
    done = subprocess.run(command, capture_output=True, text=True)
    plan = json.loads(path.read_text()) if path.exists() else {}
    plan.pop("considered", None)  # estimates there, exact figures here
    return done.returncode, plan, done.stderr.splitlines()[-1] if done.returncode else done.stdout


def check_equal(budget: str, *flags: str) -> dict:
    anew, kept = run(budget, *flags), run(budget, f"--plan-front={front}", *flags)
    assert anew == kept, budget
    return kept[1]


large = check_equal("1G")
known = json.loads(front.read_text())
assert len(known["choices"]) > 1 and all(choice["exact"] for choice in known["choices"])
peaks = sorted({choice["peak_bytes"] for choice in known["choices"]})
assert large["peak_bytes"] in peaks
for peak in peaks:
    check_equal(f"{peak}B")
code, _, text = run("1K", f"--plan-front={front}")
assert code == 3 and (code, {}, text) == run("1K"), text
assert json.loads(front.read_text()) == known, "a look-up changes nothing"

# Where the programs are not wanted, the winner is not lowered, and the table is the same.
for peak in peaks:
    command = [tool, "--threads=1", f"--memory-budget={peak}B", "--stop-after=plan", model]
    anew = subprocess.run(command, capture_output=True, text=True)
    kept = subprocess.run([*command, f"--plan-front={front}"], capture_output=True, text=True)
    assert (anew.returncode, anew.stdout, anew.stderr) == (kept.returncode, kept.stdout, kept.stderr)
    timed = subprocess.run([*command, f"--plan-front={front}", "--mlir-timing"], capture_output=True, text=True)
    assert "TtsMemory" not in timed.stderr and "differentiate" in timed.stderr

# What a plan was looked up for is what it is used for: a choice taken out of the file is not offered.
fewer = {**known, "choices": [c for c in known["choices"] if c["peak_bytes"] != large["peak_bytes"]]}
front.write_text(json.dumps(fewer))
assert run("1G", f"--plan-front={front}")[1]["peak_bytes"] != large["peak_bytes"]

# Another batch, bytes that are another compiler's, a file that was cut: planned anew and kept.
key = known["key"]
check_equal("1G", "--batch=2")
assert json.loads(front.read_text())["key"] != key
wrong = {**known, "choices": [{**c, "peak_bytes": c["peak_bytes"] - 64} for c in known["choices"]]}
for stale in (wrong, {**known, "choices": [{}]}, {**known, "tts_plan_front": 0}):
    front.write_text(json.dumps(stale))
    check_equal("1G")
    assert json.loads(front.read_text()) == known
# What is no front is not written over.
for foreign in ("{}", "a text"):
    front.write_text(foreign)
    code, _, text = run("1G", f"--plan-front={front}")
    assert code == 1 and text == f"error: {front}: is no front of plans; give another file to --plan-front", text
    assert front.read_text() == foreign
