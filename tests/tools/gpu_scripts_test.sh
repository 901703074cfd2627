#!/usr/bin/env bash
# What tools/gpu/check.sh and pack.sh say to wrong arguments, before they build or run anything (code 2 each, and one line), and how many
# ranks check.sh starts.
set -uo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OUT=$folder/out SINK_CHECK_RESULTS=$folder/results SINK_CHECK_WORK=$folder/work
wrong=0
# refuses WORDS COMMAND...
refuses() {
  local words=$1 code=0 said
  shift
  said=$(timeout 60 "$@" 2>&1) || code=$?
  if [ "$code" -eq 2 ] && [ "$(wc -l <<<"$said")" -eq 1 ] && grep -qF -- "$words" <<<"$said"; then return; fi
  echo "gpu_scripts_test: expected code 2 and '$words', got code $code: $*"
  head -n 5 <<<"$said"
  wrong=1
}
check=tools/gpu/check.sh pack=tools/gpu/pack.sh
mkdir "$folder/empty"
echo text >"$folder/text.txt"
refuses "unknown part 'nonsense'" bash $check nonsense
refuses "--from needs a folder" bash $check --from
refuses "no program selftest in $folder/empty" bash $check --from "$folder/empty" probe
refuses "no program selftest in $folder/empty" bash $check --from "$folder/empty" sink
refuses "SINK_CHECK_PERCENT is expected to be a whole number, got 'fast'" env SINK_CHECK_PERCENT=fast bash $check --plan
refuses "first takes no arguments" bash $check first Softmax
for flag in --arch --text --mib --studies; do refuses "$flag needs a value" bash $pack $flag; done
refuses "there is no file $folder/none.xz" bash $pack --text "$folder/none.xz"
refuses "$folder/text.txt is no .xz file" bash $pack --text "$folder/text.txt"
refuses "--mib is expected to be a whole number of MiB, got '30M'" bash $pack --mib 30M
refuses "no $folder/empty/tokens.h5" bash $pack --studies "$folder/empty"
refuses "unknown flag --txt" bash $pack --txt
for script in $check $pack; do
  bash $script --help | grep -q "bash .*$(basename $script)" || { echo "gpu_scripts_test: $script --help shows no command"; wrong=1; }
done
# `ranks` starts as many as there are GPUs that programs see.
mkdir -p "$folder/gpus"
printf '#!/bin/sh\necho "kernels  cuda (Mock)"\n' >"$folder/gpus/selftest"
printf '#!/bin/sh\nprintf "GPU %%s: Mock\\n" 0 1 2\n' >"$folder/gpus/nvidia-smi"
printf '#!/bin/sh\nexit 0\n' >"$folder/gpus/mpirun"
printf '#!/bin/sh\nexit 1\n' >"$folder/gpus/train_baseline"
chmod +x "$folder"/gpus/*
ranks() { PATH=$folder/gpus:$PATH timeout 60 env "$@" bash $check --from "$folder/gpus" ranks 2>&1; }
expect_ranks() {  # expect_ranks WORDS ENVIRONMENT...
  local words=$1 said
  shift
  said=$(ranks "$@") || true  # train_baseline fails
  grep -qF -- "$words" <<<"$said" && return
  echo "gpu_scripts_test: expected '$words' with $*"
  tail -n 5 <<<"$said"
  wrong=1
}
expect_ranks ": 3 GPUs, --zero 1" -u CUDA_VISIBLE_DEVICES
expect_ranks ": 2 GPUs, --zero 1" CUDA_VISIBLE_DEVICES=0,2
expect_ranks "1 GPU: runs of several ranks need more" CUDA_VISIBLE_DEVICES=1
# The profile is of the kernels that GPUs of all kinds launch.
profiled=$(sed -n "s/.* -k '\{0,1\}regex:\([^' ]*\).*/\1/p" $check)
for kernel in $(grep -ho 'attention_[a-z_]*kernel\b' engine/ops/attention/cuda/attention_{tiles,hopper}_{forward,dq,dk_dv}_cuda.cuh | sort -u); do
  [[ $kernel =~ $profiled ]] || { echo "gpu_scripts_test: $check profiles $profiled, without $kernel"; wrong=1; }
done
exit $wrong
