"""The promise itself: what fits a budget by the plan trains inside it, what does not is refused with the smallest that does."""

import json
import os
import re
import resource
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))


def run(*command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)


def python(module, *arguments):
    result = run(
        sys.executable,
        "-m",
        module,
        *arguments,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"},
    )
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """A small corpus and the tiny model with its buckets."""
    folder = tmp_path_factory.mktemp("budget")
    python("tts.data", "synthetic", f"--out={folder / 'corpus'}", "--utterances=40", "--seed=3")
    python(
        "tts.models.fastspeech2",
        "--size=tiny",
        "--batch=8",
        f"--corpus={folder / 'corpus'}",
        "-o",
        folder / "model.mlir",
    )
    return folder


def compile_model(folder, budget, name="train", *flags):
    return run(
        TOOLS / "tts-compile",
        f"--memory-budget={budget}",
        "--threads=1",
        *flags,
        folder / "model.mlir",
        "-o",
        folder / name,
    )


@pytest.fixture(scope="module")
def smallest(material):
    refused = compile_model(material, "1K")
    assert refused.returncode == 3
    assert not (material / "train").exists()
    return int(re.search(r"smallest feasible budget: (\d+) bytes", refused.stderr).group(1))


def test_below_the_smallest_budget_is_refused(material, smallest):
    refused = compile_model(material, f"{smallest - 64}B")
    assert refused.returncode == 3
    assert f"smallest feasible budget: {smallest} bytes" in refused.stderr


def test_a_bucket_shorter_than_a_convolution_is_proved(material):
    """Taps of 9 that no row of 4 phones reaches have a gradient, too: zero, and written."""
    short = compile_model(material, "1G", "short", "--bucket=text=4,frames=12")
    assert short.returncode == 0, short.stderr
    proof = run(TOOLS / "tts-check", material / "short.plan.json", "--executable", material / "short")
    assert proof.returncode == 0, proof.stdout + proof.stderr


def final_line(log):
    return json.loads((log / "metrics.jsonl").read_text().splitlines()[-1])


def check_final_line(last, budget):
    """The contract's promises about the last line of the metrics."""
    assert last["final"] and last["large_allocations_after_start"] == 0
    assert last["arena_high_water_bytes"] == last["planned_arena_bytes"]
    assert last["measured_peak_bytes"] <= budget
    assert (
        abs(last["measured_peak_bytes"] - last["planned_peak_bytes"]) <= 0.01 * last["planned_peak_bytes"] + 8 * 2**20
    )
    assert last["measured_peak_bytes"] - last["peak_after_first_update_bytes"] <= 2**20


def memory_group(limit):
    """A control group with a memory limit, or None where this machine offers none to us."""
    for root, name in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        group = root / f"tts-test-{uuid.uuid4().hex[:8]}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / name).write_text(str(limit))
            return group
        except OSError:
            group.rmdir()
    return None


def absent_address_space(command):
    """Address space that a started process has but does not hold in memory: mapped libraries, stacks, code caches."""
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in process.stdout:
            if line.startswith("step"):
                break
        status = Path(f"/proc/{process.pid}/status").read_text()
    finally:
        process.kill()
        process.wait()
    sizes = {key: int(re.search(rf"{key}:\s+(\d+) kB", status).group(1)) * 1024 for key in ("VmPeak", "VmRSS")}
    return sizes["VmPeak"] - sizes["VmRSS"]


