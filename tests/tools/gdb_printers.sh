#!/usr/bin/env bash
# tools/gdb/sinklab.py says of a debug build of train_<ablation> what is so (gdb_printers.py, which runs inside gdb).
set -euo pipefail
program=$1
command -v gdb >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
text=$(gdb -q -nx -batch -x tools/gdb/sinklab.py -x tests/tools/gdb_printers.py --args "$program" --tiny \
  --run "$folder/run" 2>&1) || true
echo "$text"
grep -q '^all that gdb was told is so$' <<<"$text"
