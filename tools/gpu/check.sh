#!/usr/bin/env bash
# What only a GPU can show, in one half hour: three commands of at most 9 minutes each.
#   bash check.sh --plan       prints the plan, which every run begins with
#   bash check.sh first        probe conformance correctness kernels
#   bash check.sh second       tests bench
#   bash check.sh third        sink
#   bash check.sh              all three
# One part alone, with its own limit of time:
#   bash check.sh probe                one kernel, memory pools, graphs, NCCL; only this part can prevent the others
#   bash check.sh conformance          every instruction that kernels use, against tables and arithmetic (selftest)
#   bash check.sh correctness [OP]     builds kernels.so here; every attention kernel against float64
#   bash check.sh kernels [OP]         times kernels.so against FlashAttention-2, cuDNN and FlexAttention; profiles it
#   bash check.sh tests                every test of the device, each case in a separate process, eight at a time
#   bash check.sh bench [ABLATION]     training steps of the 60M model, then PyTorch's
#   bash check.sh sink [FLAGS]         trains 60M on the packed text: softmax, sigmoid, key biases; Sink_1 over steps,
#                                      and at the end as in the paper: 64 tokens of 100 sequences
#   bash check.sh study A,B [FLAGS]    trains studies of train/studies, which pack.sh --studies has packed; FLAGS of sweep
#   bash check.sh ranks                collectives by NCCL; a run on one GPU and on all of this host, byte for byte
#   bash check.sh sanitizer [TOOL]     tests of operations under compute-sanitizer: memcheck, racecheck, synccheck, initcheck
# It runs the programs that tools/gpu/pack.sh has packed next to it, or those in build/cuda, or --from FOLDER (a build).
# Results: one folder per part in $SINK_CHECK_RESULTS (default: sinklab_results in the temporary folder), appended to,
# never deleted, and after every step all of them as $OUT/results.tar.gz (default of OUT: runs/gpu).
# SINK_CHECK_PERCENT=50 halves all limits of time. SINK_CHECK_SMALL=1 uses small shapes, for a rehearsal.
# Exit codes: 0 all is well, 1 something failed or was stopped, 2 wrong use, 7 there is no device to run on.
set -uo pipefail

# part | seconds | what it shows
plan='probe|30|one kernel runs; memory pools, graphs, NCCL, PyTorch, tools
conformance|60|the self-test of instructions and matrix products
correctness|120|kernels.so is built; attention against float64
kernels|320|attention kernels against FlashAttention-2, cuDNN and FlexAttention; a profile of six
tests|240|the tests of the device, one case per process
bench|230|training steps of 60M, and one round of PyTorch
sink|530|60M runs on text with softmax, sigmoid and key biases, and their curves of Sink_1'
first="probe conformance correctness kernels" second="tests bench" third="sink"
alone='study|530|
ranks|530|
sanitizer|530|'
percent=${SINK_CHECK_PERCENT:-100}
say() { echo "check: $*"; }
die() { echo "check: error: $*" >&2; exit 2; }
[[ $percent =~ ^[1-9][0-9]{0,4}$ ]] || die "SINK_CHECK_PERCENT is expected to be a whole number, got '$percent'"
seconds_of() { printf '%s\n%s\n' "$plan" "$alone" | awk -F'|' -v part="$1" -v percent="$percent" \
  '$1 == part {print int($2 * percent / 100 + 0.5)}'; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

print_plan() {  # print_plan PART...
  local begin=0 part seconds what
  echo "check: the plan, in minutes; a part that is not done by its end is stopped there"
  for part in "$@"; do
    seconds=$(seconds_of "$part")
    what=$(printf '%s\n' "$plan" | awk -F'|' -v part="$part" '$1 == part {print $3}')
    awk -v b="$begin" -v s="$seconds" -v p="$part" -v w="$what" 'BEGIN {printf "  %5.1f to %4.1f  %-12s %s\n", b/60, (b+s)/60, p, w}'
    begin=$((begin + seconds))
  done
}

from=""
if [ "${1:-}" = --from ]; then
  from=${2:-}
  [ -n "$from" ] || die "--from needs a folder"
  shift 2
fi
chosen="$first $second $third"
case ${1:-} in
  "") ;;
  --plan) print_plan $chosen; exit 0 ;;
  -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  first | second | third) [ $# -eq 1 ] || die "$1 takes no arguments"; chosen=${!1}; shift ;;
  *)
    [ -n "$(seconds_of "$1")" ] || die "unknown part '$1' (expected first, second, third, --plan or one of: $first $second $third study ranks sanitizer)"
    chosen=$1
    shift
    ;;
