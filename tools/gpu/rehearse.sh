#!/usr/bin/env bash
# Rehearses check.sh on the emulated device, end to end, with everything that can go wrong on a GPU machine planted: a
# wrong, a crashing and a hanging kernel, no NCCL, no memory pools, a part that hangs, tests that fail, no device.
#   bash tools/gpu/rehearse.sh [BUILD] [SCENARIO...]      build/emulated, all scenarios
# BUILD needs the targets selftest, train_baseline, train_op_sigmoid_none, bench_step, device_tests, prepare and sweep. python3
# needs NumPy, and building kernels.so libboost-context-dev. Where one of these is missing, the script exits with 77. It
# prints one line per expectation and exits with 1 if one is not met.
set -uo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
build=${1:-build/emulated}
[ $# -eq 0 ] || shift
build=$(cd "$build" && pwd) || exit 2
python3 -c 'import numpy' 2>/dev/null || { echo "rehearse: python3 has no NumPy here: nothing was rehearsed" >&2; exit 77; }
for program in selftest train_baseline train_op_sigmoid_none bench_step tests/device_tests prepare sweep; do
  [ -x "$build/$program" ] || { echo "rehearse: no $program in $build: nothing was rehearsed" >&2; exit 77; }
done
scenarios=(plain kernels_fail no_nccl no_pools part_hangs selftest_wrong tests_fail study no_device)
[ $# -eq 0 ] || scenarios=("$@")

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wrong=0
expect() {  # expect WHAT COMMAND...: that it succeeds
  local what=$1
  shift
  if "$@" >/dev/null 2>&1; then echo "  ok: $what"; else echo "  NOT MET: $what"; wrong=$((wrong + 1)); fi
}
says() { expect "$1" grep -qE -- "$2" "$log"; }
never_says() { expect "$1" bash -c '! grep -qE -- "$0" "$1"' "$2" "$log"; }
in_tar() { expect "the tar has $1" bash -c 'tar -tzf "$0" | grep -qx "./$1"' "$OUT/results.tar.gz" "$1"; }

# A folder of programs as a pack has it, which scenarios change.
make_from() {
  local from=$folder/$1/from
  mkdir -p "$from/tests"
  local program
  for program in selftest train_baseline train_op_sigmoid_none bench_step; do ln -s "$build/$program" "$from/$program"; done
  ln -s "$build/tests/device_tests" "$from/tests/device_tests"
  mkdir "$from/text"
  cp "$folder"/text/* "$from/text"
  echo "$from"
}
# check SCENARIO SOURCE ARGUMENTS...: runs check.sh in SOURCE; leaves its output in $log and its exit code in $code.
check() {
  local name=$1 source=$2
  shift 2
  export OUT=$folder/$name/out SINK_CHECK_RESULTS=$folder/$name/results
  log=$folder/$name/log code=0
  local began=$SECONDS
  (cd "$source" && bash "$root/tools/gpu/check.sh" --from "$folder/$name/from" "$@") >"$log" 2>&1 || code=$?
  echo "$name: check.sh $* ended with code $code after $((SECONDS - began)) s"
  [ -z "${REHEARSE_LOGS:-}" ] || { mkdir -p "$REHEARSE_LOGS" && cp "$log" "$REHEARSE_LOGS/$name.txt"; }
}

# Small, and enough time on a slow machine. The kernels that were built are kept for the next rehearsal.
export SINK_CHECK_SMALL=1 SINK_CHECK_PERCENT=${SINK_CHECK_PERCENT:-300} SINK_CHECK_WORK=$build/gpu_rehearsal
export SINK_CHECK_OPERATIONS=Softmax,Relu,Elu,Linear SINK_CHECK_TESTS='*/add_test.cpp'
mkdir -p "$folder/text" "$SINK_CHECK_WORK"
for _ in $(seq 200); do echo "The cat sat on the mat, and the dog lay on the rug by the door of the house."; done >"$folder/text.txt"
"$build/prepare" --text "$folder/text.txt" --vocab 300 --out "$folder/text" >"$folder/prepare.txt" 2>&1 ||
  { cat "$folder/prepare.txt"; exit 1; }

plain() {
  make_from plain >/dev/null
  check plain "$root"
  expect "code 0" test "$code" -eq 0
  says "a plan of the minutes" 'the plan, in minutes'
  for part in probe conformance correctness kernels tests bench sink; do
    says "$part is well" "check: $part: all is well"
    in_tar "$part/log.txt"
  done
  in_tar correctness/correctness.jsonl
  in_tar kernels/kernels.jsonl
  in_tar bench/bench.jsonl
  expect "the run's metrics are in the tar" bash -c 'tar -tzf "$0" | grep -q "sink/run.*/metrics.jsonl"' "$OUT/results.tar.gz"
  expect "at most 8 files come back" test "$(find "$OUT" -type f | wc -l)" -le 8
  cp "$log" "$folder/first_log"
  check plain "$root" conformance
  expect "a second run deletes nothing" bash -c 'tar -xzOf "$0" ./conformance/log.txt | grep -c "==== conformance" | grep -qx 2' "$OUT/results.tar.gz"
}

# Relu has a wrong derivative, Elu crashes, Linear never ends. Softmax is as it was.
kernels_fail() {
  make_from kernels_fail >/dev/null
  local source=$folder/kernels_fail/source op=engine/ops/attention/op
  mkdir -p "$source/tools/gpu"
  cp -r engine "$source/engine"
  cp -r tools/gpu/kernels "$source/tools/gpu/kernels"
  python3 - "$source/$op" <<'PYTHON' || { echo "  NOT MET: the faults could be planted"; wrong=$((wrong + 1)); return; }
import pathlib, sys
for name, old, new in (("relu", "return x > R(0) ? R(1) : R(0);", "return R(1);"),
                         ("elu", "return exp_fast(x > R(0) ? R(0) : x);", "__builtin_trap();"),
                         ("linear", "SINK_HD static auto g(auto x) { return x; }",
                          "SINK_HD static auto g(auto x) { for (volatile int n = 0; n == 0;) {} return x; }")):
    path = pathlib.Path(sys.argv[1]) / f"{name}.h"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
PYTHON
  SINK_CHECK_OPERATION_SECONDS=${REHEARSE_HANG_SECONDS:-30} SINK_CHECK_WORK=$build/gpu_rehearsal_faults check kernels_fail "$source" first
  expect "code 1" test "$code" -eq 1
  says "Softmax is right" '^ok    Softmax'
  says "Relu is wrong" '^WRONG Relu .*[1-9] wrong'
  says "Elu's process crashed" '^WRONG Elu .*the process ended with code -'
  says "Linear was stopped" '^WRONG Linear .*was stopped after'
  says "the self-test was run all the same" 'check: conformance: all is well'
  says "those that crash or hang are not timed" '^not timed, as they crashed or hung: Elu, Linear'
  says "the others are" '^ours +Softmax, bias'
  says "and a wrong one is marked" '^ours +Relu .* WRONG'
  in_tar correctness/correctness.jsonl
}

no_nccl() {
  make_from no_nccl >/dev/null
  SINK_NCCL=no_such_nccl.so check no_nccl "$root" second
  expect "code 0: one device does not need NCCL" test "$code" -eq 0
  SINK_NCCL=no_such_nccl.so check no_nccl "$root" probe
  says "the probe reports it" '^NCCL     no: .*no_such_nccl.so'
  SINK_NCCL=no_such_nccl.so check no_nccl "$root" ranks
  expect "ranks fail" test "$code" -eq 1
}

no_pools() {
  make_from no_pools >/dev/null
  SINK_MEMORY_POOLS=off check no_pools "$root" probe
  says "the probe reports it" '^graphs   no: '
  SINK_MEMORY_POOLS=off check no_pools "$root" sink
  expect "a run trains all the same" test "$code" -eq 0
  says "and reports single launches" 'launched kernel by kernel'
}

part_hangs() {
  local from
  from=$(make_from part_hangs)
  rm "$from/selftest"
  printf '#!/bin/bash\n[ "${1:-}" != --probe ] || exec "%s" --probe\necho before the hang\ntrap "" INT\nsleep 7531 & wait\nsleep 7531\n' "$build/selftest" >"$from/selftest"
  chmod +x "$from/selftest"
  SINK_CHECK_PERCENT=10 check part_hangs "$root" conformance
  expect "code 1" test "$code" -eq 1
  says "its output until then" 'before the hang'
  says "the part was stopped" 'STOPPED after [0-9]* s: selftest'
  expect "nothing of it is left running" bash -c '! pgrep -x -f "sleep 7531"'
  in_tar conformance/log.txt
}

# The self-test ends with 7 if a check is wrong, as it does without a device.
selftest_wrong() {
  local from
  from=$(make_from selftest_wrong)
  rm "$from/selftest"
  printf '#!/bin/bash\n[ "${1:-}" != --probe ] || exec "%s" --probe\necho "WRONG  gemm, bf16"\nexit 7\n' "$build/selftest" >"$from/selftest"
  chmod +x "$from/selftest"
  check selftest_wrong "$root" conformance
  expect "code 1" test "$code" -eq 1
  says "what is wrong" '^WRONG  gemm, bf16'
  says "the part failed" 'check: conformance: 1 failed'
  never_says "nothing prevents the other parts" 'NOTHING else was run'
}

# A program with four cases: one passes, one fails, one crashes, one hangs.
tests_fail() {
  local from
  from=$(make_from tests_fail)
  rm "$from/tests/device_tests"
  cat >"$from/tests/device_tests" <<'FAKE'
#!/bin/bash
for flag in "$@"; do
  case $flag in
    --count) echo "[doctest] unskipped test cases passing the current filters: 4" ;;
    --first=1) echo fine ;;
    --first=2) echo "TEST CASE:  two and two"; exit 1 ;;
    --first=3) kill -SEGV $$ ;;
    --first=4) exec sleep 7532 ;;
  esac
