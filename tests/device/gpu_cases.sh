#!/bin/bash
# usage: gpu_cases.sh TENON CHECK DRIVER SECONDS|all
# The cases of operators in the family files, as models on the driver's first device, give what the
# references give. A number: of operators taken by chance until so much time is over and one has
# passed; else all, and each family has kernels there that take some.
set -uo pipefail
tenon=$1 check=$2 device=$3:0 time=$4
if ! said=$("$tenon" device info "$device" 2>&1); then
  echo "skipped: no $device (docs/accelerators.md says what makes one): $said"
  exit 77
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
failures=0 passed=0
# In every other run as on a large GPU, where products are made in parts; not where large kernels
# are compiled when they are first run, for longer than the host waits for small ones (PoCL, and
# lavapipe below wgpu-native).
[[ $((RANDOM % 2)) = 0 || $3 = opencl || $3 = webgpu ]] ||
  export TENON_GPU_UNITS=${TENON_GPU_UNITS-64}
echo "units: ${TENON_GPU_UNITS-its own}"
# An operator taken by chance is cut off where the driver compiles for minutes (lavapipe, whose
# cache of programs is empty on a new machine); what was said until then are failures.
limit=()
[ "$time" = all ] || limit=(timeout 60 stdbuf -oL)
# What is to be tested, and the options that say so.
try() {
  local what=$1 result status
  shift
  result=$("${limit[@]}" "$check" --device "$device" --small "$@")
  status=$?
  if [ $status = 124 ]; then
    what+=", cut off"
    [ -z "$result" ] || failures=$((failures + 1))
  elif [ $status != 0 ]; then
    failures=$((failures + 1))
  fi
  echo "$what: $result"
  [[ $result =~ (^|$'\n')[1-9][0-9]*\ passed ]] && passed=$((passed + 1))
}
# Operators of family files that have kernels there.
operators() {
  "$check" --list --family "$1" |
    awk '/^[^ ]/ { sub(/-[0-9]+( .*)?$/, ""); op = $0 } /^  kernel .*_gpu$/ { print op }'
}
# Region is no operator of models: device.<driver>_model has it.
mapfile -t files < <(grep -l "device: gpu" "$root"/ops/*/*.yaml | grep -v /region/)
if [ "$time" = all ]; then
  for file in "${files[@]}"; do
    before=$passed
    try "$(basename "$file" .yaml)" --family "$file"
    [ $passed -gt $before ] || failures=$((failures + 1))
  done
else
  mapfile -t chosen < <(for f in "${files[@]}"; do operators "$f"; done |
    sort -u | shuf)
  SECONDS=0
  for op in "${chosen[@]}"; do
    [ $SECONDS -lt "$time" ] || [ $passed -eq 0 ] || break
    try "$op" --op "$op"
  done
  [ $passed -gt 0 ] || failures=$((failures + 1))
  # Whose places are of a type of their own, which plans for large GPUs have to leave as they are.
  [[ $3 = opencl || $3 = webgpu ]] ||
    TENON_GPU_UNITS=64 try "GridSample on a large GPU" --op GridSample
fi
[ $failures -eq 0 ]
