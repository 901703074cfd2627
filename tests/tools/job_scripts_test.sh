#!/usr/bin/env bash
# The Slurm scripts of tools/launch with a fake srun and scontrol: how often a job that fails is queued again, and what its
# ranks are given.
#   job_scripts_test.sh build/release/sweep
set -uo pipefail
sweep=$(realpath "$1")
[ -x "$sweep" ] || { echo "there is no program $1"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/{bin,build,runs}
ln -s "$sweep" "$folder/build/sweep"
printf '#!/bin/bash\nexit 0\n' >"$folder/build/train_baseline"
# Start N of a job saves what line N of the plan names and ends with its code; the last line counts for all later starts.
cat >"$folder/bin/srun" <<'FAKE'
#!/bin/bash
echo "srun: CPUs of a rank: ${SRUN_CPUS_PER_TASK:-unset}"
echo "$@" >"$FAKE_FOLDER/arguments"
read -r code saved <<<"$(sed -n "$((SLURM_RESTART_COUNT + 1))p;\$p" "$FAKE_FOLDER/plan" | head -n 1)"
[ -z "$saved" ] || { mkdir -p "$(dirname "$saved")" && echo data >"$saved.tmp" && mv "$saved.tmp" "$saved"; }
exit "$code"
FAKE
printf '#!/bin/bash\n[ "$1 $2" = "requeue ${REQUEUED:-$SLURM_JOB_ID}" ] && touch "$FAKE_FOLDER/requeued"\n' >"$folder/bin/scontrol"
chmod +x "$folder"/bin/* "$folder/build/train_baseline"
export PATH=$folder/bin:$PATH FAKE_FOLDER=$folder SINKLAB_BUILD=$folder/build
wrong=0
# job STARTS CODE 'PLAN' SCRIPT ARGUMENTS...: as Slurm runs it, at most 12 times; expects so many starts, and the code of the last.
job() {
  local wanted=$1 wanted_code=$2 starts=0 code
  printf '%b\n' "$3" >"$folder/plan"
  shift 3
  while :; do
    rm -f "$folder/requeued"
    code=0
    SLURM_RESTART_COUNT=$starts bash "tools/launch/$1" "${@:2}" >"$folder/log" 2>&1 || code=$?
    starts=$((starts + 1))
    [ -e "$folder/requeued" ] && [ $starts -lt 12 ] || break
  done
  if [ $starts -ne "$wanted" ] || [ $code -ne "$wanted_code" ]; then
    echo "job_scripts_test: expected $wanted starts and code $wanted_code, got $starts and $code: $*, plan: $(xargs <"$folder/plan")"
    cat "$folder/log"
    wrong=1
  fi
  local left
  left=$(find "$folder" -name '*requeues*')
  [ -z "$left" ] || { echo "job_scripts_test: the job left $left: $*"; wrong=1; }
}
expect() { # expect WORDS: that the last start printed them
  grep -qF -- "$1" "$folder/log" || { echo "job_scripts_test: expected '$1' in:"; cat "$folder/log"; wrong=1; }
}
export SLURM_JOB_ID=41 SLURM_NTASKS=8
run=$folder/runs/one
train=(train_8gpus.sbatch baseline none.toml none "$run")

job 1 0 0 "${train[@]}"
expect "is complete"
expect "CPUs of a rank: unset"
SLURM_CPUS_PER_TASK=8 job 1 0 0 "${train[@]}"
expect "CPUs of a rank: 8"
job 1 8 8 "${train[@]}"
expect "not queued again"
# A machine without a driver, ranks that were stopped because one failed, a rank that is killed at every start.
for code in 7 143 137; do job 4 $code $code "${train[@]}"; done
expect "4 starts in a row saved nothing: not queued again"
job 4 7 7 train_1gpu.sbatch baseline none.toml none "$run/"
# Where the count cannot be written, because the folder is not there yet.
job 4 7 7 train_8gpus.sbatch baseline none.toml none "$folder/none/one"
# Preempted ten times: each start saves.
job 11 0 "$(printf "143 $run/checkpoint.h5\\\\n%.0s" {1..10})0" "${train[@]}"
# A start that saves ends the count, however many restarts there were.
saves="7 $run/checkpoint.h5"
job 9 0 "7\n7\n7\n$saves\n7\n7\n7\n$saves\n0" "${train[@]}"
job 8 137 "7\n7\n7\n$saves\n137" "${train[@]}"
# A checkpoint of an earlier job is no progress.
job 4 137 137 "${train[@]}"

# A job of a study: its run folder is that of `sweep --list`.
printf 'name = "tiny"\nquestion = "?"\nbaseline = "baseline"\nseeds = [0, 1]\n[settings]\ntask = "bigram-backcopy"\n' >"$folder/tiny.toml"
printf 'layers = 1\nheads = 2\nwidth = 32\nfeed-forward = 32\ncontext = 64\nbatch = 4\nsteps = 5\n[[runs]]\nablation = ["baseline"]\n' >>"$folder/tiny.toml"
export SLURM_NTASKS=1 SLURM_ARRAY_TASK_ID=1
for out in "$folder/out" "$folder/a,b"; do  # the second is quoted in the list: its restarts count
  job 4 7 7 sweep_array.sbatch "$folder/tiny.toml" --out "$out"
  job 1 0 0 sweep_array.sbatch "$folder/tiny.toml" --out "$out"
done
# The first task of an array has the number of the whole array.
REQUEUED=41_1 SLURM_ARRAY_JOB_ID=41 job 4 7 7 sweep_array.sbatch "$folder/tiny.toml" --out "$folder/out"
mkdir -p "$folder/out"
job 4 7 7 sweep_array.sbatch "$folder/tiny.toml" --out "$folder/out"
saves="137 $folder/out/baseline-1/checkpoint.h5" measures="143 $folder/out/baseline-1/evaluation.json"
job 9 0 "7\n7\n7\n$saves\n7\n7\n7\n$measures\n0" sweep_array.sbatch "$folder/tiny.toml" --out "$folder/out"
grep -q -- "--index 1\$" "$folder/arguments" || { echo "job_scripts_test: srun was given $(cat "$folder/arguments")"; wrong=1; }
exit $wrong