esac

work=${SINK_CHECK_WORK:-${TMPDIR:-/tmp}/sinklab_check}  # what is unpacked and built; kept for the next command
mkdir -p "$work" || die "cannot write into $work"
work=$(cd "$work" && pwd)
# unpack NAME FOLDER: an archive of the pack into a folder of it. Where tar knows no xz, Python does.
unpack() {
  mkdir -p "$2"
  tar -C "$2" -xf "$here/$1" 2>/dev/null ||
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$here/$1" "$2" ||
    die "cannot unpack $here/$1"
}
if [ -z "$from" ] && [ -f "$here/sinklab_gpu.tar.xz" ]; then
  from=$work/pack_$(cat "$here"/*.tar.xz | cksum | cut -d' ' -f1)
  if [ ! -f "$from/PACK" ]; then
    fresh=$(mktemp -d "$work/unpacking.XXXXXX")
    unpack sinklab_gpu.tar.xz "$fresh"
    [ ! -f "$here/text.tar.xz" ] || unpack text.tar.xz "$fresh/text"
    mv -T "$fresh" "$from" || die "cannot write $from"
  fi
fi
from=${from:-build/cuda}
[ -d "$from" ] || die "no folder $from: build it (cmake --preset cuda), or make a pack (tools/gpu/pack.sh)"
from=$(cd "$from" && pwd)
[ -x "$from/selftest" ] || die "no program selftest in $from, which every part needs: build it (cmake --build --preset cuda), or make a pack (tools/gpu/pack.sh)"
# The sources of kernels.so: of the checkout that this is called in, where a fix may be, else the packed ones.
source=$from/source
[ ! -f tools/gpu/kernels/build.sh ] || source=$PWD
text=$from/text
[ -d "$text" ] || text=$(ls -td "$from"/../gpu/text_tokens_*/ 2>/dev/null | head -n 1)  # the latest that pack.sh has made
peer=$from/torch_baseline.py
[ -f "$peer" ] || peer=$here/../../../shared/peers/torch_baseline.py
out=${OUT:-runs/gpu}
results=${SINK_CHECK_RESULTS:-${TMPDIR:-/tmp}/sinklab_results}
mkdir -p "$out" "$results" || die "cannot write into $out and $results"
out=$(cd "$out" && pwd) results=$(cd "$results" && pwd)

# A GPU machine may keep cudart and cublasLt outside the library path, and NCCL with PyTorch.
of_python=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null)
for library in $(ldd "$from/selftest" 2>/dev/null | awk '/not found/ {print $1}'); do
  found=$(find /usr/local /opt $of_python -name "$library" -print -quit 2>/dev/null)
  [ -n "$found" ] || say "$library is not in /usr/local, /opt or python3's packages: programs will not start"
  [ -z "$found" ] || LD_LIBRARY_PATH=$(dirname "$found"):${LD_LIBRARY_PATH:-}
done
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
if [ -z "${SINK_NCCL:-}" ] && ! ldconfig -p 2>/dev/null | grep -q 'libnccl\.so\.2'; then
  found=$(find /usr/local /opt $of_python -name libnccl.so.2 -print -quit 2>/dev/null)
  [ -z "$found" ] || export SINK_NCCL=$found
