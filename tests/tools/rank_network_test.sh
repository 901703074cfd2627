#!/usr/bin/env bash
# Two ranks on two hosts, which network namespaces stand in for: a link with delay and losses, one that is gone for a
# moment, and one that is cut.
#   rank_network_test.sh build/release/train_baseline
# Skips (77) where namespaces are not to be had: they need root and ip (iproute2).
set -euo pipefail
program=$(realpath "$1")
skip() { echo "skipped: $1"; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "there is no iproute2 (ip)"
a=sinka$$ b=sinkb$$
folder=$(mktemp -d)
cleanup() {
  [ -z "${link:-}" ] || kill $link 2>/dev/null || true
  for host in $a $b; do
    ip netns pids $host 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns del $host 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
ip netns add $a 2>/dev/null || skip "this system allows no network namespaces"
ip netns add $b
ip link add va$$ netns $a type veth peer name vb$$ netns $b 2>/dev/null || skip "this system allows no veth links"
ip -n $a addr add 10.77.0.1/24 dev va$$ && ip -n $a link set va$$ up && ip -n $a link set lo up
ip -n $b addr add 10.77.0.2/24 dev vb$$ && ip -n $b link set vb$$ up && ip -n $b link set lo up

flags="--task bigram-backcopy --layers 2 --heads 2 --width 64 --feed-forward 64 --context 64 --batch 4 --accumulate 2 --warmup 0
  --eval-every 1000 --eval-sequences 4 --checkpoint-every 10 --threads 1"
# start NAME STEPS MORE...: both ranks of a run; their processes are $zero and $one
start() {
  local run=$1 steps=$2
  shift 2
  for rank in 0 1; do
    host=$a; [ $rank -eq 1 ] && host=$b
    ip netns exec $host env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=${address:-10.77.0.1} MASTER_PORT=29511 SINKLAB_TOKEN=$run-$RANDOM_TOKEN \
      "$program" $flags --run "$folder/$run" --steps "$steps" "$@" >"$folder/$run.out$rank" 2>"$folder/$run.err$rank" &
    [ $rank -eq 0 ] && zero=$! || one=$!
  done
}
RANDOM_TOKEN=$RANDOM
code_of() { local code=0; wait "$1" || code=$?; echo $code; }
steps_of() { if [ -e "$folder/$1/metrics.jsonl" ]; then wc -l <"$folder/$1/metrics.jsonl"; else echo 0; fi; }
wait_for_steps() { for _ in $(seq 400); do [ "$(steps_of "$1")" -ge "$2" ] && return; sleep 0.05; done; fail "$1 does not get on"; }
fail() { echo "FAILED: $1"; tail -n 5 "$folder"/*.err* 2>/dev/null; exit 1; }
# both CODE: how both ranks end
both() {
  local code=0
  wait $zero || code=$?; [ $code -eq "$1" ] || fail "rank 0 ended with $code, not $1"
  code=0
  wait $one || code=$?; [ $code -eq "$1" ] || fail "rank 1 ended with $code, not $1"
}
same() { cmp -s "$folder/$1/checkpoint.h5" "$folder/alone/checkpoint.h5" || fail "$1 has other bits than one process"; }

"$program" $flags --run "$folder/alone" --steps 40 2>"$folder/alone.err" >/dev/null

echo "1. two hosts"
start hosts 40
both 0
same hosts

echo "2. 5 ms of delay each way and 3 % of the packets lost"
if command -v python3 >/dev/null && [ -e /dev/net/tun ]; then
  python3 "$(dirname "$0")/lossy_link.py" $a 10.78.0.1 $b 10.78.0.2 --delay-ms 5 --loss 0.03 >"$folder/link" 2>"$folder/link.err" &
  link=$!
  for _ in $(seq 100); do grep -qs ready "$folder/link" && break; sleep 0.05; done
  grep -q ready "$folder/link" || { cat "$folder/link.err"; fail "the lossy link does not come up"; }
  address=10.78.0.1 start lossy 40
  both 0
  same lossy
  kill $link
else
  echo "   left out: there is no /dev/net/tun or no python3"
fi

echo "3. a link that is gone for two seconds"
start moment 4000 --comm-timeout 15
wait_for_steps moment 12
ip -n $b link set vb$$ down
sleep 2
before=$(steps_of moment)
ip -n $b link set vb$$ up
wait_for_steps moment $((before + 20))
kill -TERM $(ip netns pids $b)
both 143

echo "4. a link that is cut: both leave, each naming the other"
start cut 4000 --comm-timeout 4
wait_for_steps cut 15
ip -n $a link set va$$ down
began=$(date +%s)
both 7
took=$(($(date +%s) - began))
[ $took -le 8 ] || fail "it took them $took s"
grep -q "rank 1" "$folder/cut.err0" || fail "rank 0 does not name rank 1"
grep -q "rank 0" "$folder/cut.err1" || fail "rank 1 does not name rank 0"
echo "   after $took s: $(grep -o 'error:.*' "$folder/cut.err0")"
ip -n $a link set va$$ up
sed -i 's/^steps = .*/steps = 40/' "$folder/cut/config.toml"
reached=$(($(steps_of cut) / 10 * 10))

echo "5. and the run goes on, on two hosts and with the bits of one process"
if [ $reached -le 40 ]; then
  start cut 40 --resume auto
  both 0
  same cut
else
  start cut $((reached + 20)) --resume auto
  both 0
fi
echo "ranks on two hosts: all five hold"
