# Shared by the Slurm scripts of this folder. SINKLAB_BUILD: the folder of the programs [build/cuda].
build=${SINKLAB_BUILD:-build/cuda}

# What a run folder has saved, as a text that each checkpoint and measurement changes.
saved_in() { stat -c '%n %i %y' "$1"/{checkpoint.h5,evaluation.json,interventions.json} 2>/dev/null; }

# Counts a start of this job that saved nothing and prints how many there were in a row. The file RUN.requeues-JOB has the
# count until a start saves something or the job ends. Where it cannot be written, every restart of the job counts.
#   count_start RUN
count_start() {
  local starts=""
  [ ! -f "$1.requeues-$SLURM_JOB_ID" ] || read -r starts <"$1.requeues-$SLURM_JOB_ID"
  [[ $starts =~ ^[0-9]+$ ]] || starts=0
  if [ -z "$1" ] || ! echo $((starts += 1)) 2>/dev/null >"$1.requeues-$SLURM_JOB_ID"; then
    starts=$((${SLURM_RESTART_COUNT:-0} + 1))
  fi
  echo "$starts"
}
reset_count() { rm -f "$1.requeues-$SLURM_JOB_ID"; }

# One task of an array has the array's own number as SLURM_JOB_ID, which scontrol takes for all of its tasks.
own_job() { echo "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_JOB_ID:+_$SLURM_ARRAY_TASK_ID}"; }

# srun starts the ranks by PMIx, which Open MPI understands. Another MPI may need another value of SLURM_MPI_TYPE
# (`srun --mpi=list`). A rank that fails ends all ranks.
#   go_on WHAT RUN COMMAND...    RUN: the run folder, or empty where it is not known
go_on() {
  local what=$1 run=${2%/} before starts=0
  shift 2
  [ -x "$1" ] || { echo "there is no $1: cmake --preset cuda && cmake --build --preset cuda --target ${1##*/}" >&2; exit 2; }
  [ "${SLURM_NTASKS:-1}" -eq 1 ] || export SLURM_MPI_TYPE=${SLURM_MPI_TYPE:-pmix}
  # Since Slurm 22.05 srun does not inherit --cpus-per-task of sbatch: each rank would have one CPU.
  [ -z "${SLURM_CPUS_PER_TASK:-}" ] || export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
  before=$(saved_in "$run")
  srun --kill-on-bad-exit=1 --export=ALL "$@"
  local code=$?
  case $code in
    143 | 137 | 7)
      # Told to stop and saved; or a rank or node was lost, and the last checkpoint counts. But these are also the codes
      # without a driver, and of all ranks where one of them fails for good: srun stops the others and returns the highest.
      if [ "$(saved_in "$run")" = "$before" ]; then starts=$(count_start "$run"); else reset_count "$run"; fi
      if [ "$starts" -gt 3 ]; then
        reset_count "$run"
        echo "$what ended with $code, and $starts starts in a row saved nothing: not queued again" >&2
      else
        echo "$what ended with $code at $(date -Is): queued again"
        scontrol requeue "$(own_job)" || reset_count "$run"
      fi ;;
    0)
      reset_count "$run"
      echo "$what is complete" ;;
    *)
      reset_count "$run"
      echo "$what ended with $code: not queued again" >&2 ;;
  esac
  exit $code
}

# train ABLATION CONFIG DATA RUN [flags of train_<ablation>]; DATA none: a synthetic task
train() {
  if [ $# -lt 4 ]; then
    echo "usage: sbatch SCRIPT ABLATION CONFIG DATA RUN [flags of train_<ablation>]; got: $*" >&2
    exit 2
  fi
  local data=()
  [ "$3" = none ] || data=(--data "$3")
  go_on "$4" "$4" "$build/train_$1" --config "$2" "${data[@]}" --run "$4" --resume auto --device cuda "${@:5}"
}