fi

# All results so far, as one file that is always whole.
tar_results() {
  tar -C "$results" --exclude='*.h5' --exclude=lock -czf "$out/.results.$BASHPID" . 2>/dev/null
  mv -f "$out/.results.$BASHPID" "$out/results.tar.gz"
}

failures=0
deadline=0
folder=$results
left() { echo $((deadline - SECONDS)); }

# attempt WHAT LIMIT COMMAND...: within LIMIT seconds and what is left of the part. Prints the command's output and how
# it ended. It runs in a new process group, so that its children are killed with it; SIGINT comes first.
attempt() {
  local what=$1 limit=$(($2 * percent / 100)) began=$SECONDS code=0 ended=0 last=$SECONDS pid
  shift 2
  if [ "$(left)" -lt 2 ]; then say "not run, as the part's time is over: $what"; failures=$((failures + 1)); return 1; fi
  [ "$limit" -le "$(left)" ] || limit=$(left)
  set -m
  "$@" 2>&1 </dev/null &
  pid=$!
  set +m
  running=$pid
  while kill -0 "$pid" 2>/dev/null; do
    if [ $((SECONDS - began)) -ge "$limit" ]; then
      code=124
      stop_group "$pid"
      break
    fi
    if [ $((SECONDS - last)) -ge 10 ]; then tar_results; last=$SECONDS; fi
    sleep 0.2
  done
  wait "$pid" 2>/dev/null || ended=$?
  running=""
  [ "$code" -ne 0 ] || code=$ended
  case $code in
    0) say "ok: $what ($((SECONDS - began)) s)" ;;
    124) say "STOPPED after $limit s: $what"; failures=$((failures + 1)) ;;
    *) say "FAILED with code $code: $what"; failures=$((failures + 1)) ;;
  esac
  tar_results
  return "$code"
}
running=""
stop_group() {
  local wait
  kill -INT -- "-$1" 2>/dev/null
  for wait in $(seq 30); do  # a training run saves first
    kill -0 -- "-$1" 2>/dev/null || return 0
    sleep 0.5
  done
  kill -KILL -- "-$1" 2>/dev/null
}
mps=""  # the folder of the Multi-Process Service that this script has started
stop_mps() {
  [ -n "$mps" ] || return 0
  mps=""
  echo quit | timeout 10 nvidia-cuda-mps-control
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}
trap '[ -z "$running" ] || kill -KILL -- "-$running" 2>/dev/null; stop_mps' EXIT
trap 'exit 143' TERM INT

fail_part() { say "not done: $*"; failures=$((failures + 1)); return 1; }
need() { [ -x "$from/$1" ] || fail_part "there is no program $1 in $from"; }
small() { [ "${SINK_CHECK_SMALL:-0}" = 1 ]; }

device=""  # "cuda (NVIDIA H100)", "cuda (emulated)"
part_probe() {
  local code=0
  need selftest || return 7
  attempt "a kernel on the device" 25 "$from/selftest" --probe >"$folder/probe.txt" || code=$?
  cat "$folder/probe.txt"
  device=$(sed -n 's/^kernels  *//p' "$folder/probe.txt")
  [ -n "$device" ] || return 7
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit,memory.total,ecc.mode.current \
    --format=csv,noheader 2>/dev/null || say "no nvidia-smi here"
  python3 - <<'PYTHON' 2>&1 || say "python3 has no NumPy here: correctness and kernels cannot run"
import sys, numpy
print("python3", sys.version.split()[0], "numpy", numpy.__version__)
try:
    import torch
    print("torch", torch.__version__, "CUDA", torch.version.cuda, "sees a GPU:", torch.cuda.is_available())
except ImportError:
    print("no torch")
PYTHON
  local tool
  for tool in nvcc ncu compute-sanitizer mpirun; do echo "$tool: $(command -v $tool || ls /usr/local/cuda/bin/$tool 2>/dev/null || echo no)"; done
  echo "$(nproc) cores"
}

