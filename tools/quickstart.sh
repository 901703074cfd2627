#!/usr/bin/env bash
# From a machine with nothing installed to a measured attention sink: builds, trains language models that differ in
# nothing but the attention operation, and writes a report.
#   bash tools/quickstart.sh            the synthetic task and real English text, at most 12 minutes on two cores
#   bash tools/quickstart.sh --fast     the synthetic task alone, under 2 minutes after the build
#   bash tools/quickstart.sh --fresh    train again what an earlier call has trained
# Killed at any moment, the next call goes on where it was.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,7s/^# \{0,1\}//p' "$0"; }
fast=0 fresh=0
for argument in "$@"; do
  case "$argument" in
    --fast) fast=1 ;;
    --fresh) fresh=1 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "quickstart: error: unknown argument '$argument'" >&2; usage >&2; exit 2 ;;
  esac
done
say() { echo "quickstart: $*" >&2; }
out=runs/quickstart
build=build/release
[ "$fresh" -eq 0 ] || rm -rf "$out"

bash tools/setup.sh >&2

say "building (first time: about two minutes)"
cmake --preset release >/dev/null
cmake --build --preset release --target train_pos_learnable train_pos_learnable_sigmoid train_pos_learnable_relu prepare report >/dev/null

# One run: train <name> <ablation> <settings...>. A run that is complete already takes a moment.
train() {
  local name=$1 ablation=$2
  shift 2
  say "$name"
  "$build/train_$ablation" --run "$out/$name" --resume auto "$@" >/dev/null
}

# Bigram-Backcopy: the smallest world with a sink.
bigram=(--task bigram-backcopy --layers 1 --heads 1 --width 64 --feed-forward 256 --context 64 --batch 32
  --learning-rate 4e-3 --warmup 0 --beta2 0.999 --weight-decay 0.01 --clip 0 --steps 8000 --eval-every 100
  --checkpoint-every 2000 --log-every 2000)
train bigram-softmax pos_learnable "${bigram[@]}"
train bigram-sigmoid pos_learnable_sigmoid "${bigram[@]}"
train bigram-relu pos_learnable_relu "${bigram[@]}"

# Real English text.
if [ "$fast" -eq 0 ]; then
  data=data/english
  if [ ! -f "$data/tokens.h5" ]; then
    bash tools/corpus/make_text.sh data/text
    "$build/prepare" --text data/text/*.txt --out "$data"
  fi
  text=(--task text --data "$data" --config tools/quickstart_text.toml)
  train text-softmax pos_learnable "${text[@]}"
  train text-sigmoid pos_learnable_sigmoid "${text[@]}"
  train text-relu pos_learnable_relu "${text[@]}"
fi

runs=("$out"/bigram-softmax "$out"/bigram-sigmoid "$out"/bigram-relu)
[ "$fast" -eq 1 ] || runs+=("$out"/text-softmax "$out"/text-sigmoid "$out"/text-relu)
"$build/report" --title "When does attention sink?" --out "$out/report.html" --csv "$out/results.csv" "${runs[@]}"
