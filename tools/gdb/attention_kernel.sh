#!/usr/bin/env bash
# Stops in thread 37 of block (1,0,0) of the attention kernel of any ablation, in a debug build with the emulated CUDA
# device, and prints its position and values: query i of head h, the keys it sees, m, S, the weights and the output. A
# block has four warps with one query each; this thread is lane 5 of the warp with query 5.
#   cmake --preset debug -DSINK_CUDA=EMULATED && cmake --build --preset debug --target train_pos_learnable
#   bash tools/gdb/attention_kernel.sh [PROGRAM]
# To continue from there by hand, in a gdb session that stays at the last stop:
#   bash tools/gdb/attention_kernel.sh --show > kernel.gdb
#   gdb -x kernel.gdb --args build/debug/train_pos_learnable --tiny --device cuda --force
source=engine/ops/attention/cuda/attention_forward_cuda.cuh
. "$(dirname "$0")/walk.sh"

# Before the first line the weights of the first 32 keys are known, before the second the output.
weights=$(line_of 'int count = static_cast<int>(keys - first')
output=$(line_of 'if (a.extra_v_HD)')
thread="'sink::emulated::here'.thread.x == 37 && 'sink::emulated::here'.block.x == 1"

# SIGSEGV is how the emulated device learns which allocations a kernel touches; gdb passes it on.
walk --tiny --device cuda <<GDB
set pagination off
set breakpoint pending on
handle SIGSEGV nostop noprint pass
tbreak sink::cuda::attention_kernel if $thread
run
backtrace 1
tbreak $weights if $thread
continue
$(value thread "'sink::emulated::here'.thread")
$(value block "'sink::emulated::here'.block")
$(value head query.h)
$(value query query.i)
$(value keys keys)
$(value q '*query.q_D@a.D')
$(value m m)
$(value S S)
$(value weights '*o.lane_values@keys')
tbreak $output if $thread
continue
$(value output '*o.sums_D@a.D')
GDB
