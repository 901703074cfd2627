#!/usr/bin/env bash
# A program built for GPUs on a machine that has none: --device cuda ends with exit code 7 and one sentence that says
# why and what to do, and without it the program trains on the CPU as any other.
set -euo pipefail
program=$1
if [ -e /dev/nvidiactl ]; then
  echo "without_gpu_test: this machine has a GPU; what the program says without one is not looked at" >&2
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tiny=(--task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 16 --batch 1 --steps 2 --warmup 1
  --eval-sequences 1 --threads 1)

code=0
"$program" "${tiny[@]}" --device cuda --run "$folder/cuda" 2>"$folder/errors" || code=$?
cat "$folder/errors"
[ "$code" -eq 7 ] || { echo "without_gpu_test: exit code $code, expected 7"; exit 1; }
[ "$(wc -l <"$folder/errors")" -eq 1 ]
grep -qE ': error: (no NVIDIA driver is installed|there is no NVIDIA GPU).* use --device cpu' "$folder/errors"

"$program" "${tiny[@]}" --run "$folder/cpu"
[ -s "$folder/cpu/checkpoint.h5" ]
