#!/usr/bin/env bash
# Installs what Sinklab needs, from Debian 12's packages: one apt-get line. Does nothing when all of it is there.
#   bash tools/setup.sh            to build and run
#   bash tools/setup.sh --tests    and what the tests need besides
set -euo pipefail

packages=(g++ cmake ninja-build ccache pkg-config git perl ca-certificates
  libdnnl-dev libxtensor-dev libhdf5-dev libcli11-dev nlohmann-json3-dev libpcre2-dev libssl-dev doctest-dev
  libjs-chart.js hdf5-tools)
case "${1:-}" in
  "") ;;
  --tests) packages+=(gdb python3 chromium clang libclang-rt-dev libomp-dev) ;;
  *) echo "setup: error: unknown argument '$1' (expected nothing or --tests)" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are there"
  exit 0
fi

root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: error: needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
  root=(sudo)
fi
echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${root[@]}" apt-get update -qq &&
       "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 15 "$log" >&2
  echo "setup: error: apt-get failed (its last lines are above). Is the network there, and is this Debian 12?" >&2
  exit 1
fi
echo "setup: done"
