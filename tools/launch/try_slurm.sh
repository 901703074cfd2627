#!/usr/bin/env bash
# A temporary Slurm cluster of two "nodes" on this machine, to test job scripts: Debian's slurmctld, slurmd and munge.
#   try_slurm.sh JOB.sbatch [sbatch's arguments and the job's ...]   submits it, waits, prints what it wrote
#   try_slurm.sh --meanwhile 'COMMAND' JOB.sbatch [...]               runs a command of the cluster beside it: what goes wrong
#   try_slurm.sh --shell                                             a shell in which sbatch, srun, squeue and scancel work
# Everything stands in a temporary folder and is taken down at the end. Needs root and the packages slurm-wlm and munge;
# exits with 77 where they are missing.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
skip() { echo "skipped: $1" >&2; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "a cluster of one's own needs root"
for needed in slurmctld slurmd munged sbatch; do
  command -v $needed >/dev/null || skip "there is no $needed: apt-get install slurm-wlm munge"
done

place=$(mktemp -d "${TMPDIR:-/tmp}/sinklab-slurm.XXXXXX")
mkdir -p "$place"/{ctld,spool1,spool2,munge}
chmod 755 "$place"
pids=()
down() {
  [ -z "${meanwhile:-}" ] || kill -- "-$meanwhile" 2>/dev/null || true
  scancel --quiet --user=root 2>/dev/null || true
  sleep 0.5
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$place"
}
trap down EXIT
trap 'exit 130' INT TERM

# Who may talk to whom: a key of this cluster alone.
dd if=/dev/urandom of="$place/munge/key" bs=1024 count=1 status=none
chmod 400 "$place/munge/key"
chmod 711 "$place/munge"
munged --foreground --force --key-file="$place/munge/key" --socket="$place/munge/socket" --pid-file="$place/munge/pid" \
  --seed-file="$place/munge/seed" --log-file="$place/munge/log" >"$place/munged.out" 2>&1 &
pids+=($!)

base=$((30000 + $$ % 20000))
host=$(hostname -s)
cat >"$place/slurm.conf" <<CONF
ClusterName=sinklab
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$place/munge/socket
CredType=cred/munge
StateSaveLocation=$place/ctld
SlurmdSpoolDir=$place/spool%n
SlurmctldPidFile=$place/ctld.pid
SlurmdPidFile=$place/slurmd-%n.pid
SlurmctldLogFile=$place/ctld.log
SlurmdLogFile=$place/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1
MpiDefault=none
ReturnToService=2
JobRequeue=1
KillWait=30
MinJobAge=60
GresTypes=gpu
NodeName=node1 NodeAddr=127.0.0.1 NodeHostname=$host Port=$((base + 1)) CPUs=1 RealMemory=1000 Gres=gpu:8
NodeName=node2 NodeAddr=127.0.0.1 NodeHostname=$host Port=$((base + 2)) CPUs=1 RealMemory=1000 Gres=gpu:8
PartitionName=all Nodes=node1,node2 Default=YES State=UP MaxTime=INFINITE
CONF
touch "$place"/gpu{0..7}  # in name alone: job scripts ask for them
echo "Name=gpu File=$place/gpu[0-7]" >"$place/gres.conf"
export SLURM_CONF=$place/slurm.conf
for _ in $(seq 50); do [ -S "$place/munge/socket" ] && break; sleep 0.1; done
slurmctld -D >"$place/ctld.out" 2>&1 &
pids+=($!)
for node in node1 node2; do
  mkdir -p "$place/spool$node"
  slurmd -D -N $node >"$place/$node.out" 2>&1 &
  pids+=($!)
done
up() { [ "$(sinfo --noheader --Node --format=%T 2>/dev/null | grep -c '^idle')" -eq 2 ]; }
for _ in $(seq 100); do up && break; sleep 0.2; done
if ! up; then
  echo "try_slurm: error: the two nodes did not come up:" >&2
  sinfo >&2 || true
  tail -n 5 "$place"/*.log "$place"/*.out >&2
  exit 1
fi

if [ "$1" = --shell ]; then
  echo "a cluster of node1 and node2 (SLURM_CONF=$SLURM_CONF), until you leave this shell"
  "${SHELL:-bash}" || true
  exit 0
fi
if [ "$1" = --meanwhile ]; then
  setsid bash -c "$2" &
  meanwhile=$!
  shift 2
fi
job=$(sbatch --parsable --output="$place/job.out" "$@")
echo "job $job"
# A job that queues itself again is shown as failed for some seconds; an array has a line for each of its jobs.
ended=0
while [ $ended -lt 3 ] || { [ "$states" != COMPLETED ] && [ $ended -lt 20 ]; }; do
  sleep 1
  states=$(squeue --noheader --states=all --jobs="$job" --format=%T 2>/dev/null | sort -u | xargs)
  case " $states " in
    *" PENDING "* | *" CONFIGURING "* | *" RUNNING "* | *" COMPLETING "* | *" REQUEUED "* | *" RESIZING "* | *" SUSPENDED "*) ended=0 ;;
    *) ended=$((ended + 1)) ;;
  esac
done
cat "$place/job.out" 2>/dev/null || { tail -n 20 "$place"/*.log >&2; }
echo "job $job: ${states:-gone}"
[ "$states" = COMPLETED ]
