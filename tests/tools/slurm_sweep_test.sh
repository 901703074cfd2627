#!/usr/bin/env bash
# A study by tools/launch/sweep_array.sbatch on a real Slurm of two nodes: two jobs share its runs, one of them is
# killed and queued again, the other goes on, and the numbers are those of one sweep.
#   slurm_sweep_test.sh build/release/sweep
# Skips (77) without root, slurmctld, slurmd and munged.
set -euo pipefail
program=$(realpath "$1")
[ -x "$program" ] || { echo "there is no program $1"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/tiny.toml" <<'TOML'
name = "tiny"
question = "Who trains it?"
baseline = "baseline"
seeds = [0, 1, 2]
[settings]
task = "bigram-backcopy"
layers = 1
heads = 2
width = 32
feed-forward = 32
context = 64
batch = 4
steps = 1500
warmup = 0
eval-sequences = 4
eval-every = 500
checkpoint-every = 50
[[runs]]
ablation = ["baseline", "op_sigmoid_none"]
TOML
cat >"$folder/trouble.sh" <<'TROUBLE'
out=$1
for _ in $(seq 600); do [ "$(ls "$out"/*/checkpoint.h5 2>/dev/null | wc -l)" -ge 2 ] && break; sleep 0.05; done
pgrep -f "^[^ ]*/sweep .*--out $out" | head -n 1 | xargs kill -KILL
echo "trouble: SIGKILL with $(ls "$out"/*/evaluation.json 2>/dev/null | wc -l) of 6 runs complete"
# Slurm lets two minutes go by before it starts a job again; in the same second it would refuse to: "credential revoked".
for _ in $(seq 300); do
  again=$(squeue --noheader --states=PENDING --format=%A)
  [ -z "$again" ] || { sleep 2.5; for job in $again; do scontrol update JobId="$job" StartTime=now; done; break; }
  sleep 0.1
done
TROUBLE
out=$folder/out
export SINKLAB_BUILD=$(dirname "$program")
code=0
SINKLAB_NO_COLOR=1 bash tools/launch/try_slurm.sh --meanwhile "bash $folder/trouble.sh $out" --array=0-1 --cpus-per-task=1 \
  tools/launch/sweep_array.sbatch "$folder/tiny.toml" --threads 1 --workers 1 --out "$out" >"$folder/said" 2>&1 || code=$?
[ $code -ne 77 ] || { cat "$folder/said"; exit 77; }
"$program" "$folder/tiny.toml" --threads 1 --workers 2 --out "$folder/one" >/dev/null 2>&1
# Bytes of the parameters: dates and the time they took are elsewhere.
same=0
for run in baseline-0 baseline-1 baseline-2 op_sigmoid_none-0 op_sigmoid_none-1 op_sigmoid_none-2; do
  cmp -s "$out/$run/checkpoint.h5" "$folder/one/$run/checkpoint.h5" && same=$((same + 1))
done
times=$(grep -c "queued again" "$folder/said" || true)
once=$(grep -c ": loss .*; " "$folder/said" || true)
if [ $code -ne 0 ] || [ "$times" -ne 1 ] || [ $same -ne 6 ] || ! [ -s "$out/tiny.csv" ]; then
  tail -n 60 "$folder/said"
  echo "FAILED: code $code, queued again $times times, $same of 6 runs with the bits of one sweep; wanted 0, 1 and 6"
  exit 1
fi
grep "trouble: \|queued again\|taken over\|: loss " "$folder/said"
echo "Slurm: an array of two shared six runs, one job was killed; all have the bits of one sweep"