done
FAKE
  chmod +x "$from/tests/device_tests"
  SINK_CHECK_TESTS= SINK_CHECK_CASE_SECONDS=5 check tests_fail "$root" tests
  expect "code 1" test "$code" -eq 1
  says "one passed and three failed" '1 cases passed, 3 failed, 0 not run'
  says "the name of a failed case" 'FAILED with code 1: device_tests.2: TEST CASE:  two and two'
  says "the crash" 'FAILED with code 139: device_tests.3'
  says "the hang" 'FAILED with code 124: device_tests.4'
  expect "nothing of it is left running" bash -c '! pgrep -x -f "sleep 7532"'
}

# A study of two runs, with a Multi-Process Service that starts, and with one that does not.
study() {
  local from bin=$folder/study/bin
  from=$(make_from study)
  ln -s "$build/sweep" "$from/sweep"
  mkdir -p "$from/studies/"{results,data} "$bin"
  cp -r "$folder/text" "$from/studies/data/english"
  cat >"$from/studies/tiny.toml" <<'STUDY'
name = "tiny"
question = "Does a study train here?"
section = "ours"
baseline = "baseline"
seeds = [1, 2]
[settings]
task = "text"
[cpu]
layers = 1
heads = 2
width = 32
feed-forward = 32
context = 16
batch = 2
steps = 4
learning-rate = 0.01
[[runs]]
ablation = ["baseline"]
STUDY
  rm "$from/selftest"  # says that its device is a GPU
  printf '#!/bin/bash\n"%s" "$@" | sed s/emulated/GPU/\n' "$build/selftest" >"$from/selftest"
  printf '#!/bin/bash\n[ "${1:-}" = -d ] && exec touch "%s"\nread -r word && [ "$word" = quit ] && rm "%s"\n' "$bin/running" "$bin/running" \
    >"$bin/nvidia-cuda-mps-control"
  chmod +x "$from/selftest" "$bin/nvidia-cuda-mps-control"
  PATH=$bin:$PATH SINK_CHECK_WORK=$folder/study/work check study "$root" study tiny
  expect "code 0" test "$code" -eq 0
  says "both runs were trained" '^2 of 2 runs complete'
  in_tar study/tiny-runs.csv
  expect "two rows" bash -c 'test "$(tar -xzOf "$0" ./study/tiny-runs.csv | wc -l)" -eq 3' "$OUT/results.tar.gz"
  expect "the data have the path that a checkout has" bash -c 'tar -xzOf "$0" ./study/tiny-runs.csv | grep -c ",data/english," | grep -qx 2' "$OUT/results.tar.gz"
  expect "the Multi-Process Service has ended" test ! -e "$bin/running"
  tar -xzOf "$OUT/results.tar.gz" ./study/tiny-runs.csv >"$from/studies/results/tiny-runs.csv"
  printf '#!/bin/bash\nexit 1\n' >"$bin/nvidia-cuda-mps-control"
  PATH=$bin:$PATH SINK_CHECK_WORK=$folder/study/again check study "$root" study tiny
  expect "code 0 without the service" test "$code" -eq 0
  says "that it does not start" 'the Multi-Process Service does not start'
  says "the rows that were there are not trained again" '^2 of 2 runs are rows of results'
}

no_device() {
  local from
  from=$(make_from no_device)
  rm "$from/selftest"
  printf '#!/bin/bash\necho "selftest: error: no NVIDIA driver is installed" >&2\nexit 7\n' >"$from/selftest"
  chmod +x "$from/selftest"
  check no_device "$root"
  expect "code 7" test "$code" -eq 7
  says "the reason" 'no NVIDIA driver is installed'
  says "and that nothing was run" 'NOTHING else was run'
  never_says "no other part begins" '^==== conformance'
}

began=$SECONDS
for scenario in "${scenarios[@]}"; do "$scenario"; done
echo "rehearse: ${#scenarios[@]} scenarios, $wrong expectations not met, $((SECONDS - began)) s"
[ "$wrong" -eq 0 ]
