#!/usr/bin/env bash
# Makes one folder of at most 30 MiB with all that check.sh needs on a GPU machine that has a CUDA toolkit, a driver and
# Python, and no package registry: programs and tests built here, the libraries they need, the sources of kernels.so,
# and text as tokens.
#   bash tools/gpu/pack.sh [--arch 90] [--text FILE.txt.xz] [--mib 30] [FOLDER]     build/gpu_pack
#   bash tools/gpu/pack.sh --emulated build/emulated_pack                for the emulated device, to rehearse
#   bash tools/gpu/pack.sh --studies data/english build/studies_pack     only what trains studies: sweep, with all ablations; 44 MiB
#   bash build/gpu_pack/check.sh first                                   there
# --arch: the GPUs, as in CMAKE_CUDA_ARCHITECTURES; 90 is for an H100 or H200, and PTX for later ones. --text: documents
# separated by lines <|endoftext|>, by default the mixture of ../shared/data/text where it is, else text from Debian
# packages. As many documents are packed as fit into --mib, evenly taken; the 60M run then reads each five times.
# --studies: the folder that `prepare` made for the studies, and next to it, as in data/chat, that of `prepare --chat` if there is one.
# The GPU machine's own are the C and C++ libraries (glibc 2.36 and g++ 12 or newer), cudart and cublasLt, and NCCL if
# several GPUs are used. Needs nvcc here, but no GPU.
set -euo pipefail
cd "$(dirname "$0")/../.."
emulated=0 arch=90 limit_mib="" studies="" corpus=../shared/data/text/mix150_train.txt.xz pack=build/gpu_pack
die() { echo "pack.sh: error: $*" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --arch | --text | --mib | --studies) [ -n "${2:-}" ] || die "$1 needs a value" ;;&
    --arch) arch=$2; shift ;;
    --text)
      [ -f "$2" ] || die "--text: there is no file $2 (relative paths begin at $PWD)"
      corpus=$2
      shift
      ;;
    --mib)
      [[ $2 =~ ^[1-9][0-9]{0,5}$ ]] || die "--mib is expected to be a whole number of MiB, got '$2'"
      limit_mib=$2
      shift
      ;;
    --studies) studies=$2; shift ;;
    --emulated) emulated=1 ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' tools/gpu/pack.sh; exit 0 ;;
    -*) die "unknown flag $1 (--help lists them)" ;;
    *) pack=$1 ;;
  esac
  shift
done
command -v xz >/dev/null || die "there is no xz here, which packs (package xz-utils)"
[ ! -f "$corpus" ] || xz --list "$corpus" >/dev/null 2>&1 || die "$corpus is no .xz file"
[ -n "$limit_mib" ] || limit_mib=$([ -n "$studies" ] && echo 44 || echo 30)
build=build/gpu
programs=({train,eval}_{baseline,op_sigmoid_none,bias_k} bench_step selftest)
tests=(device_tests)  # one program
# Those of the device's tests, and one more to time.
ablations="baseline;bias_k;bias_kv;bias_sinktoken;gate_head;kern_mlp_none;norm_layer;norm_post;op_clipped;op_relu;op_sigmoid_none;pos_alibi;pos_learnable;pos_t5"
if [ -n "$studies" ]; then
  [ -f "$studies/tokens.h5" ] || die "no $studies/tokens.h5; \`prepare\` makes it"
  programs=(sweep selftest) tests=() ablations=all
fi
step() { echo "pack: $1, at $SECONDS s"; }

# DT_RPATH, where the libraries of libraries are looked for, too. Any x86 processor of the last ten years.
rpath='$ORIGIN/lib:$ORIGIN/../lib:/usr/local/cuda/lib64'
left_out='^engine/(io|data|comm|stored|cuda/emulated)/'
if [ "$emulated" -eq 1 ]; then
  build=build/emulated left_out='^engine/(io|data|comm|stored)/'
  cmake --preset emulated >/dev/null
else
  cmake --preset cuda -B "$build" -DSINK_ARCH=x86-64-v3 -DSINK_PROGRAMS="baseline;op_sigmoid_none;bias_k" \
    -DSINK_ABLATION_SET="$ablations" -DCMAKE_CUDA_ARCHITECTURES="$arch" -DCMAKE_SKIP_BUILD_RPATH=ON \
    -DCMAKE_EXE_LINKER_FLAGS="-Wl,--disable-new-dtags,-rpath,'$rpath'" >/dev/null
fi
cmake --build "$build" --target "${programs[@]}" "${tests[@]}" prepare
step built

