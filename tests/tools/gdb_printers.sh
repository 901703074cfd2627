#!/usr/bin/env bash
# tools/gdb/sinklab.py says of a debug build of train_<ablation> what is so (gdb_printers.py, which runs inside gdb).
set -euo pipefail
program=$1
command -v gdb >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
text=$(gdb -q -nx -batch -x tools/gdb/sinklab.py -x tests/tools/gdb_printers.py --args "$program" --reference \
  --task bigram-backcopy --layers 2 --heads 2 --width 16 --feed-forward 16 --batch 1 --context 24 --steps 1 --warmup 1 \
  --eval-sequences 1 --threads 1 --run "$folder/run" 2>&1) || true
echo "$text"
grep -q '^all that gdb was told is so$' <<<"$text"
