#!/bin/bash
# Makes 27 MB of free English text from Debian packages: make_text.sh [--pile] OUT_DIR
#
# The packages (13 MB) are downloaded and unpacked in a temporary folder. Nothing is installed, and root is not needed.
# --pile adds substitutes for the other parts of the Pile (47 MB more): the files of tools/corpus/pile_mixture.toml.
# OUT_DIR gets one UTF-8 file per package, with documents separated by a line <|endoftext|>, and SOURCES, a table of
# file, bytes, sha256, package, version and licence. If all files exist and are complete, nothing is done.
# Exit codes: 2 wrong use, 3 the text cannot be made (no network, no packages), 8 OUT_DIR cannot be written.
set -euo pipefail
export LC_ALL=C.UTF-8

# package | how extract.pl reads it | where in the package | licence | what it is
kPackages='
sword-comm-tdavid  | sword | . | public domain | C. H. Spurgeon, The Treasury of David (1885)
sword-comm-mhcc    | sword | . | public domain | Matthew Henry, Concise Commentary
sword-text-web     | sword | . | public domain | World English Bible
r-cran-janeaustenr | rdata | usr/lib/R/site-library/janeaustenr/data/Rdata.rdb | public domain text, MIT package | Jane Austen, six novels
dict-jargon        | dict  | usr/share/dictd/jargon.dict.dz | public domain | The Jargon File 4.4.7
dict-devil         | dict  | usr/share/dictd/devil.dict.dz | public domain | Ambrose Bierce, The Devil'"'"'s Dictionary
'
# With --pile; arithmetic is made here and downloaded from nowhere.
kPilePackages='
maxima-doc             | html       | usr/share | GPL-2 | manual of a computer algebra system
arithmetic             | arithmetic | 200000    | public domain | questions of arithmetic, made up
libreoffice-help-en-us | html       | usr       | MPL-2 | help of an office suite
debian-faq             | html       | usr/share/doc | GPL-2 | questions about Debian
dict-foldoc            | dict       | usr/share/dictd/foldoc.dict.dz | GFDL | Free On-line Dictionary of Computing
linux-libc-dev         | files:.h   | usr/include | GPL-2 with exception | C: headers of Linux
libeigen3-dev          | files:.h   | usr/include | MPL-2 | C++: a library of linear algebra
python3-django         | files:.py  | usr/lib   | BSD-3 | Python: a web framework
git-doc                | files:.txt | usr/share | GPL-2 | manual of git
perl-doc               | files:.pod | usr/share | Artistic | manual of Perl
ikiwiki                | html       | usr/share | GPL-2 | a wiki with its discussions
debian-policy          | html       | usr/share/doc | GPL-2 | rules that packages keep
exim4-doc-html         | html       | usr/share/doc | GPL-2 | specification of a mail server
anarchism              | files:.md  | usr/share | GPL-2 | An Anarchist FAQ, essays
debian-history         | html       | usr/share/doc | GPL-2 | how Debian came about
developers-reference   | html       | usr/share | GPL-2 | handbook of those who make Debian
fortunes               | files:     | usr/share/games/fortunes | mixed, free | quotations and jokes
'
kEnough=5000000   # bytes of text; with less than this a package too many is missing

