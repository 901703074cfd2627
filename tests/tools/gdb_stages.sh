#!/usr/bin/env bash
# tools/gdb/attention_stages.sh stops in attention_row after each stage of query 5 and prints it; the script of --show does
# the same in a session, and does not end it.
set -euo pipefail
program=$1
command -v gdb >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
check() {
  grep -qE 'attention_row<(sink::)?Softmax> \(.*b=0, h=0, i=5' <<<"$1"
  grep -qE '^\$1 = std::vector of length 6' <<<"$1"   # s: query 5 sees keys 0..5
  grep -qE '^\$4 = std::vector of length 6' <<<"$1"   # a
  grep -qE '^\$5 = \{.*\}' <<<"$1"                    # o
}
text=$(bash tools/gdb/attention_stages.sh "$program")
echo "$text"
check "$text"
bash tools/gdb/attention_stages.sh "$program" --show >"$folder/stages.gdb"
grep -qF "# gdb -x THIS_FILE --args $program --tiny --force" "$folder/stages.gdb"
# The session continues after the script: `next` moves to the next line of attention_row.
text=$(gdb -q -batch -x "$folder/stages.gdb" -ex next -ex frame --args "$program" --tiny --run "$folder/run" 2>&1)
check "$text"
grep -q 'S_i = S' <<<"$text"
! bash tools/gdb/attention_stages.sh --most >/dev/null 2>&1 || { echo "an unknown argument is accepted"; exit 1; }
