#!/usr/bin/env bash
# Builds everything and runs all tests: release first, then again under AddressSanitizer and UBSan.
#   bash tools/test.sh            both
#   bash tools/test.sh --quick    release only
set -euo pipefail
cd "$(dirname "$0")/.."

presets=(release asan)
case "${1:-}" in
  "") ;;
  --quick) presets=(release) ;;
  *) echo "test: error: unknown argument '$1' (expected nothing or --quick)" >&2; exit 2 ;;
esac

bash tools/setup.sh --tests
for preset in "${presets[@]}"; do
  echo "test: building preset $preset"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset"
  ctest --preset "$preset"
done
