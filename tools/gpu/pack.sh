#!/usr/bin/env bash
# Makes one folder of at most 60 MiB with all that a GPU machine needs which has a CUDA toolkit, a driver and Python, and
# no package registry: programs and tests built here for sm_80, sm_90 and later, the libraries they need, English text in
# tokens, and tools/gpu/check.sh, which unpacks and runs them.
#   bash tools/gpu/pack.sh [FOLDER]      build/gpu_pack
#   bash build/gpu_pack/check.sh         there
# The GPU machine's own are the C and C++ libraries (glibc 2.36 and g++ 12 or newer), cudart, cublasLt and NCCL (PyTorch
# comes with it). Needs nvcc here.
set -euo pipefail
cd "$(dirname "$0")/../.."
pack=${1:-build/gpu_pack}
limit_mib=60
build=build/gpu
programs=(train_baseline train_op_sigmoid_none eval_baseline eval_op_sigmoid_none bench_attention bench_step)
[ ! -d tools/selftest ] || programs+=(selftest)
tests=()
for source in $(find tests -name '*_cuda_test.cpp' | sort); do tests+=("$(basename "$source" .cpp)"); done

# DT_RPATH, which libraries of libraries are looked for in, too. Any x86 of the last ten years that has a GPU beside it.
rpath='$ORIGIN/lib:$ORIGIN/../lib:/usr/local/cuda/lib64'
cmake --preset cuda -B "$build" -DSINK_ARCH=x86-64-v3 -DSINK_PROGRAMS="baseline;op_sigmoid_none" \
  -DCMAKE_SKIP_BUILD_RPATH=ON -DCMAKE_EXE_LINKER_FLAGS="-Wl,--disable-new-dtags,-rpath,'$rpath'" >/dev/null
cmake --build "$build" --target "${programs[@]}" "${tests[@]}" prepare

tokens=$build/text_tokens
if [ ! -s "$tokens/tokens.h5" ]; then
  bash tools/corpus/make_text.sh "$build/text"
  "$build/prepare" --text "$build"/text/*.txt --vocab 16384 --out "$tokens"
fi

content=$(mktemp -d)
trap 'rm -rf "$content"' EXIT
mkdir -p "$content/tests" "$content/lib" "$content/text"
for program in "${programs[@]}"; do strip -o "$content/$program" "$build/$program"; done
for program in "${tests[@]}"; do strip -o "$content/tests/$program" "$build/tests/$program"; done
[ ! -e "$build/libsinklab_mpi.so" ] || cp "$build/libsinklab_mpi.so" "$content"  # where that machine has Open MPI
cp "$tokens"/* "$content/text"
if [ -f ../shared/peers/torch_baseline.py ]; then
  cp ../shared/peers/torch_baseline.py "$content"
else
  echo "pack: no ../shared/peers/torch_baseline.py: the pack will measure ours alone" >&2
fi

# Every library of every program but those that belong to the system or to the CUDA toolkit.
own='^(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libstdc\+\+|libcuda|libcudart|libcublasLt|libnccl)\.so'
for program in "$content"/train_baseline "$content"/bench_step "$content"/tests/*; do
  ldd "$program" | awk '$2 == "=>" {print $1, $3}'
done | sort -u | while read -r name path; do
  if [[ $name =~ $own ]]; then continue; fi
  [ -f "$path" ] || { echo "pack: error: $name is not found here" >&2; exit 1; }
  cp -L "$path" "$content/lib/$name"
done

mkdir -p "$pack"
rm -f "$pack"/sinklab_gpu.tar.xz
{
  "$content/train_baseline" --version | grep commit
  "$(sed -n 's/^NVCC:FILEPATH=//p' "$build/CMakeCache.txt")" --version | grep release
  date -u +'packed: %F %T UTC'
} >"$content/PACK"
tar -C "$content" --sort=name -c . | xz -T1 -6 --lzma2=preset=6,dict=64MiB >"$pack/sinklab_gpu.tar.xz"
cp tools/gpu/check.sh "$pack"
bytes=$(du -sb "$pack" | cut -f1)
echo "pack: $pack: $((bytes >> 20)) MiB, unpacked $(du -sm "$content" | cut -f1) MiB: ${#programs[@]} programs, ${#tests[@]} tests"
cat "$content/PACK"
[ "$bytes" -le $((limit_mib << 20)) ] || { echo "pack: error: more than $limit_mib MiB" >&2; exit 1; }
