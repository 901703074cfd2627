#!/usr/bin/env bash
# tools/gdb/sinklab.py says of a debug build of train_<ablation> what is so: printers and commands (gdb_printers.py), and
# the locals of every landmark (gdb_landmarks.py), both of which run inside gdb.
set -euo pipefail
program=$1
command -v gdb >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for script in gdb_printers gdb_landmarks; do
  text=$(gdb -q -nx -batch -x tools/gdb/sinklab.py -x "tests/tools/$script.py" --args "$program" --tiny \
    --run "$folder/$script" 2>&1) || true
  echo "$text"
  grep -q '^all that gdb was told is so$' <<<"$text"
done