part_conformance() {
  need selftest || return 1
  attempt selftest 120 "$from/selftest" "$@"
}

# Builds kernels.so for this device; the sources that have not changed are not compiled again.
kernels_so() {
  local options=()
  library=$work/kernels.so
  [ -f "$source/tools/gpu/kernels/build.sh" ] || { fail_part "no sources of kernels.so in $source"; return 1; }
  if [[ $device = *emulated* ]]; then options=(--emulated); library=$work/kernels_emulated.so; fi
  python3 -c 'import numpy' 2>/dev/null || { fail_part "python3 has no NumPy"; return 1; }
  attempt "kernels.so" 90 bash "$source/tools/gpu/kernels/build.sh" "${options[@]}" ${SINK_CHECK_OPERATIONS:+--operations "$SINK_CHECK_OPERATIONS"} "$library" >>"$folder/build.txt"
  local code=$?
  tail -n 4 "$folder/build.txt"
  return "$code"
}

part_correctness() {
  local options=() limit=45
  kernels_so || return 1
  if small; then options=(--cases 2); limit=${SINK_CHECK_OPERATION_SECONDS:-60}; fi
  [ -z "${1:-}" ] || options+=(--operations "$1")
  attempt "attention against float64" 300 python3 -B "$source/tools/gpu/kernels/kernel_check.py" --library "$library" \
    --operation-seconds "$limit" --out "$folder/correctness.jsonl" "${options[@]}"
  if has_own_and_portable_kernels; then
    attempt "the portable kernels against float64" 300 env SINK_COMPUTE_CAPABILITY=80 python3 -B \
      "$source/tools/gpu/kernels/kernel_check.py" --library "$library" --operation-seconds "$limit" \
      --out "$folder/portable.jsonl" "${options[@]}"
  fi
}

# Hopper's GPUs take kernels of their own, and those of other GPUs where SINK_COMPUTE_CAPABILITY is 80.
has_own_and_portable_kernels() {
  [[ $device != *emulated* ]] && [ "$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1)" = 9.0 ]
}

part_kernels() {
  local options=() profiler
  kernels_so || return 1
  if [ -n "${1:-}" ]; then options=(--operations "$1"); else options=(--correctness "$results/correctness/correctness.jsonl"); fi
  ! small || options+=(--shapes 1x2x96x64 --rounds 1)
  # Begins nothing in the last minute, which is for the profile.
  attempt "attention kernels and their peers" 3600 python3 -B "$source/tools/gpu/kernels/kernel_times.py" --library "$library" \
    --seconds $(($(left) * 7 / 10 - 20)) --out "$folder/kernels.jsonl" "${options[@]}"
  if has_own_and_portable_kernels && [ -z "${1:-}" ]; then
    attempt "the portable kernels" 60 env SINK_COMPUTE_CAPABILITY=80 python3 -B "$source/tools/gpu/kernels/kernel_times.py" \
      --library "$library" --operations Softmax,Sigmoid,LinearMaxAbs --no-peers --seconds 8 --out "$folder/kernels.jsonl"
  fi
  profiler=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2>/dev/null)
  if [ -z "$profiler" ]; then say "no ncu here: no profile"; return 0; fi
  say "the times that follow are under the profiler and mean nothing"
  attempt "a profile of six kernels" 60 "$profiler" --clock-control none --set detailed --csv --page raw -k 'regex:attention_(tiles|hopper)' \
    --launch-skip 6 --launch-count 6 --log-file "$folder/profile.csv" \
    python3 -B "$source/tools/gpu/kernels/kernel_times.py" --library "$library" --operations Softmax --rounds 1 --no-peers \
    --shapes 16x8x2048x96,8x16x2048x128 --seconds 0.1
}

