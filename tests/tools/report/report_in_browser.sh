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
python3 tests/tools/report/make_runs.py "$folder/seeds" --prefix = --runs 4
seeds=("$folder"/seeds/=baseline-0.01-{0,1})
printf '{"step": %s, "val_loss": %s}\n' 2 4 6 2 8 1 >"${seeds[0]}/metrics.jsonl"
printf '{"step": %s, "val_loss": %s}\n' 3 5 6 4 7 '"nan"' >"${seeds[1]}/metrics.jsonl"
"$build/report" --out "$folder/report.html" "$folder/copy" "$folder/text" >"$folder/log"
"$build/report" --out "$folder/seeds.html" "${seeds[@]}" >>"$folder/log"
"$build/report" --out "$folder/long.html" "$folder/long" >>"$folder/log"
python3 tests/tools/report/browser_check.py "$folder/report.html" "$folder/seeds.html" "$folder/long.html" ${2:+"$2"}
