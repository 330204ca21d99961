#!/bin/bash
# Sets up, builds and runs every suite: lit, GoogleTest, pytest. The last line sums them: N passed, N failed, N skipped.
# Usage: scripts/test.sh. Exit 0 only if nothing failed; each suite runs even if one before it failed.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

scripts/setup.sh || {
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

results=$root/build/test/results
rm -rf "$results"
mkdir -p "$results"
status=0

suite() {
  local name=$1
  shift
  echo "== $name"
  "$@"
  local code=$?
  echo "$code" >"$results/$name.exit"
  [ $code = 0 ] || status=1
}

suite lit /usr/lib/llvm-22/bin/lit -sv -j2 --xunit-xml-output="$results/lit.xml" build/test
suite ctest ctest --test-dir build -j2 --output-on-failure --no-tests=error --output-junit "$results/ctest.xml"
suite pytest .venv/bin/python -m pytest -q --junitxml="$results/pytest.xml"

.venv/bin/python scripts/sum_tests.py "$results" || status=1
exit $status
