# shellcheck shell=bash
# Sourced by attention_stages.sh, attention_kernel.sh and attention_tile.sh, which set `source`, the file in which they stop, and call `walk`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
name=$(basename "$0" .sh)
program=build/debug/train_pos_learnable show=0
for argument in "$@"; do
  case "$argument" in
    --show) show=1 ;;
    -*) echo "$name: error: unknown argument '$argument' (expected [PROGRAM] [--show])" >&2; exit 2 ;;
    *) program=$argument ;;
  esac
done

# line_of TEXT: FILE:LINE of the first line of $source with this text.
line_of() {
  local found
  found=$(grep -nF "$1" "$source" | head -n 1 | cut -d: -f1)
  [ -n "$found" ] || { echo "$name: error: $source has no line '$1'; correct it in tools/gdb/$name.sh" >&2; exit 1; }
  echo "$(basename "$source"):$found"
}

# value NAME EXPRESSION: gdb commands that print a value as NAME = VALUE.
value() { printf 'echo %s =\\040\noutput %s\necho \\n' "$1" "$2"; }

# walk ARGUMENT...: runs the program with these arguments under the gdb commands on standard input; --show prints the
# commands instead.
walk() {
  local commands folder status=0
  commands=$(cat)
  if [ "$show" -eq 1 ]; then
    printf '# gdb -x THIS_FILE --args %s\n%s\n' "$program $* --force" "$commands"
    return
  fi
  command -v gdb >/dev/null || { echo "$name: error: gdb is not installed; run bash tools/setup.sh --tests" >&2; exit 77; }
  [ -x "$program" ] || { echo "$name: error: there is no program $program; build it with cmake --preset debug" >&2; exit 1; }
  folder=$(mktemp -d)
  echo "$commands" >"$folder/walk.gdb"
  gdb -q -batch -iex "add-auto-load-safe-path $PWD" -x "$folder/walk.gdb" --args "$program" "$@" --run "$folder/run" 2>&1 || status=$?
  rm -rf "$folder"
  return "$status"
}
