#!/usr/bin/env bash
# Makes conversations for fine-tuning from a Debian package, without installing it:
#
#   tools/corpus/make_chat.sh OUT_DIR    for `prepare --chat OUT_DIR --tokenizer data/english/tokenizer.json --out data/chat`
#
# A substitute, without access to a model hub, for UltraChat, the 200,000 conversations on which the paper tunes its models:
# questions about entries of a dictionary (dict-foldoc, GFDL) and generated arithmetic, each with its answer, up to three in
# a conversation. They teach the form of an answer, not conversation. `prepare --chat` reads UltraChat directly.
set -euo pipefail

kPackage=dict-foldoc
kQuestions=20000   # of arithmetic

say() { echo "make_chat: $*" >&2; }
die() { local code=$1; shift; say "error: $*"; exit "$code"; }

[ $# -eq 1 ] && [ "${1#-}" = "$1" ] || { echo "usage: make_chat.sh OUT_DIR" >&2; exit 2; }
for program in apt-get dpkg-deb perl; do
  command -v "$program" > /dev/null || die 3 "$program is not here; this script needs Debian or a system derived from it"
done
tools=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" 2> /dev/null || die 8 "cannot make the folder $1"
out=$(cd "$1" && pwd)
if [ -f "$out/chat.jsonl.gz" ]; then
  say "$out is already there"
  exit 0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/make_chat.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root -o Acquire::Retries=1 "$kPackage" > log 2>&1 ||
  die 3 "$kPackage cannot be downloaded: $(grep -m1 '^E:' log || echo 'is there a network?'); try: apt-get update"
dpkg-deb -x ./*.deb files
{
  perl "$tools/extract.pl" chat:dict files/usr/share/dictd/foldoc.dict.dz
  perl "$tools/extract.pl" chat:arithmetic "$kQuestions"
} | gzip -9n > chat.jsonl.gz
# Under its name only when it is whole. A link in the temporary's place is removed, not followed.
if ! cp -T --remove-destination chat.jsonl.gz "$out/.chat.tmp" || ! mv "$out/.chat.tmp" "$out/chat.jsonl.gz"; then
  rm -f "$out/.chat.tmp"
  die 8 "cannot write $out/chat.jsonl.gz"
fi
say "$(zcat chat.jsonl.gz | wc -l) conversations of $kPackage $(dpkg-deb -f ./*.deb Version) and arithmetic in $out/chat.jsonl.gz"