say() { echo "make_text: $*" >&2; }
die() { local code=$1; shift; say "error: $*"; exit "$code"; }
trim() { local s=$1; s=${s#"${s%%[![:space:]]*}"}; echo "${s%"${s##*[![:space:]]}"}"; }

if [ "${1:-}" = --pile ]; then
  kPackages+=${kPilePackages#?}
  shift
fi
[ $# -eq 1 ] && [ "${1#-}" = "$1" ] || { echo "usage: make_text.sh [--pile] OUT_DIR" >&2; exit 2; }
for program in apt-get apt-cache dpkg-deb perl; do
  command -v "$program" > /dev/null || die 3 "$program is not here; this script needs Debian or a system derived from it"
done
tools=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" 2> /dev/null || die 8 "cannot make the folder $1"
out=$(cd "$1" && pwd)
[ -w "$out" ] || die 8 "cannot write into $out"

whole() {   # every package has its line in SOURCES and its file is as it was made
  [ -f "$out/SOURCES" ] || return 1
  local package
  while IFS='|' read -r package _; do
    package=$(trim "$package")
    [ -z "$package" ] || cut -f4 "$out/SOURCES" | grep -qx "$package" || return 1
  done <<< "$kPackages"
  (cd "$out" && tail -n +2 SOURCES | awk -F'\t' '{ print $3 "  " $1 }' | sha256sum --check --status)
}
if whole; then
  say "$out is already there and whole"
  exit 0
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/make_text.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$work/text"

known() { [ -n "$(apt-cache show --no-all-versions "$1" 2> /dev/null)" ]; }
if ! known dict-devil && ! known sword-text-web; then
  if [ "$(id -u)" -eq 0 ]; then
    say "apt has no package lists: running apt-get update"
    apt-get update -qq > "$work/log" 2>&1 ||
      say "warning: apt-get update: $(grep -m1 '^[EW]:' "$work/log" || echo failed)"
  else
    die 3 "apt knows none of the packages; run 'sudo apt-get update' first"
  fi
fi

# Downloads, unpacks and extracts one package into $work/text; prints why where it cannot.
make_one() {
  local package=$1 kind=$2 path=$3
  mkdir "$work/$package" && cd "$work/$package"
  if [ "$kind" = arithmetic ]; then
    perl "$tools/extract.pl" "$kind" "$path" > "$work/text/$package.txt"
    return
  fi
  local options=(-qq -o APT::Sandbox::User=root -o Acquire::Retries=1 -o Acquire::http::Timeout=20)
  if ! apt-get download "${options[@]}" "$package" > log 2>&1; then
    echo "cannot be downloaded: $(grep -m1 '^E:' log || echo 'apt-get download failed')"
    return 1
  fi
  dpkg-deb -x ./*.deb files > log 2>&1 || { echo "cannot be unpacked: $(head -1 log)"; return 1; }
  perl "$tools/extract.pl" "$kind" "files/$path" > "$work/text/$package.txt" 2> log ||
    { rm -f "$work/text/$package.txt"; echo "cannot be read: $(head -1 log)"; return 1; }
}

printf 'file\tbytes\tsha256\tpackage\tversion\tlicence\ttitle\n' > "$work/text/SOURCES"
total=0
while IFS='|' read -r package kind path licence title; do
  package=$(trim "$package")
  [ -n "$package" ] || continue
  if ! reason=$(make_one "$package" "$(trim "$kind")" "$(trim "$path")"); then
    say "warning: $package skipped: $reason"
    continue
  fi
  file=$package.txt
  bytes=$(stat -c %s "$work/text/$file")
  version=-
  [ "$package" = arithmetic ] || version=$(dpkg-deb -f "$work/$package"/*.deb Version)
  rm -rf "${work:?}/$package"
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$file" "$bytes" "$(sha256sum < "$work/text/$file" | cut -d' ' -f1)" \
    "$package" "$version" "$(trim "$licence")" "$(trim "$title")" >> "$work/text/SOURCES"
  say "$package $version: $(trim "$title"), $((bytes / 1000)) kB"
  total=$((total + bytes))
done <<< "$kPackages"

[ "$total" -ge "$kEnough" ] ||
  die 3 "only $total bytes of text could be made, at least $kEnough are needed; is there a network? try: apt-get update"

# SOURCES goes last: it is what says that the rest is whole. A link in a temporary's place is removed, not followed.
for file in "$work/text"/*.txt "$work/text/SOURCES"; do
  name=$(basename "$file")
  if ! cp -T --remove-destination "$file" "$out/.$name.tmp" || ! mv -T "$out/.$name.tmp" "$out/$name"; then
    rm -f "$out/.$name.tmp"
    die 8 "cannot write $out/$name"
  fi
done
say "$((total / 1000)) kB of text in $out"
