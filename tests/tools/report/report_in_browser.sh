#!/usr/bin/env bash
# Makes the report of two made-up studies, one with a name that a page must not act on, and one of runs of 512 tokens, and uses
# them in headless Chromium: no console error, no empty picture, every control does what it says, and nothing freezes.
set -euo pipefail
build=$1
command -v chromium >/dev/null || { echo "chromium is not installed"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 tests/tools/report/make_runs.py "$folder/copy" --task bigram-backcopy --prefix copy- --runs 6 --older 6
python3 tests/tools/report/make_runs.py "$folder/text" --runs 9 --older 1 --hostile
python3 tests/tools/report/make_runs.py "$folder/long" --runs 3 --context 512
"$build/report" --out "$folder/report.html" --csv "$folder/csv/" "$folder/copy" "$folder/text" >"$folder/log"
"$build/report" --out "$folder/long.html" "$folder/long" >>"$folder/log"
python3 tests/tools/report/browser_check.py "$folder/report.html" "$folder/csv" "$folder/long.html" ${2:+"$2"}
