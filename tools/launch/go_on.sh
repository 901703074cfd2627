# Shared by the Slurm scripts of this folder. SINKLAB_BUILD: the folder of the programs [build/cuda].
build=${SINKLAB_BUILD:-build/cuda}

# srun starts the ranks by PMIx, which Open MPI understands. Another MPI may need another value of SLURM_MPI_TYPE
# (`srun --mpi=list`). A rank that fails ends all ranks.
#   go_on WHAT COMMAND...
go_on() {
  local what=$1
  shift
  [ -x "$1" ] || { echo "there is no $1: cmake --preset cuda && cmake --build --preset cuda --target ${1##*/}" >&2; exit 2; }
  [ "${SLURM_NTASKS:-1}" -eq 1 ] || export SLURM_MPI_TYPE=${SLURM_MPI_TYPE:-pmix}
  srun --kill-on-bad-exit=1 --export=ALL "$@"
  local code=$?
  case $code in
    0) echo "$what is complete" ;;
    143 | 137 | 7)  # told to stop and saved; or a rank or node was lost, and the last checkpoint counts
      echo "$what ended with $code at $(date -Is): queued again"
      scontrol requeue "$SLURM_JOB_ID" ;;
    *) echo "$what ended with $code: not queued again" >&2 ;;
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
  go_on "$4" "$build/train_$1" --config "$2" "${data[@]}" --run "$4" --resume auto --device cuda "${@:5}"
}
