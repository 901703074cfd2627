#!/usr/bin/env bash
# Stops in lane 22 of the first warp of the attention kernel for tensor cores, in a debug build with the emulated CUDA
# device, and prints what the lane holds of the first tile: queries 5 and 13 with keys 4 and 5 (tools/tour/fragments.svg).
#   cmake --preset debug -DSINK_CUDA=EMULATED && cmake --build --preset debug --target train_pos_learnable
#   bash tools/gdb/attention_tile.sh [PROGRAM]
# To continue from there by hand, in a gdb session that stays at the last stop:
#   bash tools/gdb/attention_tile.sh --show > tile.gdb
#   gdb -x tile.gdb --args build/debug/train_pos_learnable --tiny --device cuda --precision bf16 --force
source=engine/ops/attention/cuda/attention_tiles_forward_cuda.cuh
. "$(dirname "$0")/walk.sh"

product=$(line_of 'OperandFragment<kKeys> weights[kM];')
weights=$(line_of 'compute_weights<kSeesAll, kSum, kWeigh>(op')
operand=$(line_of 'round_to_operand<kKeys>(s[mt]')
output=$(line_of 'block.store(o_BHTD')
lane="'sink::emulated::here'.thread.x == 22"

# SIGSEGV is how the emulated device learns which allocations a kernel touches; gdb passes it on.
walk --tiny --device cuda --precision bf16 <<GDB
set pagination off
set breakpoint pending on
handle SIGSEGV nostop noprint pass
tbreak sink::cuda::attention_tiles_kernel if $lane
run
backtrace 1
tbreak $product if $lane
continue
$(value products 's[0][0]')
tbreak $weights if $lane
continue
$(value masked 's[0][0]')
$(value factor factor)
$(value m 'rows[0].m')
tbreak $operand if $lane
continue
$(value numerators 's[0][0]')
tbreak $output if $lane
continue
$(value S 'block.rows[0].S')
$(value inverse_z 'block.rows[0].inverse_z')
GDB
