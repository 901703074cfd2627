#!/usr/bin/env bash
# Every command of sinklab takes every model of tests/golden/open, as it is and imported to a checkpoint, and the checkpoint is exported.
# Every seventh model where the environment says SINK_SHORT_TESTS.
#   every_model_test.sh SINKLAB
set -uo pipefail
cd "$(dirname "$0")/../.."
sinklab=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "3 17 5 22 9 31 8 2 14 6 11 4" >"$work/ids"
failures=0 ran=0 models=0 every=${SINK_SHORT_TESTS:+7}

# run SINKLAB_ARGUMENT...
run() {
  ran=$((ran + 1))
  timeout 60 "$sinklab" "$@" >"$work/out" 2>"$work/err"
  local code=$?
  [ $code -ne 0 ] || return 0
  failures=$((failures + 1))
  [ $failures -gt 20 ] || echo "every_model_test: error: sinklab $*: exit code $code: $(grep -a -m 1 error "$work/err")" >&2
  return 1
}
# all_commands MODEL
all_commands() {
  run explain "$1" --tokens "$work/ids"
  for command in attention lens sink interventions quantise stream; do run $command "$1" --tokens "$work/ids" --threads 1; done
  run sink "$1" --input random --threads 1
  run view "$1" --tokens "$work/ids" --threads 1 --out "$work/page.html" --force
  run logits "$1" --tokens "$work/ids" --threads 1 --out "$work/logits.h5" --force
  run generate "$1" --tokens "$work/ids" --threads 1 --max-new-tokens 3
}

for model in tests/golden/open/models/*; do
  [ -f "$model" ] || [ -f "$model/config.json" ] || continue
  [ $((models++ % ${every:-1})) -eq 0 ] || continue
  all_commands "$model"
  rm -rf "$work/model.h5" "$work/exported"
  # Refused: a checkpoint has no place for factors of LongRoPE or YaRN by pairs, for lists of layers with a window, nor
  # for the order of heads in GGUF's gated delta rules.
  case ${model##*/} in
    longrope* | *_yarn* | cwm | gpt_neo | granite_swa | ministral | qwen3_5*.gguf)
      "$sinklab" import "$model" "$work/model.h5" 2>/dev/null && { echo "every_model_test: error: $model was imported" >&2; exit 1; }
      continue ;;
  esac
  run import "$model" "$work/model.h5" || continue
  all_commands "$work/model.h5"
  run export "$work/model.h5" "$work/exported"
done
[ "$ran" -gt $((900 / ${every:-1})) ] || { echo "every_model_test: error: only $ran commands ran" >&2; exit 1; }
echo "every_model_test: $ran commands, $failures failed"
[ "$failures" -eq 0 ]