def test_smallest_budget_trains_under_the_systems_limit(material, smallest):
    assert compile_model(material, f"{smallest}B").returncode == 0
    log = material / "log"
    command = [
        material / "train",
        f"--data={material / 'corpus'}",
        "--steps=4",
        "--seed=1",
        "--eval-every=2",
        f"--log-dir={log}",
    ]
    group = memory_group(smallest)
    if group:
        result = run("/bin/sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh", *command)
        group.rmdir()
    else:
        probe = [*command[:2], "--steps=100000", f"--log-dir={material / 'probe'}"]
        limit = smallest + absent_address_space(probe)
        result = run(*command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert result.returncode == 0, result.stderr
    check_final_line(final_line(log), smallest)


@pytest.mark.parametrize("seed", range(3))
def test_the_final_line_holds_for_every_order_of_buckets(material, seed):
    budget = 2**30
    assert compile_model(material, f"{budget}B", f"order{seed}").returncode == 0
    log = material / f"log{seed}"
    result = run(
        material / f"order{seed}", f"--data={material / 'corpus'}", "--steps=6", f"--seed={seed}", f"--log-dir={log}"
    )
    assert result.returncode == 0, result.stderr
    check_final_line(final_line(log), budget)


def test_the_certificate_of_every_budget_holds_and_peaks_are_monotone(material, smallest):
    peaks = []
    for percent in (100, 110, 150, 400):
        budget = smallest * percent // 100
        assert compile_model(material, f"{budget}B", "sweep").returncode == 0
        plan = material / "sweep.plan.json"
        checked = run(TOOLS / "tts-check", plan, "--executable", material / "sweep")
        assert checked.returncode == 0, checked.stderr
        peaks.append(json.loads(plan.read_text())["peak_bytes"])
        assert peaks[-1] <= budget
    assert peaks == sorted(peaks)


def test_half_storage_trains_below_the_smallest_budget(material):
    def smallest_with(*flags):
        refused = compile_model(material, "1K", "half", "--remat=none", *flags)
        return int(re.search(r"smallest feasible budget: (\d+) bytes", refused.stderr).group(1))

    budget = smallest_with("--half-storage=auto")
    assert budget < smallest_with()
    assert compile_model(material, f"{budget}B", "half", "--remat=none", "--half-storage=auto").returncode == 0
    plan = material / "half.plan.json"
    checked = run(TOOLS / "tts-check", plan, "--executable", material / "half")
    assert checked.returncode == 0, checked.stderr
    assert any("are kept in bf16" in change for change in json.loads(plan.read_text())["changes_numerics"])
    log = material / "log-half"
    result = run(material / "half", f"--data={material / 'corpus'}", "--steps=4", "--seed=1", f"--log-dir={log}")
    assert result.returncode == 0, result.stderr
    check_final_line(final_line(log), budget)


def test_a_budget_changes_neither_batch_nor_rate(material, smallest):
    """Report 28: less memory is more micro-batches, never another experiment."""
    traces = []
    for name, budget in (("tight", smallest), ("roomy", 2**30)):
        assert compile_model(material, f"{budget}B", name, "--micro-batch=auto").returncode == 0
        assert json.loads((material / f"{name}.plan.json").read_text())["changes_experiment"] == []
        log = material / f"log-{name}"
        command = [
            material / name,
            f"--data={material / 'corpus'}",
            "--steps=5",
            "--seed=1",
            "--warmup=10",
            f"--log-dir={log}",
        ]
        assert run(*command).returncode == 0
        rows = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
        traces.append([(r["step"], r["utterances"], r["frames"], r["lr"]) for r in rows if "step" in r])
    assert len(traces[0]) == 5 and all(row[1] == 8 for row in traces[0])
    assert traces[0] == traces[1]


def test_another_batch_is_another_experiment(material):
    assert compile_model(material, "1G", "smaller", "--batch=2").returncode == 0
    changes = json.loads((material / "smaller.plan.json").read_text())["changes_experiment"]
    assert changes == ["batch 2 instead of the model's 8"]


def test_equal_frames_are_not_equal_memory(material):
    """Report 27: eight utterances of 96 frames and one of 768 have the same frames; a block of its queries has more keys."""

    def peak(frames, micro_batch):
        plan = material / f"{frames}.json"
        result = compile_model(
            material,
            "4G",
            f"b{frames}",
            f"--bucket=text=24,frames={frames}",
            f"--micro-batch={micro_batch}",
            f"--plan-json={plan}",
        )
        assert result.returncode == 0, result.stderr
        return json.loads(plan.read_text())["classes"]["activations"]  # the states are the same

    assert peak(768, 1) > 1.1 * peak(96, 8)
