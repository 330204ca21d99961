#!/bin/bash
# Formatting and lint of everything committed: clang-format for C++, ruff for Python. `--fix` rewrites the files.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
status=0

mapfile -t sources < <(git ls-files {lib,include,tools,test,benchmarks}/'*.'{cpp,h,c})
ruff=.venv/bin/ruff
if [ "${1:-}" = --fix ]; then
  [ ${#sources[@]} = 0 ] || clang-format-14 -i "${sources[@]}"
  $ruff check --fix . || status=1
  $ruff format . || status=1
else
  [ ${#sources[@]} = 0 ] || clang-format-14 --dry-run --Werror "${sources[@]}" || status=1
  $ruff check . || status=1
  $ruff format --check . || status=1
fi
exit $status
