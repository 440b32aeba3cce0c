#!/bin/bash
# usage: random.sh TENON WORK [FIRST_SEED [COUNT [DEVICE...]]]      PYTHON: one with numpy and onnx
# Random graphs give on devices what the CPU gives: on those named, else on each that is here, and
# on two at once; and where fallback is forbidden, just the nodes that had run on the CPU are named.
# With TENON_GPU_UNITS=64 as on large GPUs.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tenon=$1 work=$2 first=${3:-1} count=${4:-30} python=${PYTHON:-python3}
shift $(($# < 4 ? $# : 4))
"$python" -c 'import numpy, onnx' 2>/dev/null ||
  { echo "skipped: $python has no numpy or no onnx"; exit 77; }
rm -rf "$work" && mkdir -p "$work" || exit 1
"$python" "$here/random_graphs.py" "$work/models" "$first" "$count" || exit 1
devices=("$@")
if [ ${#devices[@]} -eq 0 ]; then
  for driver in shadow gles vulkan opencl webgpu cuda; do
    "$tenon" device info $driver:0 >/dev/null 2>&1 && devices+=($driver)
  done
  devices+=("${devices[-1]}:0 --device shadow:0")
fi
failures=0 compared=0

# Which nodes stay on the CPU with `warn` though nothing says that they live there, and which ones
# `forbid` names.
stay() {
  "$tenon" explain "$@" --fallback warn --brief 2>/dev/null | grep -v "on the host by nature" |
    sed -n "s/^  \\('.*' ([A-Za-z:]*)\\)    .*/\\1/p" | sort
}
named() {
  "$tenon" explain "$@" --fallback forbid --brief 2>&1 >/dev/null |
    sed -n "s/.*error: node \\('.*' ([A-Za-z:]*)\\): .*/\\1/p" | sort
}

for model in "$work"/models/*.onnx; do
  args=$(cat "${model%.onnx}.args")
  # shellcheck disable=SC2086 # ONNX's checker takes what ONNX forbids
  "$tenon" check "$model" ${args##--rtol*} >/dev/null 2>&1 || continue
  for device in "${devices[@]}"; do
    # shellcheck disable=SC2086
    said=$(timeout 300 "$tenon" compare "$model" --random=7 $args --device $device \
      --fallback warn --with cpu 2>&1) && compared=$((compared + 1)) ||
      { echo "FAILED: $(basename "$model") on $device: $said" && failures=$((failures + 1)); }
    # shellcheck disable=SC2086
    on_cpu=$(stay "$model" ${args##--rtol*} --device $device)
    # shellcheck disable=SC2086
    said=$(named "$model" ${args##--rtol*} --device $device)
    [ "$said" = "$on_cpu" ] && continue
    echo "FAILED: $(basename "$model") on $device: on the CPU are $on_cpu, forbidden are $said"
    failures=$((failures + 1))
  done
done
echo "$compared comparisons, $failures failures"
[ $failures -eq 0 ] && [ $compared -gt "$count" ]
