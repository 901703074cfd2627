#!/usr/bin/env bash
# The model of the engine's threads (threads.pml) in every order of its steps, and that it notices when it is broken in
# the ways that threads.cpp once was, or could be. Skips (exit 77) where spin is missing.
set -euo pipefail
model=$(cd "$(dirname "$0")" && pwd)/threads.pml
command -v spin >/dev/null && command -v gcc >/dev/null || { echo "no spin or no gcc; skipped"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# faults FILE [OPTION]: prints how many spin finds, 0 or 1. Exit status 1 if it could not look for them.
faults() {
  spin "${@:2}" -run "$1" >said 2>&1 || true
  ! grep -q "Warning: max search depth" said || { cat said >&2; return 1; }
  grep -oE "errors: [0-9]+" said | grep -oE "[0-9]+" || { cat said >&2; return 1; }
}

for team in "" -DTEAM; do
  found=$(faults "$model" $team)
  [ "$found" = 0 ] || { echo "threads.pml $team: a fault"; cat said; exit 1; }
  echo "threads.pml $team: $(grep -oE "[0-9]+ states, stored" said), no fault"
done

# broken WHAT SED: as a team or otherwise, it must be noticed. With SINK_SHORT_TESTS only the first.
broken() {
  [ -z "${SINK_SHORT_TESTS:-}" ] || [ -z "${tried:-}" ] || return 0
  tried=1
  sed "$2" "$model" >broken.pml
  ! cmp -s "$model" broken.pml || { echo "$1: nothing to break, mend this test"; exit 1; }
  local alone team
  alone=$(faults broken.pml) || { echo "$1: spin cannot run the broken model"; exit 1; }
  team=$(faults broken.pml -DTEAM) || { echo "$1: spin cannot run the broken model of a team"; exit 1; }
  [ "$alone" != 0 ] || [ "$team" != 0 ] || { echo "$1: not noticed"; exit 1; }
  echo "$1: noticed"
}
broken "the ticket stays open between loops" '/ticket_next = CLOSED/d'
broken "the end is looked at before the number" \
  's/^     seen = number;$//; s/:: seen & END -> break/:: number \& END -> break/; s/^     take_pieces()$/     seen = number; take_pieces()/'
broken "the end wakes one" 's/^  notify_all_number();$/  notify_one_number();/'
broken "sleepers are counted before they are called" \
  's/^    number = number + NEXT;/    asleep = sleeping; number = number + NEXT;/; s/^    asleep = sleeping;$/    skip;/'
broken "they are called before there is a ticket" \
  's/d_step { ticket_loop = loop; ticket_next = 0 };/skip;/; s/asleep = sleeping;/d_step { ticket_loop = loop; ticket_next = 0 }; asleep = sleeping;/'
broken "the caller is not woken" 's/:: last -> in_unfinished = false/:: last -> skip/'
