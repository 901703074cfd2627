#!/usr/bin/env bash
# Stops in the attention of sequence 0, head 0, query 5 of a debug build's reference path and prints its stages: the
# scores s, the row maximum m, the sum S and the weights a. Without arguments it trains one step of a tiny model.
#   cmake --preset debug && cmake --build --preset debug --target train_pos_learnable
#   bash tools/gdb/attention_stages.sh build/debug/train_pos_learnable
# To step on from there by hand: gdb -x the script it prints with --show.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${1:?usage: attention_stages.sh PROGRAM [--show]}
command -v gdb >/dev/null || { echo "attention_stages: gdb is not installed" >&2; exit 77; }

# The line after which all stages are known.
source=engine/ops/attention/ref/attention_ref.h
line=$(grep -n '\*m_i = m;' "$source" | head -n 1 | cut -d: -f1)
script=$(mktemp --suffix=.gdb)
folder=$(mktemp -d)
trap 'rm -rf "$script" "$folder"' EXIT
cat > "$script" <<GDB
set pagination off
set breakpoint pending on
break attention_row if b == 0 && h == 0 && i == 5
run
backtrace 3
tbreak $(basename "$source"):$line
continue
print s
print m
print S
print a
kill
quit
GDB
if [ "${2:-}" = "--show" ]; then cat "$script"; exit 0; fi
gdb -q -batch -x "$script" --args "$program" --tiny --run "$folder/run" 2>&1
