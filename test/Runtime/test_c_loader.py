"""A loader in plain C does what Python's Session does, to the bit; docs/c-api.md tells of every function of the API."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tts.runtime import Session

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "tts-runtime" / "Runtime.h"


@pytest.fixture(scope="module")
def loader(tmp_path_factory):
    """The C program, with warnings as errors: the header is C11."""
    program = tmp_path_factory.mktemp("loader") / "loader"
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'include'}"]
    built = subprocess.run(
        [*command, ROOT / "test/Runtime/loader.c", "-ldl", "-o", program], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    return program


def own_batch(session):
    draw = np.random.default_rng(5)
    arrays = {}
    for tensor in session.buckets[0]["inputs"]:
        dtype, shape = session.describe(f"input:{tensor['name']}")
        full = {"phones": draw.integers(1, 9, shape), "mel": draw.normal(size=shape)}
        arrays[tensor["name"]] = np.asarray(full.get(tensor["name"], np.full(shape, 4)), dtype)
    return arrays


def run(loader, library, parameter, arrays, folder):
    arguments = []
    for name, array in arrays.items():
        array.tofile(folder / name)
        arguments.append(f"{name}={folder / name}")
    return subprocess.run([loader, library, parameter, *arguments], capture_output=True, text=True)


def test_the_c_loader_equals_the_session(loader, model_library, tmp_path):
    with Session(model_library) as session:
        session.initialise(1)
        arrays = own_batch(session)
        gemms = sum(e.is_gemm for e in session.entries if e.kind in ("forward", "backward") and e.bucket == 0)
        steps = [session.step([(0, arrays)], lr=0.1, update=u, seed=7) for u in (1, 2, 3)]
        weight = session.read("phone.mean")[0]
    done = run(loader, model_library, "phone.mean", arrays, tmp_path)
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.split("\n")[:-1]
    for update, (line, step) in enumerate(zip(lines, steps), 1):
        assert line == f"{update} {step['loss']:.17g} {step['grad_norm']:.17g} {update * gemms}"
    assert len(lines) == 3 and last == f"{weight:.9g}" and steps[0]["loss"] != steps[2]["loss"]


@pytest.mark.parametrize(
    "change, code, words",
    [
        (lambda a: a.pop("mel"), 1, "input 'mel': the micro-batch lacks it"),
        (lambda a: a.update(mel=a["mel"][1:]), 1, "bytes, not"),
        (lambda a: a["mel"].fill(np.nan), 5, "first non-finite tensor: 'mel'"),
    ],
)
def test_errors_are_codes_and_texts(loader, model_library, tmp_path, change, code, words):
    with Session(model_library) as session:
        arrays = own_batch(session)
    change(arrays)
    done = run(loader, model_library, "phone.mean", arrays, tmp_path)
    assert done.returncode == code and words in done.stderr and done.stderr.count("\n") == 1


def test_other_libraries_are_refused(loader, tmp_path):
    (tmp_path / "x").write_bytes(b"")
    done = subprocess.run([loader, tmp_path / "none.so", "w", f"x={tmp_path / 'x'}"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("error: ")


def test_every_function_is_documented():
    functions = re.findall(r"\b(tts_\w+)\(", HEADER.read_text())
    page = (ROOT / "docs" / "c-api.md").read_text()
    assert len(functions) > 15 and [name for name in functions if f"`{name}`" not in page] == []
