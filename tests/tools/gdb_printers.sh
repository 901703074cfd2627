#!/usr/bin/env bash
# tools/gdb/sinklab.py says of a debug build of train_<ablation> what is so: printers and commands (gdb_printers.py), and
# the locals of every landmark (gdb_landmarks.py); and of the same program without names what to do (gdb_unlucky.py). All
# of them run inside gdb.
set -euo pipefail
program=$1
command -v gdb >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
strip --strip-debug -o "$folder/nameless" "$program"
inside() {  # PROGRAM SCRIPT
  text=$(gdb -q -nx -batch -ix tools/gdb/sinklab.py -x "tests/tools/$2.py" --args "$1" --tiny --force --run "$folder/$2" 2>&1) || true
  echo "$text"
  if grep -q 'auto-loading has been declined' <<<"$text"; then return 1; fi
  grep -q '^all that gdb was told is so$' <<<"$text"
}
inside "$program" gdb_printers
inside "$program" gdb_landmarks
if [ "$(basename "$program")" = train_baseline ]; then inside "$folder/nameless" gdb_unlucky; fi
