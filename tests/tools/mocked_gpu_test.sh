#!/usr/bin/env bash
# How the engine deals with GPUs, with a mock of the CUDA runtime whose kernels do nothing: which GPU a process takes and whose
# memory it trims, memory that is exhausted at first, a GPU that kernels cannot run on, and wrong environment variables.
#   mocked_gpu_test.sh SELFTEST MOCK.so [TRAIN_BASELINE]
set -euo pipefail
selftest=$1 mock=$2 train=${3:-}
said=""
# run CODE VARIABLE=VALUE... COMMAND...: that it ends with this code; its output is in $said.
run() {
  local expected=$1 code=0
  shift
  said=$(env LD_PRELOAD="$mock" CUDART_MOCK_POOLS=works "$@" 2>&1) || code=$?
  [ "$code" -eq "$expected" ] || wrong "code $code instead of $expected: $*"
}
wrong() { echo "$said"; echo "mocked_gpu_test: $1"; exit 1; }
says() { grep -qE -- "$1" <<<"$said" || wrong "expected $1"; }
never_says() { ! grep -qE -- "$1" <<<"$said" || wrong "did not expect $1"; }

# The second process of a host takes the second GPU, and trims the memory of that one alone.
second=(CUDART_MOCK_GPUS=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1)
run 0 "${second[@]}" "$selftest" --probe
says '^cudaSetDevice 1$'
never_says '^cudaSetDevice 0$'
says '^cudaDeviceGraphMemTrim 1$'
never_says '^cudaDeviceGraphMemTrim 0$'

# What is out of memory gets it after cached memory was released.
run 0 CUDART_MOCK_OUT_OF_MEMORY=cudaGraphInstantiate "$selftest" --probe
says '^cudaGraphInstantiate is out of memory$'
says '^graphs   no: a recorded copy did not run$'  # as kernels do nothing
run 7 CUDART_MOCK_OUT_OF_MEMORY=cudaMalloc "$selftest" --only gemm
says '^cudaMalloc is out of memory$'
never_says 'first: .*memory'

run 6 CUDART_MOCK_OUT_OF_MEMORY=cudaSetDevice "$selftest" --probe
says 'GPU 0 has no memory left for another process; nvidia-smi'

run 7 CUDART_MOCK_CAPABILITY=75 "$selftest" --probe
says 'compute capability 7.5; kernels need 8.0 or later'
never_says 'CMAKE_CUDA_ARCHITECTURES'
run 7 CUDART_MOCK_CAPABILITY=103 "$selftest" --probe
says 'DCMAKE_CUDA_ARCHITECTURES=103 makes them'

for wrong in 9.0 70 100 h100 ""; do
  run 2 SINK_COMPUTE_CAPABILITY="$wrong" "$selftest" --probe
  says "SINK_COMPUTE_CAPABILITY is expected to be the digits .* from 80 \(for 8.0\) to 90, got \"$wrong\""
done
run 0 SINK_COMPUTE_CAPABILITY=80 "$selftest" --probe

# Ranks take the GPU of the local rank that MPI knows, where the launcher does not tell it.
[ -n "$train" ] || exit 0
if ! mpirun --version 2>/dev/null | grep -q 'Open MPI' || [ ! -f "$(dirname "$train")/libsinklab_mpi.so" ]; then
  echo "mocked_gpu_test: no Open MPI here: the GPUs of ranks were not looked at"
  exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ranks=(mpirun --allow-run-as-root --oversubscribe -n 2 env -u OMPI_COMM_WORLD_LOCAL_RANK LD_PRELOAD="$mock" CUDART_MOCK_POOLS=works
  CUDART_MOCK_GPUS=2 SINK_NCCL=no_such_nccl.so)
code=0
said=$("${ranks[@]}" "$train" --device cuda --task bigram-backcopy --layers 1 --heads 1 --d-model 16 --feed-forward 16 --batch 1 --accumulate 2 \
  --steps 1 --warmup 1 --eval-sequences 1 --threads 1 --run "$folder/run" 2>&1) || code=$?
[ "$code" -eq 7 ] || wrong "code $code instead of 7"
says 'cudaSetDevice 0'
says 'cudaSetDevice 1'
says 'no_such_nccl.so'
