#!/usr/bin/env bash
# What only a GPU can show, in parts of at most 9 minutes; their results are appended to one file each.
#   bash check.sh                    all parts, in this order
#   bash check.sh conformance        every instruction that kernels use, against tables and arithmetic (selftest)
#   bash check.sh tests              every test of an operation on the device, and of training
#   bash check.sh ranks              collectives by NCCL; a run on one GPU and on all of this host, byte for byte
#   bash check.sh sanitizer [TOOL]   small tests under compute-sanitizer: memcheck, or racecheck, synccheck, initcheck
#   bash check.sh bench [ABLATION]   training steps of the 60M model, ours and PyTorch's in turn
#   bash check.sh kernels [OP]       attention kernels, ours and PyTorch's in turn
#   bash check.sh sink [FLAGS]       trains 60M on English text with softmax and with sigmoid; Sink_1 over steps
# It runs the programs that tools/gpu/pack.sh has packed beside it, or those in build/cuda, or --from FOLDER (a build).
# Results: $OUT, or runs/gpu. Exit codes: 0 all is well, 1 something failed, 2 wrong use, 7 there is no GPU to run on.
set -uo pipefail
parts=(conformance tests ranks sanitizer bench kernels sink)
seconds=${SINK_CHECK_SECONDS:-510}  # of a part

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
say() { echo "check: $*"; }
die() { echo "check: error: $*" >&2; exit 2; }

from=""
if [ "${1:-}" = --from ]; then
  from=${2:?check.sh: --from FOLDER}
  shift 2
elif [ -f "$here/sinklab_gpu.tar.xz" ]; then
  from=${TMPDIR:-/tmp}/sinklab_gpu_$(cksum <"$here/sinklab_gpu.tar.xz" | cut -d' ' -f1)
  if [ ! -f "$from/PACK" ]; then
    rm -rf "$from" "$from.new"
    mkdir -p "$from.new" || die "cannot write into $(dirname "$from")"
    tar -C "$from.new" -xf "$here/sinklab_gpu.tar.xz" 2>/dev/null ||  # where tar knows no xz, Python does
      python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' \
        "$here/sinklab_gpu.tar.xz" "$from.new" || die "cannot unpack $here/sinklab_gpu.tar.xz"
    mv "$from.new" "$from"
  fi
else
  from=build/cuda
fi
[ -x "$from/train_baseline" ] || die "no train_baseline in $from: build it (cmake --preset cuda), or make a pack (tools/gpu/pack.sh)"
from=$(cd "$from" && pwd)
text=$from/text
[ -d "$text" ] || text=$from/../gpu/text_tokens
peer=$from/torch_baseline.py
[ -f "$peer" ] || peer=$here/../../../shared/peers/torch_baseline.py
results=${OUT:-runs/gpu}
mkdir -p "$results" || die "cannot write into $results"

# Where the machine keeps cudart, cublasLt and NCCL somewhere of its own: PyTorch comes with the last.
of_python=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null)
for library in $(ldd "$from/train_baseline" | awk '/not found/ {print $1}'); do
  found=$(find /usr/local /opt $of_python -name "$library" -print -quit 2>/dev/null)
  [ -n "$found" ] || say "$library is nowhere in /usr/local, /opt and python3's packages: programs will not start"
  [ -z "$found" ] || LD_LIBRARY_PATH=$(dirname "$found"):${LD_LIBRARY_PATH:-}
done
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}

failures=0
deadline=0
left() { echo $((deadline - SECONDS)); }

# attempt WHAT LIMIT COMMAND...: within LIMIT seconds and what is left of the part; its output, a line of how it ended.
attempt() {
  local what=$1 limit=$2 began=$SECONDS code=0
  shift 2
  if [ "$(left)" -lt 5 ]; then say "not run, as the part's time is over: $what"; failures=$((failures + 1)); return 1; fi
  [ "$limit" -le "$(left)" ] || limit=$(left)
  timeout --signal=INT --kill-after=20 "$limit" "$@" 2>&1 </dev/null || code=$?
  case $code in
    0) say "ok: $what ($((SECONDS - began)) s)" ;;
    124 | 137) say "STOPPED after $limit s: $what"; failures=$((failures + 1)) ;;
    *) say "FAILED with code $code: $what"; failures=$((failures + 1)) ;;
  esac
  return "$code"
}

# Whether the programs find a GPU: one step of a tiny model.
gpu_is_there() {
  local folder code=0
  folder=$(mktemp -d)
  "$from/train_baseline" --device cuda --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 16 --batch 1 \
    --steps 1 --warmup 1 --eval-sequences 1 --run "$folder/run" >"$folder/log" 2>&1 || code=$?
  if [ "$code" -eq 0 ]; then grep '^on ' "$folder/log"; else sed 's/^/  /' "$folder/log"; fi
  rm -rf "$folder"
  return "$code"
}

