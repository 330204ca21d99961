"""Every file keeps the house rules, and each rule really bites."""

import pytest

import house
from repository import ROOT, tracked_files

PURPOSE = "// Reads the step table out of an executable.\n"


def test_every_file_keeps_the_rules():
    lines = []
    for path in tracked_files():
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue
        lines += [f"error: {path}: {fault}" for fault in house.faults(path, text)]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize(
    "path, text, word",
    [
        ("lib/Analysis/A.cpp", PURPOSE + "int x;\n" * 800, "two rooms"),
        ("lib/Analysis/A.cpp", "int x;\n", "purpose"),
        ("lib/Analysis/A.cpp", "#include <vector>\n// Late and of no use to a reader.\n", "purpose"),
        ("lib/Analysis/A.h", "//===- A.h ---===//\n#ifndef A\n#define A\n", "purpose"),
        ("python/tts/a.py", "import sys\n", "purpose"),
        ("scripts/a.sh", "#!/bin/bash\nset -e\n", "purpose"),
        ("python/requirements.txt", "numpy==1.26.4\n", "purpose"),
        ("tools/tts-opt/Main.cpp", PURPOSE + "int main() {\n" + "f();\n" * 49 + "}\n", "main takes 51"),
        ("lib/Analysis/A.cpp", PURPOSE + "// TODO later\n", "TODO"),
        ("lib/Analysis/Utils.cpp", PURPOSE, "name for anything"),
        ("lib/Misc/A.cpp", PURPOSE, "name for anything"),
        (
            "scripts/a.sh",
            "# Looks whether a package is there.\nset -o pipefail\napt-cache show a | grep -q b\n",
            "grep -q",
        ),
        (
            "scripts/a.sh",
            "# Looks whether a package is there.\nset -o pipefail\nps | grep -v b | grep -Fxq b\n",
            "grep -q",
        ),
    ],
)
def test_planted_fault_is_caught(path, text, word):
    (fault,) = house.faults(path, text)
    assert word in fault


@pytest.mark.parametrize(
    "path, text",
    [
        ("lib/Analysis/A.cpp", PURPOSE + "int x;\n" * 799),
        ("lib/Analysis/A.h", "//===- A.h - Live ranges of buffers in one program ---===//\n"),
        ("python/tts/a.py", '"""Draws the plots of the demo run."""\n'),
        ("python/tts/__init__.py", ""),
        ("scripts/a.sh", "#!/bin/bash\n# Builds everything in one go.\n"),
        (
            "tools/tts-opt/Main.cpp",
            PURPOSE + "#include <a>\n" * 60 + "int main() {\n" + "f();\n" * 48 + "}\n",
        ),
        ("scripts/a.sh", "# Looks whether a line is there.\nset -o pipefail\ngrep -q b a || ps | grep b >/dev/null\n"),
        ("scripts/a.sh", "# A shell that looks only at the last of a pipe.\nset -e\nps | grep -q b\n"),
        ("lib/A/CMakeLists.txt", "tts_add_library(A A.cpp)\n"),
        ("test/Dialect/Tts/ops.mlir", "// RUN: tts-opt %s\n"),
    ],
)
def test_good_file_passes(path, text):
    assert house.faults(path, text) == []
