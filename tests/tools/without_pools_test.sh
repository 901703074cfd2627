#!/usr/bin/env bash
# The memory of a GPU without memory pools, with a mock of the CUDA runtime whose kernels do nothing: allocations come from
# cudaMalloc, copies work, and the probe reports the kernel that did nothing. The same where pools are claimed and fail.
#   without_pools_test.sh SELFTEST MOCK.so
set -euo pipefail
selftest=$1 mock=$2
for pools in "" broken; do
  code=0
  said=$(CUDART_MOCK_POOLS=$pools; [ -z "$pools" ] || export CUDART_MOCK_POOLS; LD_PRELOAD=$mock "$selftest" --probe 2>&1) || code=$?
  echo "$said"
  [ "$code" -eq 7 ]
  grep -q '^cudaMalloc 4096$' <<<"$said"  # 1000 floats, in units of 512 bytes
  grep -q 'a kernel that fills a tensor with 3 stored 0' <<<"$said"
  [ "$(grep -c '^cudaMallocAsync' <<<"$said")" -eq "$([ -z "$pools" ] && echo 0 || echo 1)" ]  # the trial allocation
done
