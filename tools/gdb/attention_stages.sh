#!/usr/bin/env bash
# Stops in the reference attention of sequence 0, head 0, query 5 of a debug build that trains a tiny model, and prints
# its stages one after the other: scores s, row maximum m, sum S, weights a and output o.
#   cmake --preset debug && cmake --build --preset debug --target train_pos_learnable
#   bash tools/gdb/attention_stages.sh [PROGRAM]
# To continue from there by hand, in a gdb session that stays at the last stage:
#   bash tools/gdb/attention_stages.sh --show > stages.gdb
#   gdb -x stages.gdb --args build/debug/train_pos_learnable --tiny --force
source=engine/ops/attention/ref/attention_ref.h
. "$(dirname "$0")/walk.sh"

walk --tiny <<GDB
set pagination off
set breakpoint pending on
tbreak attention_row if b == 0 && h == 0 && i == 5
run
backtrace 1
set print frame-info source-line
tbreak $(line_of '// 2. Shift')
continue
print s
tbreak $(line_of '// 3. Sum')
continue
print m
tbreak $(line_of '// 4. Weights')
continue
print S
tbreak $(line_of '// 5. Output')
continue
print a
tbreak $(line_of '*m_i = m;')
continue
print *o._M_ptr@o._M_extent._M_extent_value
set print frame-info auto
GDB
