#!/usr/bin/env bash
# What tools/lldb/sinklab_lldb.py shows of a row, a Tensor and a Shape is what lldb itself reads at their addresses.
set -euo pipefail
program=$1
command -v lldb >/dev/null || exit 77
python_works() { lldb -b -o 'script print(6 * 7)' 2>/dev/null | grep -qx 42; }
if ! python_works; then  # Debian 12 tells lldb the wrong folder of its Python
  PYTHONPATH=$(dirname "$(ls -d /usr/lib/llvm-*/lib/python3*/dist-packages/lldb/embedded_interpreter.py | tail -n 1)")/..
  export PYTHONPATH
  python_works || exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/commands" <<'LLDB'
command script import tools/lldb/sinklab_lldb.py
breakpoint set -r "attention_row<" -c "h == 1 && i == 5"
run
next
next
next
script print("BEGIN")
frame variable q
memory read --format float64 --size 8 --count 8 --num-per-line 1 q._M_ptr
frame select 3
frame variable q_BHTD
frame variable q_BHTD.shape_
memory read --format float64 --size 8 --count 12 --num-per-line 1 q_BHTD.base_
LLDB
text=$(lldb -b -s "$folder/commands" -- "$program" --tiny --run "$folder/run" 2>&1)
text=$(sed -n '/^BEGIN/,$p' <<<"$text")
echo "$text"

# numbers FROM TO: of the memory that was read, rounded as summaries round.
memory=$(sed -nE 's/^0x[0-9a-f]+: [{]?([^}]*)[}]?$/\1/p' <<<"$text")
numbers() { sed -n "$1,$2p" <<<"$memory" | xargs printf '%.4g\n' | paste -sd, | sed 's/,/, /g'; }
[ "$(wc -l <<<"$memory")" -eq 20 ]
grep -qF "q = {$(numbers 1 8)}" <<<"$text"
grep -qF "f64 (1, 2, 16, 8) [0, 0]= {{$(numbers 9 12), ...}, {$(numbers 17 20), ...}, " <<<"$text"
grep -qF 'q_BHTD.shape_ = (1, 2, 16, 8)' <<<"$text"
