#!/usr/bin/env bash
# The walk into the tensor-core kernel: in lane 22, gdb prints of query 5 the row maximum and sum, and the weights of the
# keys 4 and 5. They are those of the reference, plain loops in double, as far as bf16 goes.
set -euo pipefail
command -v gdb >/dev/null || exit 77
program=$1

tile=$(bash tools/gdb/attention_tile.sh "$program")
reference=$(bash tools/gdb/attention_stages.sh "$program")
printf '%s\n%s\n' "$tile" "$reference"
grep -q 'sink::cuda::attention_tiles_kernel<' <<<"$tile"

# tile_values NAME, reference_values N: the values that gdb printed, one a line.
tile_values() { sed -n "s/^$1 = //p" <<<"$tile" | grep -oE -- '-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?'; }
reference_values() { sed -n "s/^\\\$$1 = //p" <<<"$reference" | sed 's/.*{//; s/}//' | tr -s ', ' '\n'; }
first() { head -n 1; }

# close NAME GOT EXPECTED: to two parts in a thousand of one.
close() {
  awk -v name="$1" -v got="$2" -v expected="$3" 'BEGIN {
    difference = got - expected
    if (got == "" || expected == "" || difference * difference > 0.002 ^ 2 * (1 + expected ^ 2)) {
      print name ": the kernel has " got ", the reference " expected
      exit 1
    }
  }'
}
close m "$(tile_values m | first)" "$(reference_values 2)"
close S "$(tile_values S | first)" "$(reference_values 3)"
for n in 1 2; do
  numerator=$(tile_values numerators | sed -n "${n}p") inverse_z=$(tile_values inverse_z | first)
  close "weight of key $((n + 3))" "$(awk "BEGIN { print $numerator * $inverse_z }")" "$(reference_values 4 | sed -n "$((n + 4))p")"
done
