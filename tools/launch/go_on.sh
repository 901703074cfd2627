# What the scripts for Slurm of this folder share: ABLATION CONFIG DATA RUN and more flags of train_<ablation>.
# SINKLAB_BUILD: the folder of the programs [build/cuda].
if [ $# -lt 4 ]; then
  echo "usage: sbatch SCRIPT ABLATION CONFIG DATA RUN [flags of train_<ablation>]; got: $*" >&2
  exit 2
fi
program=${SINKLAB_BUILD:-build/cuda}/train_$1
data=()
[ "$3" = none ] || data=(--data "$3")
[ -x "$program" ] || { echo "there is no $program: cmake --preset cuda && cmake --build --preset cuda --target train_$1" >&2; exit 2; }
# Rank 0 runs on the job's first host. Each job has a port and each start of it a token of its own, which the ranks find
# by themselves from what Slurm tells them (engine/comm/rank_place.h).
srun --kill-on-bad-exit=0 --export=ALL "$program" --config "$2" "${data[@]}" --run "$4" --resume auto --device cuda "${@:5}"
code=$?
case $code in
  0) echo "$4 is complete" ;;
  143 | 137 | 7)  # told to stop and saved; or a rank or node was lost, and the last checkpoint counts
    echo "ended with $code at $(date -Is): queued again"
    scontrol requeue "$SLURM_JOB_ID" ;;
  *) echo "ended with $code: not queued again" >&2 ;;
esac
exit $code
