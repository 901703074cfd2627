#!/usr/bin/env bash
# The README's own attention operation, put where the README says, compiles, and its fast kernels agree with its
# reference. Uses the libraries of the build that this test belongs to.
#   readme_operation_test.sh BUILD COMPILER ARCHITECTURE [more libraries]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=engine/ops/attention/op
mkdir -p "$work/$folder"

sed -n '/^struct SoftplusNorm/,/^};$/p' README.md >"$work/struct"
line=$(grep -o 'SINK_ATTENTION_OP(SoftplusNorm)' README.md | head -n 1)
[ -s "$work/struct" ] && [ -n "$line" ] || { echo "readme_operation: error: README.md has no SoftplusNorm" >&2; exit 1; }
# Before the last line that is not empty, which closes the namespace.
closing=$(grep -n '^}  // namespace sink$' $folder/attention_op.h | tail -n 1 | cut -d: -f1)
{ head -n $((closing - 1)) $folder/attention_op.h; cat "$work/struct"; tail -n +"$closing" $folder/attention_op.h
} >"$work/$folder/attention_op.h"
sed "s/^SINK_ATTENTION_OP(Softmax)$/&\n$line/" $folder/attention_ops.def >"$work/$folder/attention_ops.def"
cp tests/tools/readme_operation.cpp "$work/main.cpp"

"$2" -std=c++20 -O1 "-march=$3" -mprefer-vector-width=512 -fopenmp-simd -Wall -Wextra -Werror -I"$work" -I. "$work/main.cpp" -o "$work/program" \
  "$build/libsink_attention.a" "$build/libsink_engine.a" -ldnnl "${@:4}" -pthread
"$work/program"
