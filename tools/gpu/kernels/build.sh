#!/usr/bin/env bash
# Builds kernels.so (attention_kernels.h) from engine/ and this folder: the attention kernels of every operation.
#   bash tools/gpu/kernels/build.sh [--emulated] [--arch sm_90] [--operations Softmax,Sigmoid] [OUT]    build/kernels.so
# Needs nvcc and nothing else; with --emulated, g++ and libboost-context-dev. --arch native, the default, compiles for
# the GPU of this machine. Objects are kept in OUT.objects, and only those whose sources changed are compiled again.
set -euo pipefail
cd "$(dirname "$0")/../../.."
emulated=0 arch=native operations="" out=build/kernels.so
while [ $# -gt 0 ]; do
  case $1 in
    --emulated) emulated=1 ;;
    --arch) arch=${2:?build.sh: --arch needs a value}; shift ;;
    --operations) operations=${2:?build.sh: --operations needs a value}; shift ;;
    -*) echo "build.sh: error: unknown flag $1" >&2; exit 2 ;;
    *) out=$1 ;;
  esac
  shift
done
kernels=tools/gpu/kernels
objects=$out.objects
mkdir -p "$objects"

# Of the engine: tensors, without which the kernels' functions cannot be called.
sources="engine/check.cpp engine/recording.cpp engine/shape.cpp engine/storage.cpp engine/tensor.cpp engine/threads.cpp
  engine/ops/attention/attention.cpp $kernels/attention_kernels.cpp"
cuda_sources="engine/cuda/tensor_kernels.cu $(ls engine/ops/attention/cuda/*.cu)"
# Four per operation, so that 16 cores are busy. Two have Hopper's kernels.
names=$(sed -n 's/^  F(\([A-Za-z0-9]*\)).*/\1/p' engine/ops/attention/op/attention_ops.h)
[ -z "$operations" ] || names=${operations//,/ }
write() {  # write FILE: its standard input, if that differs
  cat >"$1.new"
  if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}
for op in $names; do
  echo "SINK_ATTENTION_OP($op)"
  for pass in forward backward; do
    name=attention
    [ "$pass" = forward ] || name=attention_backward
    printf '#include "engine/ops/attention/cuda/attention_%s_cuda.cuh"\n#include "engine/ops/attention/op/attention_ops.h"\n%s\n' "$pass" \
      "namespace sink::cuda { template decltype($name<$op>) $name<$op>; }" | write "$objects/${op}_$pass.cu"
    name+=_on_hopper
    printf '#include "engine/ops/attention/cuda/attention_hopper_%s_cuda.cuh"\n#include "engine/ops/attention/op/attention_ops.h"\n%s\n' "$pass" \
      "namespace sink::cuda { template decltype($name<$op>) $name<$op>; }" | write "$objects/${op}_hopper_$pass.cu"
  done
done | { cat; echo "#undef SINK_ATTENTION_OP"; } | write "$objects/built_operations.def"
for op in $names; do
  cuda_sources="$objects/${op}_backward.cu $objects/${op}_hopper_backward.cu $cuda_sources $objects/${op}_hopper_forward.cu
    $objects/${op}_forward.cu"
done

common=(-std=c++20 -O3 -DNDEBUG -DSINK_CUDA -I. -I"$objects")
ccache=$(command -v ccache || true)
if [ "$emulated" -eq 1 ]; then
  sources+=" engine/rng.cpp $(ls engine/cuda/emulated/*.cpp | grep -v emulated_gemm) $kernels/emulated_kernel_device.cpp"
  compile_cpp=($ccache g++ "${common[@]}" -fPIC -fopenmp-simd -fno-math-errno -fno-trapping-math)
  compile_cuda=("${compile_cpp[@]}" -O1 -g1 -x c++)
  compile_hopper=("${compile_cuda[@]}")
  link=(g++ -shared -pthread)
  libraries=(-lboost_context -ldl)
else
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  [ -x "$nvcc" ] || { echo "build.sh: error: no nvcc here" >&2; exit 3; }
  cuda_sources+=" $kernels/nvidia_kernel_device.cu engine/cuda/nvidia/nvidia_tensor_map.cpp"
  compile_cpp=($ccache "$nvcc" "${common[@]}" -Xcompiler=-fPIC,-fopenmp-simd)
  compile_cuda=("${compile_cpp[@]}" "-arch=$arch" --extended-lambda --expt-relaxed-constexpr -x cu)
  compile_hopper=("${compile_cuda[@]/-arch=$arch/-gencode=arch=compute_90a,code=sm_90a}")
  link=("$nvcc" -shared "-arch=$arch" -cudart static)
  libraries=()
fi

# compile OBJECT COMMAND...: unless the object is newer than every source and header that it was made from.
compile() {
  local object=$1
  shift
  local headers
  headers=$(sed 's/\\$//; s/^[^:]*: //' "$object.d" 2>/dev/null) || true
  if [ -f "$object" ] && [ "$(cat "$object.command" 2>/dev/null)" = "$*" ] &&
    [ -z "$(find $headers -newer "$object" 2>&1 | head -1)" ]; then
    return 0
  fi
  rm -f "$object"
  "$@" -MD -MF "$object.d" -c -o "$object"
  echo "$*" >"$object.command"
}
export -f compile

all=()
jobs=()
for source in $cuda_sources $sources; do  # the slowest first
  object=$objects/$(echo "${source#"$objects"/}" | tr / _).o
  all+=("$object")
  command=("${compile_cpp[@]}")
  case $source in
    *_hopper_*.cu) command=("${compile_hopper[@]}") ;;
    *.cu | engine/cuda/nvidia/*) command=("${compile_cuda[@]}") ;;
  esac
  jobs+=("compile $(printf '%q ' "$object" "${command[@]}" "$source")")
done
printf '%s\0' "${jobs[@]}" | xargs -0 -P "${JOBS:-$(nproc)}" -I{} bash -c 'set -e; {}'
"${link[@]}" -o "$out" "${all[@]}" "${libraries[@]}"
echo "build.sh: $out, $((SECONDS)) s"
