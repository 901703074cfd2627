#!/usr/bin/env bash
# The walk into a CUDA kernel: gdb stops in thread 37 of block (1,0,0) of each program's attention kernel on the emulated
# device. m, S and weights it prints there are those that it prints in the reference, plain loops in double, for the same
# query; and the query is the fifth, which that thread's warp has.
set -euo pipefail
command -v gdb >/dev/null || exit 77

# What gdb printed in the kernel for a name, and in the reference as its nth value; numbers of a vector, one a line.
kernel_value() { sed -n "s/^$1 = //p" <<<"$kernel" | tr -d '{}' | tr -s ', ' '\n'; }
reference_value() { sed -n "s/^\\\$$1 = //p" <<<"$reference" | sed 's/.*{//; s/}//' | tr -s ', ' '\n'; }

# same NAME COUNT GOT EXPECTED: COUNT numbers agree to five digits.
same() {
  paste <(echo "$3") <(echo "$4") | head -n "$2" | awk -v name="$1" -v count="$2" '
    function abs(x) { return x < 0 ? -x : x }
    NF != 2 || !(abs($1 - $2) <= 1e-5 * (1 + abs($2))) { print name ": the kernel has " $1 ", the reference " $2; wrong = 1 }
    END { if (NR != count) print name ": " NR " numbers, expected " count; exit wrong || NR != count }'
}

for program in "$@"; do
  kernel=$(bash tools/gdb/attention_kernel.sh "$program")
  reference=$(bash tools/gdb/attention_stages.sh "$program")
  printf '%s\n%s\n' "$kernel" "$reference"
  grep -q 'sink::cuda::attention_kernel<' <<<"$kernel"
  grep -qx 'thread = {x = 37, y = 0, z = 0}' <<<"$kernel"
  grep -qx 'block = {x = 1, y = 0, z = 0}' <<<"$kernel"
  grep -qx 'query = 5' <<<"$kernel"
  grep -qx 'keys = 6' <<<"$kernel"
  same m 1 "$(kernel_value m)" "$(reference_value 2)"
  same S 1 "$(kernel_value S)" "$(reference_value 3)"
  same weights 6 "$(kernel_value weights)" "$(reference_value 4)"
  [ "$(kernel_value output | wc -l)" -eq 8 ]
done
