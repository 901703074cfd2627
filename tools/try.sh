#!/usr/bin/env bash
# Does your attention sink? Builds every ablation of a file, checks its attention operation, trains it and softmax from
# the same weights on the same batches, and prints one table.
#   bash tools/try.sh my_attention.h             the synthetic task: under a minute on two idle cores for one ablation
#   bash tools/try.sh --text my_attention.h      English text of quickstart.sh, which prepares it (data/english): some
#                                                three minutes
#   --device cuda       trains on a GPU; --device emulated also checks the CUDA kernels, without a GPU (cpu)
#   --steps N   training steps (4000; on text 1000)       --seeds N   seeds of each, 2 or more for a verdict (2)
# The file is one of model/ADD_AN_ABLATION.md. The first call also builds the engine, in some two minutes. Runs are in
# build/try/runs, which the next call replaces.
set -euo pipefail
text=0 steps="" seeds=2 file="" device=cpu
usage() { sed -n '2,11s/^# \{0,1\}//p' "$0"; }
leave() { echo "try: error: $2" >&2; exit "$1"; }
while [ $# -gt 0 ]; do
  case "$1" in
    --text) text=1 ;;
    --steps | --seeds)
      [[ ${2:-} =~ ^[1-9][0-9]{0,6}$ ]] || leave 2 "$1 expects a number of at least 1, got '${2:-}'"
      if [ "$1" = --steps ]; then steps=$2; else seeds=$2; fi
      shift ;;
    --device)
      [[ ${2:-} =~ ^(cpu|cuda|emulated)$ ]] || leave 2 "--device expects cpu, cuda or emulated, got '${2:-}'"
      device=$2
      shift ;;
    -h | --help) usage; exit 0 ;;
    -*) leave 2 "unknown argument '$1' (bash tools/try.sh --help)" ;;
    *) [ -z "$file" ] || leave 2 "one file at a time, got '$file' and '$1'"; file=$1 ;;
  esac
  shift
done
[ -n "$file" ] || { usage >&2; leave 2 "give a file with an ablation"; }
[ -f "$file" ] || leave 3 "there is no file $file"
[ -n "$steps" ] || steps=$((text ? 1000 : 4000))
file=$(cd "$(dirname "$file")" && pwd)/$(basename "$file")
cd "$(dirname "$0")/.."
[ "$text" -eq 0 ] || [ -f data/english/tokens.h5 ] ||
  leave 3 "there is no data/english: bash tools/quickstart.sh prepares it (or build/quickstart/prepare)"
declare -A builds=([cpu]=build/try [cuda]=build/try_cuda [emulated]=build/try_emulated)
declare -A kernels=([cpu]=OFF [cuda]=ON [emulated]=EMULATED)
build=${builds[$device]}
mkdir -p $build
exec 9>>$build/.lock
flock -n 9 || leave 2 "another try is running in this checkout; wait until it ends"
log=$build/try.log
say() { echo "try: $((SECONDS / 60)):$(printf %02d $((SECONDS % 60))) $*" >&2; }

# quietly WHAT COMMAND...: its output is in the log; where it fails, the sentence of the first error is shown.
quietly() {
  local what=$1
  shift
  "$@" >"$log" 2>&1 9>&- && return
  grep -oE 'static assertion failed: .*' "$log" | head -n 1 | sed 's/^static assertion failed: /try: error: /' >&2 ||
    true
  if ! grep -q 'static assertion failed: ' "$log"; then
    grep -m 1 -A 3 -E '(error|Error)' "$log" >&2 || tail -n 5 "$log" >&2
  fi
  leave 1 "$what failed; all of its output: $PWD/$log"
}
[ -e $build/libsink_train.a ] || say "building the engine, once: some two minutes on two cores"
baseline=baseline  # what the ablations of a file derive from
quietly "the configuration" cmake --preset quickstart -B $build "-DSINK_ABLATIONS=$file" -DSINK_ABLATION_SET=$baseline \
  -DSINK_PROGRAMS=$baseline -DSINK_ATTENTION_SET=Softmax "-DSINK_CUDA=${kernels[$device]}"
mapfile -t names < <(grep -vxF $baseline $build/generated/ablations/names.txt)
targets=(--target "train_$baseline")
for name in "${names[@]}"; do targets+=(--target "train_$name" --target "check_$name"); done
say "compiling ${names[*]}"
quietly "the compilation" cmake --build $build "${targets[@]}"
say "checking"
wrong=0
for name in "${names[@]}"; do "$build/check_$name" 9>&- || wrong=1; done

# One thread each. A seed decides the weights and the batches, so runs of one seed have the same.
runs=$build/runs
rm -rf "$runs"
mkdir -p "$runs"
recipe=(--config tools/quickstart_bigram.toml --width 32)
[ "$text" -eq 0 ] || recipe=(--config tools/quickstart_text.toml --data data/english)
[ "$device" != cuda ] || recipe+=(--device cuda)
settings=${recipe[*]}
export build runs steps settings
train_one() {  # NAME SEED; what failed is read from its log
  "$build/train_$1" $settings --seed "$2" --steps "$steps" --threads 1 --eval-every "$steps" --checkpoint-every "$steps" \
    --run "$runs/$1-$2" >"$runs/$1-$2.log" 2>&1 9>&- || true
}
export -f train_one
say "training $baseline and ${names[*]}, $seeds seeds each, $steps steps"
for seed in $(seq "$seeds"); do
  for name in "$baseline" "${names[@]}"; do echo "$name" "$seed"; done
done | xargs -P "$(nproc)" -L 1 bash -c 'train_one "$@"' try

python3 -B tools/try_table.py "$runs" "$baseline" "$steps" "$seeds" "${names[@]}" || wrong=1
say "done; runs are in $runs"
exit $wrong
