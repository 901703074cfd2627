#!/usr/bin/env bash
# The job script of tools/launch on a real Slurm of two nodes: a run that is told to stop, loses a rank, is queued again
# each time, and ends with the bits of one process.
#   slurm_test.sh build/release/train_pos_learnable
# Skips (77) without root, slurmctld, slurmd and munged.
set -euo pipefail
program=$(realpath "$1")
[ -x "$program" ] || { echo "there is no program $1"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
name=$(basename "$program")
cat >"$folder/tiny.toml" <<'TOML'
task = "bigram-backcopy"
layers = 2
heads = 2
width = 64
feed-forward = 64
context = 64
batch = 4
accumulate = 2
steps = 2500
warmup = 0
eval-sequences = 4
eval-every = 1000
checkpoint-every = 100
threads = 1
TOML
run=$folder/run
cat >"$folder/trouble.sh" <<'TROUBLE'
reached() { for _ in $(seq 600); do [ -e "$1/metrics.jsonl" ] && [ "$(wc -l <"$1/metrics.jsonl")" -ge "$2" ] && return; sleep 0.05; done; }
# Slurm lets two minutes go by before it starts a job again; in the same second it would refuse to: "credential revoked".
start_again() {
  for _ in $(seq 200); do [ "$(squeue --noheader --format=%T)" = PENDING ] && break; sleep 0.1; done
  sleep 2.5
  scontrol update JobId=1 StartTime=now
}
reached "$1" 300
echo "trouble: SIGTERM at step $(wc -l <"$1/metrics.jsonl")"
scancel --signal=TERM 1.0                            # preempted, or its time is over: both ranks save
start_again
reached "$1" 1200
echo "trouble: SIGKILL at step $(wc -l <"$1/metrics.jsonl")"
pgrep -f "^[^ ]*/train_[a-z_]* .*--run $1 " | tail -n 1 | xargs kill -KILL  # one rank is lost
start_again
TROUBLE
export SINKLAB_BUILD=$(dirname "$program")
code=0
SINKLAB_NO_COLOR=1 bash tools/launch/try_slurm.sh --meanwhile "bash $folder/trouble.sh $run" --nodes=2 --ntasks-per-node=1 \
  --cpus-per-task=1 tools/launch/train_8gpus.sbatch "${name#train_}" "$folder/tiny.toml" none "$run" --device cpu \
  >"$folder/said" 2>&1 || code=$?
[ $code -ne 77 ] || { cat "$folder/said"; exit 77; }
"$program" --config "$folder/tiny.toml" --run "$folder/one" >/dev/null 2>&1
times=$(grep -c "queued again" "$folder/said" || true)
if [ $code -ne 0 ] || [ "$times" -ne 2 ] || ! cmp -s "$run/checkpoint.h5" "$folder/one/checkpoint.h5"; then
  grep -v "^step" "$folder/said" | tail -n 60
  echo "FAILED: code $code, queued again $times times; wanted 0, 2 and the bits of one process"
  exit 1
fi
grep "trouble: \|queued again\|resuming from\| is lost\|is complete" "$folder/said"
echo "Slurm: told to stop, then a rank lost; the run is that of one process"
