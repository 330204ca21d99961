"""Adds up the result files of lit, ctest with its GoogleTest programs, and pytest into one closing line."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


class Sum:
    """Tests passed, failed and skipped."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def __iadd__(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def is_skipped(case):
    return case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")


def count_cases(path):
    """Test cases of one JUnit file."""
    total = Sum()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            total.failed += 1
        elif is_skipped(case):
            total.skipped += 1
        else:
            total.passed += 1
    return total


def count_ctest(path, cases_folder):
    """Programs of ctest, each replaced by its GoogleTest cases where it wrote them; a crash counts as one failure."""
    total = Sum()
    for program in ElementTree.parse(path).getroot().iter("testcase"):
        failed = program.get("status") == "fail"
        cases = cases_folder / f"{program.get('name')}.xml"
        own = count_cases(cases) if cases.exists() else Sum()
        if not cases.exists() and not failed:
            own = Sum(skipped=1) if is_skipped(program) else Sum(passed=1)
        if failed and not own.failed:
            own.failed = 1
        total += own
    return total


def count_suite(name, folder):
    """One suite; one that ended badly without a failed case, or wrote nothing, has failed."""
    path = folder / f"{name}.xml"
    exit_code = (folder / f"{name}.exit").read_text().strip()
    total = Sum()
    if path.exists():
        total = count_ctest(path, folder / "cases") if name == "ctest" else count_cases(path)
    if not total.failed and (exit_code != "0" or not total.passed):
        total.failed = 1
    return total


def main(folder):
    total = Sum()
    for name in ("lit", "ctest", "pytest"):
        suite = count_suite(name, Path(folder))
        print(f"{name}: {suite}")
        total += suite
    print(total)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