content=$(mktemp -d)
trap 'rm -rf "$content"' EXIT
mkdir -p "$content/tests" "$content/lib" "$content/source/tools/gpu" "$pack"
for program in "${programs[@]}" "${tests[@]/#/tests/}"; do strip -o "$content/$program" "$build/$program"; done
[ ! -e "$build/libsinklab_mpi.so" ] || cp "$build/libsinklab_mpi.so" "$content"  # where that machine has Open MPI
cp -r tools/gpu/kernels "$content/source/tools/gpu"
if [ -n "$studies" ]; then  # with the results that are there, so that only the missing runs are trained
  mkdir -p "$content/studies/"{results,data}
  cp -r train/studies/*.toml train/studies/recipes "$content/studies"
  cp train/studies/results/*-runs.csv "$content/studies/results"
  cp -rL "$studies" "$content/studies/data/english"  # where a checkout has it, as the results store the path
  [ ! -d "$studies/../chat" ] || cp -rL "$studies/../chat" "$content/studies/data"
fi
find engine -name '*.h' -o -name '*.cuh' -o -name '*.cu' -o -name '*.cpp' -o -name '*.def' |
  grep -vE "$left_out" | tar -c -T - | tar -x -C "$content/source"
if [ -f ../shared/peers/torch_baseline.py ]; then
  cp ../shared/peers/torch_baseline.py "$content"
else
  echo "pack: no ../shared/peers/torch_baseline.py: training steps will be timed without PyTorch's" >&2
fi

# Every library of every program but those that belong to the system or to the CUDA toolkit.
own='^(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libstdc\+\+|libcuda|libcudart|libcublasLt|libcublas)\.so'
for program in "${programs[@]}" "${tests[@]/#/tests/}"; do
  ldd "$content/$program" | awk '$2 == "=>" {print $1, $3}'
done | sort -u | while read -r name path; do
  if [[ $name =~ $own ]]; then continue; fi
  [ -f "$path" ] || { echo "pack: error: $name is not found here" >&2; exit 1; }
  cp -L "$path" "$content/lib/$name"
done
{
  "$content/${programs[0]}" --version | grep commit
  [ "$emulated" -eq 1 ] || "$(sed -n 's/^set(CMAKE_CUDA_COMPILER "\(.*\)")/\1/p' "$build"/CMakeFiles/*/CMakeCUDACompiler.cmake)" --version | grep release
  date -u +'packed: %F %T UTC'
} >"$content/PACK"
# compress FOLDER FILE: SINK_PACK_XZ=-0 is fast and large, for a rehearsal.
compress() {
  tar -C "$1" --sort=name -c . | if [ -n "${SINK_PACK_XZ:-}" ]; then xz "$SINK_PACK_XZ"; else xz -T1 --lzma2=preset=5,dict=256MiB; fi >"$2"
}
compress "$content" "$pack/sinklab_gpu.tar.xz"
cp tools/gpu/check.sh "$pack"
used=$(du -sb --exclude=text.tar.xz "$pack" | cut -f1)
step "programs packed: $((used >> 20)) MiB"

done_packing() {
  bytes=$(du -sb "$pack" | cut -f1)
  echo "pack: $pack: $((bytes * 10 >> 20)) tenths of a MiB, unpacked $(du -sm "$content" | cut -f1) MiB; ${#programs[@]} programs, tests: ${tests[*]:-none}; $SECONDS s"
  cat "$content/PACK"
  [ "$bytes" -le $((limit_mib << 20)) ] || { echo "pack: error: more than $limit_mib MiB" >&2; exit 1; }
}
if [ -n "$studies" ]; then done_packing; exit 0; fi

# The text gets what the programs leave of the limit: 4.1 bytes of it take one as compressed tokens (measured).
if [ ! -f "$corpus" ]; then
  bash tools/corpus/make_text.sh "$build/text"
  cat "$build"/text/*.txt | xz -T0 -0 >"$build/text.txt.xz"
  corpus=$build/text.txt.xz
fi
text_bytes=$(xz --robot --list "$corpus" | awk '$1 == "totals" {print $5}')
percent=$(((((limit_mib << 20) - used) * 95 / 100) * 390 / text_bytes))
[ "$percent" -le 100 ] || percent=100
[ "$percent" -ge 1 ] || { echo "pack: error: the programs leave no room for text" >&2; exit 1; }
tokens=$build/text_tokens_$(cksum <"$corpus" | cut -d' ' -f1)_$percent  # of this text: others may have the same percentage
if [ ! -s "$tokens/tokens.h5" ]; then
  # A document is taken if the share of the bytes so far allows it.
  xz -dc "$corpus" | awk -v share="$percent" 'BEGIN {RS = "<\\|endoftext\\|>\n"; ORS = "<|endoftext|>\n"}
    {seen += length; if ((kept + length) * 100 <= seen * share) {kept += length; print}}' >"$build/text_share.txt"
  "$build/prepare" --text "$build/text_share.txt" --vocab 16384 --validation-fraction 0.01 --out "$tokens" | tee "$tokens.log"
  awk '$1 == "train" && $2 == "tokens" {print $3}' "$tokens.log" >"$tokens/TRAIN_TOKENS"  # for the number of steps
fi
mkdir "$content/text"  # a separate archive: the size of the other one decides how much text there is
cp "$tokens"/* "$content/text"
step "text: $percent %"

compress "$content/text" "$pack/text.tar.xz"
done_packing
