"""The closing line of scripts/test.sh counts what happened, and a suite that broke never counts as passed."""

import sys

import pytest

from repository import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import sum_tests

PASSED = '<testcase name="a"/>'
FAILED = '<testcase name="b"><failure message="no"/></testcase>'
SKIPPED = '<testcase name="c"><skipped/></testcase>'


def suite(folder, name, cases, exit_code=0):
    (folder / f"{name}.exit").write_text(f"{exit_code}\n")
    if cases is not None:
        (folder / f"{name}.xml").write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")


def cases_of(folder, program, cases):
    (folder / "cases").mkdir(exist_ok=True)
    (folder / "cases" / f"{program}.xml").write_text(
        f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"
    )


@pytest.mark.parametrize(
    "cases, exit_code, expected",
    [
        ([PASSED, PASSED, SKIPPED], 0, "2 passed, 0 failed, 1 skipped"),
        ([PASSED, FAILED], 1, "1 passed, 1 failed, 0 skipped"),
        ([PASSED], 3, "1 passed, 1 failed, 0 skipped"),
        ([], 0, "0 passed, 1 failed, 0 skipped"),
        (None, 127, "0 passed, 1 failed, 0 skipped"),
    ],
    ids=["good", "a failure", "crashed after its cases", "ran nothing", "never started"],
)
def test_one_suite(tmp_path, cases, exit_code, expected):
    suite(tmp_path, "pytest", cases, exit_code)
    assert str(sum_tests.count_suite("pytest", tmp_path)) == expected


def test_programs_of_ctest_are_counted_by_their_cases(tmp_path):
    programs = ['<testcase name="Good" status="run"/>', '<testcase name="Crash" status="fail"><failure/></testcase>']
    suite(tmp_path, "ctest", programs, 8)
    cases_of(tmp_path, "Good", [PASSED, PASSED, '<testcase name="d" status="notrun"/>'])
    assert str(sum_tests.count_suite("ctest", tmp_path)) == "2 passed, 1 failed, 1 skipped"


def test_closing_line_and_exit(tmp_path, capsys):
    for name in ("lit", "ctest", "pytest"):
        suite(tmp_path, name, [PASSED])
    assert sum_tests.main(tmp_path) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "3 passed, 0 failed, 0 skipped"
    suite(tmp_path, "lit", [PASSED, FAILED], 1)
    assert sum_tests.main(tmp_path) == 1