with_torch() {
  if [ ! -f "$peer" ]; then say "torch_baseline.py is not here: ours alone"; return 1; fi
  python3 -c 'import torch' 2>/dev/null || { say "python3 has no PyTorch here: ours alone"; return 1; }
}

part_conformance() {
  if [ -x "$from/selftest" ]; then attempt selftest 120 "$from/selftest" "$@"; else say "not done: there is no program selftest in $from"; return 1; fi
}

part_tests() {
  local found=0 test
  for test in "$from"/tests/*_cuda_test; do
    [ -x "$test" ] || continue
    found=1
    attempt "$(basename "$test")" 240 "$test" --minimal=true
  done
  [ "$found" -eq 1 ] || { say "not done: no tests in $from/tests"; return 1; }
}

# Rank for rank the same bytes as one GPU, and what each takes.
part_ranks() {
  local gpus folder zero
  attempt device_ranks_cuda_test 200 "$from/tests/device_ranks_cuda_test"
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU') || true
  if [ "$gpus" -lt 2 ]; then say "$gpus GPU: runs of several ranks need more, and are not tried"; return 0; fi
  if ! command -v mpirun >/dev/null; then say "no mpirun, which starts ranks: runs of several ranks are not tried"; return 0; fi
  folder=$(mktemp -d)
  local run=("$from/train_baseline" --device cuda --task bigram-backcopy --layers 10 --heads 8 --width 768 --feed-forward 1536
    --context 2048 --batch 4 --accumulate $((2 * gpus)) --precision bf16 --steps 40 --warmup 10 --eval-sequences 4 "$@")
  attempt "one GPU" 120 "${run[@]}" --run "$folder/one"
  for zero in 0 1; do
    attempt "$gpus GPUs, --zero $zero" 120 "${run[@]}" --nproc "$gpus" --zero "$zero" --run "$folder/zero_$zero" &&
      attempt "the bytes of one GPU" 20 cmp "$folder/one/checkpoint.h5" "$folder/zero_$zero/checkpoint.h5"
  done
  rm -rf "$folder"
}

part_sanitizer() {
  local sanitizer test name tool=${1:-memcheck}
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  [ -x "$sanitizer" ] || { say "not done: compute-sanitizer is not on this machine"; return 1; }
  for test in "$from"/tests/*_cuda_test; do
    name=$(basename "$test")
    [ "$name" != training_cuda_test ] || continue  # every ablation, for minutes
    attempt "$tool $name" 120 "$sanitizer" --tool "$tool" --error-exitcode 1 "$test" --minimal=true
  done
}

# Three rounds, each of them ours and then the peers.
part_bench() {
  local round torch=1 ablation
  with_torch || torch=0
  for round in 1 2 3; do
    say "round $round"
    for ablation in ${1:-baseline op_sigmoid_none}; do
      attempt "ours, $ablation" 90 "$from/bench_step" --model 60m --batch 16 --precision bf16 --device cuda --seconds 5 \
        --ablation "$ablation"
    done
    attempt "ours, launched kernel by kernel" 90 "$from/bench_step" --model 60m --batch 16 --precision bf16 --device cuda \
      --seconds 5 --graph off
    [ "$torch" -eq 0 ] || attempt "PyTorch" 180 python3 "$peer" --model 60m --micro 16 --rounds 1 --attn sdpa-cudnn,flex-sigmoid
  done
}

# bench_attention's operations and who computes the same with PyTorch; ours before and after.
part_kernels() {
  local torch=1 op peers shapes=(16x8x2048x96 8x16x2048x128) shape
  with_torch || torch=0
  while IFS='=' read -r op peers; do
    [ -z "${1:-}" ] || [ "$1" = "$op" ] || continue
    for shape in "${shapes[@]}"; do
      attempt "ours, $op" 60 "$from/bench_attention" ${shape//x/ } --dtype bf16 --device cuda --op "$op"
    done
    [ "$torch" -eq 0 ] || attempt "PyTorch, $peers" 150 python3 "$peer" --kernels --shapes "$(IFS=,; echo "${shapes[*]}")" --attn "$peers"
    for shape in "${shapes[@]}"; do
      attempt "ours again, $op" 60 "$from/bench_attention" ${shape//x/ } --dtype bf16 --device cuda --op "$op"
    done
  done <<'PEERS'
Softmax=sdpa-cudnn,sdpa-flash,flex-causal
Sigmoid=flex-sigmoid,eager-sigmoid
SigmoidNorm=flex-sigmoidnorm
EluNorm=flex-elunorm
LinearMaxAbs=eager-linearnorm
PEERS
  [ -z "${1:-}" ] || [ "$1" = Softmax ] || return 0
  for shape in "${shapes[@]}"; do
    attempt "ours, Softmax with a window of 128" 60 "$from/bench_attention" ${shape//x/ } --dtype bf16 --device cuda --op Softmax --window 128
  done
}

part_sink() {
  [ -s "$text/tokens.h5" ] || { say "not done: no tokens of a text in $text; tools/gpu/pack.sh makes them"; return 1; }
  local folder ablation code each=$(((seconds - 30) / 2))
  folder=$(mktemp -d)
  for ablation in baseline op_sigmoid_none; do
    code=0  # as many steps as there is time for: SIGINT saves and leaves, with 128 + 2
    timeout --preserve-status --signal=INT --kill-after=30 "$each" env SINKLAB_LAYERS=10 SINKLAB_HEADS=8 SINKLAB_WIDTH=768 \
      SINKLAB_FEED_FORWARD=1536 SINKLAB_CONTEXT=2048 SINKLAB_BATCH=16 SINKLAB_PRECISION=bf16 SINKLAB_DEVICE=cuda \
      SINKLAB_LEARNING_RATE=0.0004 SINKLAB_WARMUP=100 SINKLAB_STEPS=20000 SINKLAB_EVAL_EVERY=50 SINKLAB_EVAL_SEQUENCES=16 \
      SINKLAB_CHECKPOINT_EVERY=20000 "$from/train_$ablation" --data "$text" --run "$folder/$ablation" "$@" 2>&1 |
      tail -n 4 || code=$?
    case $code in
      0 | 130) say "ok: trained $ablation" ;;
      *) say "FAILED with code $code: train_$ablation"; failures=$((failures + 1)) ;;
    esac
  done
  python3 - "$folder" <<'PYTHON' || { say "FAILED: no table of Sink_1"; failures=$((failures + 1)); }
import json, pathlib, sys
runs = {}
for name in ("baseline", "op_sigmoid_none"):
    lines = [json.loads(line) for line in (pathlib.Path(sys.argv[1]) / name / "metrics.jsonl").read_text().splitlines()]
    runs[name] = {line["step"]: line for line in lines if "sink_1" in line}
    speeds = sorted(line["tokens_per_second"] for line in lines if "tokens_per_second" in line)
    print(f"{name}: {len(lines)} steps, median {speeds[len(speeds) // 2]:.0f} tokens/s" if speeds else name)
print(f"Sink_1 in percent, proxy and raw, and the validation loss\n{'step':>7}" + "".join(f"{name:>28}" for name in runs))
for step in sorted(set().union(*runs.values())):
    cells = ["{sink_1:6.2f} {sink_1_raw:6.2f}  {val_loss:.4f}".format(**of[step]) if step in of else "" for of in runs.values()]
    print(f"{step:7}" + "".join(f"{cell:>28}" for cell in cells))
PYTHON
  rm -rf "$folder"
}

run_part() {
  local part=$1
  shift
  failures=0
  deadline=$((SECONDS + seconds))
  echo "==== $part, $(date -u '+%F %T') UTC, $(uname -n)"
  "$from/train_baseline" --version | grep commit
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,memory.total --format=csv,noheader 2>/dev/null || say "no nvidia-smi here"
  local code=0
  gpu_is_there || code=$?
  if [ "$code" -ne 0 ]; then
    say "$part: NOTHING was run: the programs do not run on a GPU here (code $code, above)"
    return "$code"
  fi
  "part_$part" "$@" || failures=$((failures + ($? != 0)))
  say "$part: $([ "$failures" -eq 0 ] && echo 'all is well' || echo "$failures things failed or were not done")"
  [ "$failures" -eq 0 ]
}

chosen=("${parts[@]}")
if [ $# -gt 0 ]; then
  [[ " ${parts[*]} " = *" $1 "* ]] || die "unknown part '$1' (expected one of: ${parts[*]})"
  chosen=("$1")
  shift
fi
worst=0
for part in "${chosen[@]}"; do
  code=0
  run_part "$part" "$@" 2>&1 | tee -a "$results/$part.txt" || code=$?
  echo "$(date -u '+%F %T') $part code $code" >>"$results/summary.txt"
  [ "$code" -eq 0 ] || [ "$worst" -eq 1 ] || worst=$([ "$code" -eq 7 ] && echo 7 || echo 1)
done
exit "$worst"
