#!/usr/bin/env bash
# The debugger's walk of the README works: gdb stops in attention_row and prints scores and weights of query 5.
set -euo pipefail
program=$1
command -v gdb >/dev/null || exit 77
text=$(bash tools/gdb/attention_stages.sh "$program")
echo "$text"
grep -q 'attention_row<sink::Softmax' <<<"$text"
grep -qE '^\$1 = std::vector of length 6' <<<"$text"   # s: query 5 sees keys 0..5
grep -qE '^\$4 = std::vector of length 6' <<<"$text"   # a
