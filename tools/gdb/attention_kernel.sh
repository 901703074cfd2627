#!/usr/bin/env bash
# Stops in thread 37 of block (1,0,0) of the attention kernel of any ablation, in a debug build with the emulated CUDA
# device, and prints where that is and what it holds: query i of head h, the keys it sees, m, S, the weights, the output.
# Four warps a block, a query each: the thread is lane 5 of the warp that has query 5.
#   cmake --preset debug -DSINK_CUDA=EMULATED && cmake --build --preset debug --target train_pos_learnable
#   bash tools/gdb/attention_kernel.sh build/debug/train_pos_learnable
# To step on from there by hand: gdb -x the script it prints with --show.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${1:?usage: attention_kernel.sh PROGRAM [--show]}
command -v gdb >/dev/null || { echo "attention_kernel: gdb is not installed" >&2; exit 77; }

# line_of TEXT: of the kernel's line that begins so. Before the first the weights of the first 32 keys are known, before
# the second the output.
source=engine/ops/attention/cuda/attention_forward_cuda.cuh
line_of() {
  local found
  found=$(grep -nF "$1" "$source" | head -n 1 | cut -d: -f1)
  [ -n "$found" ] || { echo "attention_kernel: error: no line '$1' in $source; say in this script where to stop" >&2; exit 1; }
  echo "$found"
}
weights=$(line_of 'int count = static_cast<int>(keys - first')
output=$(line_of 'if (a.extra_v_HD)')
show() { printf 'echo %s =\\040\noutput %s\necho \\n' "$1" "$2"; }
thread="'sink::emulated::here'.thread.x == 37 && 'sink::emulated::here'.block.x == 1"
script=$(mktemp --suffix=.gdb)
folder=$(mktemp -d)
trap 'rm -rf "$script" "$folder"' EXIT
# SIGSEGV is how the emulated device learns which allocations a kernel touches: gdb lets it pass.
cat > "$script" <<GDB
set pagination off
set breakpoint pending on
handle SIGSEGV nostop noprint pass
tbreak sink::cuda::attention_kernel if $thread
run
backtrace 1
tbreak $(basename "$source"):$weights if $thread
continue
$(show thread "'sink::emulated::here'.thread")
$(show block "'sink::emulated::here'.block")
$(show head query.h)
$(show query query.i)
$(show keys keys)
$(show q '*query.q_D@a.D')
$(show m m)
$(show S S)
$(show weights '*o.of_lanes@keys')
tbreak $(basename "$source"):$output if $thread
continue
$(show output '*o.sums_D@a.D')
kill
quit
GDB
if [ "${2:-}" = "--show" ]; then cat "$script"; exit 0; fi
gdb -q -batch -x "$script" --args "$program" --tiny --device cuda --run "$folder/run" 2>&1
