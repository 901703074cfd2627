#!/usr/bin/env bash
# The debugger walks of the README work: gdb stops in attention_row and prints scores and weights of query 5, and it finds
# the other landmarks.
set -euo pipefail
program=$1
command -v gdb >/dev/null || exit 77
text=$(bash tools/gdb/attention_stages.sh "$program")
echo "$text"
grep -q 'attention_row<sink::Softmax' <<<"$text"
grep -qE '^\$1 = std::vector of length 6' <<<"$text"   # s: query 5 sees keys 0..5
grep -qE '^\$4 = std::vector of length 6' <<<"$text"   # a
# The landmarks of other operations are found by their names, each at one place of its reference.
tests=$(dirname "$program")/tests
for landmark in rms_norm/rms_norm_row layer_norm/layer_norm_row rotary/rotary_row cross_entropy/cross_entropy_row; do
  operation=${landmark%/*} function=${landmark#*/}
  text=$(gdb -q -batch -ex "break $function" -ex run "$tests/${operation}_test" 2>&1)
  grep -qE "^Breakpoint 1 at 0x[0-9a-f]+: file .*/${operation}_ref.cpp, line" <<<"$text" || { echo "$text"; exit 1; }
  grep -q "Breakpoint 1, sink::ref::$function (" <<<"$text" || { echo "$text"; exit 1; }
done