# case_of_test PROGRAM N: one test case, within what is left of the part. One line; a failure's output goes to a file.
case_of_test() {
  local program=$1 n=$2 log code=0 name
  name=$(basename "$program").$n
  if [ "$(date +%s)" -ge "$CASES_END" ]; then echo "not run: $name"; return; fi
  log=$CASES_FOLDER/$name.txt
  timeout --foreground --kill-after=5 "$CASE_SECONDS" "$program" ${SINK_CHECK_TESTS:+"--source-file=$SINK_CHECK_TESTS"} \
    --first="$n" --last="$n" >"$log" 2>&1 </dev/null || code=$?
  if [ "$code" -eq 0 ]; then echo "ok: $name"; return; fi
  [ "$code" -ne 124 ] && [ "$code" -ne 137 ] || echo "stopped after $CASE_SECONDS s" >>"$log"
  echo "FAILED with code $code: $name: $(grep -m1 '^TEST CASE' "$log" || tail -n 1 "$log")"
}
export -f case_of_test

# Every test program of the pack or build: one, or one for each source.
test_programs() {
  if [ -x "$from/tests/device_tests" ]; then echo "$from/tests/device_tests"; return; fi
  local source
  for source in $(sort "$from/tests/device_tests.txt" 2>/dev/null); do
    [ ! -x "$from/tests/$(basename "$source" .cpp)" ] || echo "$from/tests/$(basename "$source" .cpp)"
  done
}

part_tests() {
  local program count jobs ok failed not_run
  jobs=$(for program in $(test_programs); do
    count=$("$program" --count ${SINK_CHECK_TESTS:+"--source-file=$SINK_CHECK_TESTS"} 2>/dev/null | sed -n 's/.*current filters: \([0-9]*\).*/\1/p')
    seq -f "$program %.0f" 1 "${count:-0}"
  done)
  [ -n "$jobs" ] || { fail_part "no tests in $from/tests"; return 1; }
  CASES_END=$(($(date +%s) + $(left) - 15)) CASES_FOLDER=$(mktemp -d "$folder/cases.XXXXXX") CASE_SECONDS=${SINK_CHECK_CASE_SECONDS:-60}
  export CASES_END CASES_FOLDER CASE_SECONDS
  attempt "$(wc -l <<<"$jobs") test cases" 3600 bash -c 'printf "%s\n" "$1" | xargs -P 8 -n 2 bash -c "case_of_test \$0 \$1"' _ "$jobs" \
    >"$CASES_FOLDER/cases.txt"
  ok=$(grep -c '^ok: ' "$CASES_FOLDER/cases.txt") failed=$(grep -c '^FAILED' "$CASES_FOLDER/cases.txt")
  not_run=$(grep -c '^not run' "$CASES_FOLDER/cases.txt")
  grep '^FAILED\|^check:' "$CASES_FOLDER/cases.txt"
  say "$ok cases passed, $failed failed, $not_run not run"
  [ "$failed" -eq 0 ] && [ "$not_run" -eq 0 ] || failures=$((failures + 1))
}

