#!/usr/bin/env bash
# Trains three tiny runs of 12 heads and 64 tokens, one with an extra key, makes the report of six and uses it in headless
# Chromium: no console error, no empty picture, and every control does what it says.
set -euo pipefail
build=$1
command -v chromium >/dev/null || { echo "chromium is not installed"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
small=(--task bigram-backcopy --layers 3 --heads 4 --width 32 --feed-forward 32 --context 64 --batch 4 --steps 40
  --eval-every 10 --eval-sequences 4 --threads 1)
train() { "$build/train_$1" "${small[@]}" --run "$folder/$2" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }; }
train pos_learnable softmax
train pos_learnable_sigmoid sigmoid
train bias_k key
for run in softmax sigmoid key; do cp -r "$folder/$run" "$folder/$run-again"; done
"$build/report" --out "$folder/report.html" --csv "$folder/results.csv" "$folder"/{softmax,sigmoid,key}{,-again}
python3 tests/tools/report/browser_check.py "$folder/report.html" "$folder/shots"
