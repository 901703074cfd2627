#!/usr/bin/env bash
# Installs a wheel in a new virtual environment and runs what it has: the module, a short training run, the report.
#   bash tools/wheel/check.sh WHEEL [MODEL]   MODEL, such as a GGUF file: also shows where the attention of a text goes
set -euo pipefail
[ $# -ge 1 ] && [ -f "$1" ] || { echo "check: error: expected a wheel: bash tools/wheel/check.sh WHEEL [MODEL]" >&2; exit 2; }
wheel=$(realpath "$1") model=${2:+$(realpath "$2")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
step() { echo "check: $SECONDS s: $*"; }
python3 -m venv env && . env/bin/activate
pip install -q --disable-pip-version-check "$wheel"
step "installed"
if [ -n "$model" ]; then
  sinklab "$model" --text "The first word of a sentence gets more attention than it deserves." >shown 2>log || { cat log; exit 1; }
  grep -m 1 alpha_1 shown
  step "sinklab shows a model"
fi
python - <<'PYTHON'
import sinklab

task = sinklab.BigramBackcopy(context=64)
model = sinklab.ablation("op_sigmoid_none", vocabulary=64, layers=1, heads=2, width=64, context=64, warmup=0)
print("check: loss", [round(model.train_step(*task.batch(step)).loss, 4) for step in range(3)])
PYTHON
step "the module trains"
settings="--task bigram-backcopy --batch 16 --layers 1 --heads 2 --d-model 64 --context 64 --steps 200"
{
  train_baseline $settings --run runs/softmax && train_op_sigmoid_none $settings --run runs/sigmoid &&
  eval_baseline sink runs/softmax/checkpoint.h5 && sinklab sink runs/sigmoid && report runs && ablations &&
  sweep bigram_backcopy --only baseline --seeds 0 --set steps=200 --workers 1 --threads 1
} >log 2>&1 || { cat log; exit 1; }
ls runs/report.html runs/bigram_backcopy/bigram_backcopy.md
step "programs train, measure, report and run a study"