bench_ours() { attempt "ours, $1" 60 "$from/bench_step" --precision bf16 --device cuda "${@:2}" > >(tee -a "$folder/bench.jsonl"); }
part_bench() {
  local ablation model=(--model 60m --batch 16 --seconds 4)
  need bench_step || return 1
  ! small || model=(--layers 1 --heads 2 --d-model 32 --feed-forward 32 --vocabulary 64 --context 32 --batch 1 --seconds 0)
  for ablation in ${1:-baseline op_sigmoid_none}; do
    bench_ours "$ablation" "${model[@]}" --ablation "$ablation"
  done
  bench_ours "launched kernel by kernel" "${model[@]}" --ablation baseline --graph off
  small || bench_ours "1.1B, 8 sequences" --model 60m --layers 22 --heads 32 --d-model 2048 --feed-forward 5632 --batch 8 --seconds 4 --ablation baseline
  if [[ $device = *emulated* ]]; then say "the emulated device: PyTorch is not timed"; return 0; fi
  [ -f "$peer" ] || { say "torch_baseline.py is not here: ours alone"; return 0; }
  python3 -c 'import torch' 2>/dev/null || { say "python3 has no PyTorch here: ours alone"; return 0; }
  attempt PyTorch $(($(left) - 40)) python3 "$peer" --model 60m --micro 16 --rounds 1 --attn sdpa-cudnn,flex-sigmoid > >(tee -a "$folder/bench.jsonl")
  bench_ours "baseline again" "${model[@]}" --ablation baseline
  local profiler
  profiler=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2>/dev/null)
  if [ -z "$profiler" ]; then say "no ncu here: no times of a step's kernels"; return 0; fi
  attempt "a profile of steps" 60 "$profiler" --clock-control none --metrics gpu__time_duration.sum --csv --page raw \
    --launch-count 2000 --log-file "$folder/step.csv" "$from/bench_step" --precision bf16 --device cuda "${model[@]:0:4}" --seconds 0 --ablation baseline --graph off &&
    python3 "$source/tools/gpu/kernels/step_times.py" "$folder/step.csv"
}

