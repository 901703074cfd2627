#!/usr/bin/env bash
# Runs the tests of a build under conditions of other machines, to find those that fail by chance.
#   bash tests/conditions.sh PRESET CONDITION... [-- CTEST ARGUMENTS]
# Conditions: all cores (cores), one core (core), two busy loops next to them (load), without a network (offline), with one
# of 1 MB/s (slow; needs root). One may be repeated. Prints a line for each. SINK_SHORT_TESTS=1 runs a part of the longest
# tests, as tools/test.sh does.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
preset=$1 failed=0 device=$(ip route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p;q') loops=()
shift
conditions=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do conditions+=("$1"); shift; done
[ $# -eq 0 ] || shift
undo() {
  [ ${#loops[@]} -eq 0 ] || kill "${loops[@]}" 2>/dev/null || true
  loops=()
  tc qdisc del dev "$device" ingress 2>/dev/null || true
  ip link del slow0 2>/dev/null || true
}
trap undo EXIT
for condition in "${conditions[@]}"; do
  command=(ctest --preset "$preset" --parallel "$(nproc)" "$@")
  case "$condition" in
    cores) ;;
    core) command=(taskset -c 0 ctest --preset "$preset" --parallel 1 "$@") ;;
    load) for _ in 1 2; do { while :; do :; done & } 2>/dev/null; loops+=($!); done ;;
    offline) command=(unshare --map-root-user --net bash -c 'ip link set lo up; exec "$@"' offline "${command[@]}") ;;
    slow)
      ip link add name slow0 type ifb 2>/dev/null || true
      ip link set slow0 up
      tc qdisc add dev "$device" handle ffff: ingress
      tc filter add dev "$device" parent ffff: protocol all prio 1 u32 match u32 0 0 action mirred egress redirect dev slow0
      tc qdisc add dev slow0 root tbf rate 8mbit burst 32k latency 400ms ;;
    *) echo "conditions: error: unknown condition '$condition' (expected cores, core, load, offline or slow)" >&2; exit 2 ;;
  esac
  began=$SECONDS log=build/conditions-$condition.log
  "${command[@]}" >"$log" 2>&1 || failed=1
  undo
  echo "$condition: $((SECONDS - began)) s; $(grep 'tests passed' "$log" || echo "no result, see $log")"
  sed -n 's/^\t *[0-9]* - \(.*\) (\(Failed\|Timeout\|SEGFAULT\|Not Run\).*/  \1: \2/p' "$log"
done
exit $failed
