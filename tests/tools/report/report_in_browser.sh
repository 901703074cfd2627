#!/usr/bin/env bash
# Trains two tiny runs, makes their report and opens it in headless Chromium: no console error, no empty picture.
set -euo pipefail
build=$1
command -v chromium >/dev/null || { echo "chromium is not installed"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
small=(--task bigram-backcopy --layers 2 --heads 2 --width 32 --feed-forward 32 --batch 4 --steps 40 --eval-every 10
  --eval-sequences 4)
"$build/train_pos_learnable" "${small[@]}" --run "$folder/softmax" >/dev/null 2>&1
"$build/train_pos_learnable_sigmoid" "${small[@]}" --run "$folder/sigmoid" >/dev/null 2>&1
"$build/report" --out "$folder/report.html" --csv "$folder/results.csv" "$folder/softmax" "$folder/sigmoid"
python3 tests/tools/report/browser_check.py "$folder/report.html" "$folder/shots"
