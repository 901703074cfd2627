#!/usr/bin/env bash
# A study by tools/launch/sweep_array.sbatch on a real Slurm of two nodes: an array of its six jobs, of which one is
# killed and queued again; the results, collected, are those of one sweep.
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
SINKLAB_NO_COLOR=1 bash tools/launch/try_slurm.sh --meanwhile "bash $folder/trouble.sh $out" --array=0-5 --cpus-per-task=1 \
  tools/launch/sweep_array.sbatch "$folder/tiny.toml" --out "$out" >"$folder/said" 2>&1 || code=$?
[ $code -ne 77 ] || { cat "$folder/said"; exit 77; }
"$program" "$folder/tiny.toml" --threads 1 --workers 2 --out "$folder/one" >/dev/null 2>&1
collected=0
"$program" "$folder/tiny.toml" --out "$out" --collect >/dev/null 2>"$folder/collected" || collected=$?
# Bytes of the parameters: dates and the time they took are elsewhere.
same=0
for run in baseline-0 baseline-1 baseline-2 op_sigmoid_none-0 op_sigmoid_none-1 op_sigmoid_none-2; do
  cmp -s "$out/$run/checkpoint.h5" "$folder/one/$run/checkpoint.h5" && same=$((same + 1))
done
times=$(grep -c "queued again" "$folder/said" || true)
if [ $code -ne 0 ] || [ $collected -ne 0 ] || [ "$times" -ne 1 ] || [ $same -ne 6 ] || ! cmp -s "$out/tiny.csv" "$folder/one/tiny.csv"; then
  tail -n 60 "$folder/said" "$folder/collected"
  echo "FAILED: code $code, --collect $collected, queued again $times times, $same of 6 runs with the bits of one sweep;" \
       "wanted 0, 0, 1, 6 and the table of one sweep"
  exit 1
fi
grep "trouble: \|queued again\|: loss " "$folder/said"
echo "Slurm: an array ran six jobs, one was killed and queued again; all have the bits of one sweep"