# Softmax, then sigmoid attention, then softmax with key biases. By default five passes over the text, which 46 MiB of a pack make
# 5,000 steps of 8 sequences: two minutes each on an H200. The rate is 2.5 times the paper's, as the steps are a quarter.
part_sink() {
  local runs batch=${SINK_CHECK_BATCH:-8} passes=${SINK_CHECK_PASSES:-5} steps=20000 flags ablation programs=() n=0 code limit
  need train_baseline || return 1
  [ -s "$text/tokens.h5" ] || { fail_part "no tokens of a text in ${text:-$from/text or build/gpu}; tools/gpu/pack.sh makes them"; return 1; }
  [ ! -f "$text/TRAIN_TOKENS" ] || steps=$(($(cat "$text/TRAIN_TOKENS") * passes / (batch * 2048)))
  flags=(--layers 10 --heads 8 --d-model 768 --feed-forward 1536 --context 2048 --batch "$batch" --precision bf16
    --learning-rate 0.001 --warmup 100 --steps "$steps" --eval-every 400 --eval-sequences 16 --checkpoint-every 1000000)
  ! small || flags=(--layers 1 --heads 2 --d-model 32 --feed-forward 32 --context 32 --batch 1 --steps 4 --eval-every 2
    --eval-sequences 4 --warmup 1)
  say "$steps steps of $batch sequences$([ ! -f "$text/TRAIN_TOKENS" ] || echo ": $passes passes over the text")"
  runs=$(mktemp -d "$folder/runs.XXXXXX")
  for ablation in baseline op_sigmoid_none bias_k; do [ ! -x "$from/train_$ablation" ] || programs+=("$ablation"); done
  for ablation in "${programs[@]}"; do
    code=0
    limit=$(($(left) / (${#programs[@]} - n) - 20))  # SIGINT at its end saves the run
    n=$((n + 1))
    attempt "$ablation" "$limit" "$from/train_$ablation" --device cuda --data "$text" --run "$runs/$ablation" "${flags[@]}" "$@" \
      >>"$runs/$ablation.txt" || code=$?
    head -n 3 "$runs/$ablation.txt"
    tail -n 4 "$runs/$ablation.txt"
    if [ "$code" -eq 124 ] && [ -s "$runs/$ablation/metrics.jsonl" ]; then
      say "the time was over before the text was; what was trained counts"
      failures=$((failures - 1))
    fi
    # As in the paper: the first 64 tokens of 100 sequences. During training the sequences are as long as the context.
    [ ! -f "$runs/$ablation/checkpoint.h5" ] || [ ! -x "$from/eval_$ablation" ] ||
      attempt "Sink_1 of $ablation in 64 tokens" 30 "$from/eval_$ablation" sink "$runs/$ablation" --data "$text" --device cuda --precision bf16 \
        --epsilon 0.2,0.3,0.4 --map none --out "$runs/$ablation.json" >"$runs/$ablation.sink.txt"
  done
  python3 - "$runs" "${programs[@]}" <<'PYTHON' || { say "FAILED: no table of Sink_1"; failures=$((failures + 1)); }
import json, pathlib, sys
runs = {}
for name in sys.argv[2:]:
    lines = [json.loads(line) for line in (pathlib.Path(sys.argv[1]) / name / "metrics.jsonl").read_text().splitlines()]
    runs[name] = {line["step"]: line for line in lines if "sink_1" in line}
    speeds = sorted(line["tokens_per_second"] for line in lines if "tokens_per_second" in line)
    print(f"{name}: {lines[-1]['step']} steps, median {speeds[len(speeds) // 2]:.0f} tokens/s")
for name in runs:
    measured = pathlib.Path(sys.argv[1]) / f"{name}.json"
    if measured.exists():
        m = json.loads(measured.read_text())
        print(f"{name}, {m['sequences']} sequences of {m['context']} tokens: Sink_1 {m['sink_k'][0]:.2f} %, raw {m['sink_k_raw'][0]:.2f} %, "
              f"alpha_1 {m['alpha_1']:.4f}, raw {m['alpha_1_raw']:.4f}" +
              (f"; Sink_* {m['sink_star'][m['sink_epsilon'].index(0.3)]:.2f} %, alpha_* {m['alpha_star']:.4f}" if "sink_star" in m else ""))
print(f"Sink_1 in percent, proxy and raw, and the validation loss\n{'step':>7}" + "".join(f"{name:>28}" for name in runs))
for step in sorted(set().union(*runs.values())):
    cells = ["{sink_1:6.2f} {sink_1_raw:6.2f}  {val_loss:.4f}".format(**of[step]) if step in of else "" for of in runs.values()]
    print(f"{step:7}" + "".join(f"{cell:>28}" for cell in cells))
sys.exit(0 if runs and all(runs.values()) else 1)
PYTHON
}

# As many runs at once as there are cores. Their kernels run side by side where the driver has its Multi-Process Service; otherwise the
# processes get the GPU in turn, which takes three times as long. Called again, it trains what is missing. The runs stay in $work.
part_study() {
  local names=${1:-} name runs command
  need sweep || return 1
  for name in ${names//,/ }; do
    [ -f "$from/studies/$name.toml" ] || { fail_part "no study '$name' in $from/studies"; return 1; }
  done
  if [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ] && [[ $device != *emulated* ]] && command -v nvidia-cuda-mps-control >/dev/null; then
    mps=$(mktemp -d "$work/mps.XXXXXX")
    export CUDA_MPS_PIPE_DIRECTORY=$mps CUDA_MPS_LOG_DIRECTORY=$mps
    nvidia-cuda-mps-control -d || { say "the Multi-Process Service does not start: studies will take longer"; unset CUDA_MPS_PIPE_DIRECTORY; mps=""; }
  fi
  for name in ${names//,/ }; do
    runs=$work/studies/$name
    command=(env -C "$from/studies" "$from/sweep" "$name.toml" --data data/english --set device=cuda --out "$runs" "${@:2}")
    [ ! -d "$from/studies/data/chat" ] || command+=(--chat data/chat)
    [ ! -f "$from/studies/results/$name-runs.csv" ] || command+=(--earlier "results/$name-runs.csv")
    attempt "$name" 3600 "${command[@]}" --workers "${SINK_CHECK_WORKERS:-$(nproc)}" --threads 1 >>"$folder/$name.txt"
    tail -n 5 "$folder/$name.txt"
    "${command[@]}" --collect >/dev/null 2>&1  # what is complete, if the time was over
    cp "$runs/$name-runs.csv" "$folder"
  done
  stop_mps
}

# Rank for rank the same bytes as one GPU, and what each takes.
part_ranks() {
  local gpus runs zero run program
  for program in $(test_programs); do
    attempt "collectives" 200 "$program" --source-file='*device_ranks_cuda_test.cpp' --minimal=true
  done
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU') || true
  # nvidia-smi also lists GPUs that programs do not see.
  [ -z "${CUDA_VISIBLE_DEVICES:-}" ] || gpus=$(tr , '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .) || true
  if [ "$gpus" -lt 2 ]; then say "$gpus GPU: runs of several ranks need more, and are not tried"; return 0; fi
  if ! command -v mpirun >/dev/null; then say "no mpirun, which starts ranks: runs of several ranks are not tried"; return 0; fi
  runs=$(mktemp -d "$folder/run.XXXXXX")
  run=("$from/train_baseline" --device cuda --task bigram-backcopy --layers 10 --heads 8 --d-model 768 --feed-forward 1536
    --context 2048 --batch 4 --accumulate $((2 * gpus)) --precision bf16 --steps 40 --warmup 10 --eval-sequences 4 "$@")
  attempt "one GPU" 120 "${run[@]}" --run "$runs/one"
  for zero in 0 1; do
    attempt "$gpus GPUs, --zero $zero" 120 "${run[@]}" --nproc "$gpus" --zero "$zero" --run "$runs/zero_$zero" &&
      attempt "the bytes of one GPU" 20 cmp "$runs/one/checkpoint.h5" "$runs/zero_$zero/checkpoint.h5"
  done
}

part_sanitizer() {
  local sanitizer program tool=${1:-memcheck}
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  [ -x "$sanitizer" ] || { fail_part "compute-sanitizer is not on this machine"; return 1; }
  for program in $(test_programs); do  # without training, which takes minutes
    attempt "$tool $(basename "$program")" 500 "$sanitizer" --tool "$tool" --error-exitcode 1 "$program" --minimal=true \
      --source-file-exclude='*training_cuda_test.cpp'
  done
}

run_part() {  # run_part PART ARGUMENTS...
  local part=$1 code=0
  shift
  failures=0
  folder=$results/$part
  mkdir -p "$folder"
  deadline=$((SECONDS + $(seconds_of "$part")))
  echo "==== $part, $(date -u '+%F %T') UTC, $(uname -n), minute $(awk -v s="$SECONDS" 'BEGIN {printf "%.1f", s / 60}')"
  "part_$part" "$@" || code=$?
  [ "$code" -ne 7 ] || [ "$part" != probe ] || return 7  # a failed self-test ends with 7, too
  [ "$code" -eq 0 ] || [ "$failures" -gt 0 ] || failures=1
  say "$part: $([ "$failures" -eq 0 ] && echo 'all is well' || echo "$failures failed or not done") ($((SECONDS - deadline + $(seconds_of "$part"))) s)"
  [ "$failures" -eq 0 ]
}

print_plan $chosen
if [[ $chosen != probe* ]]; then  # the others want to know the device
  device=$("$from/selftest" --probe 2>&1 | sed -n 's/^kernels  *//p')
  if [ -z "$device" ]; then
    "$from/selftest" --probe
    say "NOTHING was run: no kernel runs on a device here"
    exit 7
  fi
fi
worst=0
for part in $chosen; do
  code=0
  exec 3>&1
  # Its output as it comes, and in the part's log; in this shell, as the probe sets `device`.
  mkdir -p "$results/$part"
  exec > >(tee -a "$results/$part/log.txt") 2>&1
  logger=$!
  run_part "$part" "$@" || code=$?
  exec 1>&3 2>&1 3>&-
  wait "$logger" 2>/dev/null
  echo "$(date -u '+%F %T') $part code $code" | tee -a "$results/summary.txt" "$out/summary.txt" >/dev/null
  tar_results
  [ "$code" -eq 0 ] || worst=1
  if [ "$code" -eq 7 ]; then
    say "NOTHING else was run: no kernel runs on a device here (above)"
    exit 7
  fi
done
exit "$worst"
