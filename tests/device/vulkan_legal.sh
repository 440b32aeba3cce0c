#!/bin/bash
# usage: vulkan_legal.sh TENON CHECK DRIVER_TEST MODEL
# Khronos' validation layer has nothing to say against what the driver of Vulkan asks for: alone,
# with a model, and with the kernels of each family.
set -uo pipefail
tenon=$1 check=$2 driver_test=$3 model=$4
export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
said=$(VK_LOADER_DEBUG=layer "$tenon" device info vulkan:0 2>&1)
if [ $? -ne 0 ] || ! grep -q "layer.*VkLayer_khronos_validation" <<<"$said"; then
  echo "skipped: no vulkan:0, or no validation layer (vulkan-validationlayers)"
  exit 77
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
failures=0
try() {
  local out
  if ! out=$("$@" 2>&1) || grep -q "VUID\|UNASSIGNED\|Validation Error" <<<"$out"; then
    echo "FAILED: $*"
    grep "VUID\|UNASSIGNED\|Validation Error\|FAIL" <<<"$out" | head -5
    failures=$((failures + 1))
  fi
}
try "$driver_test" vulkan
try "$tenon" run "$model" --random --dim batch=21 --device vulkan:0 --repeat 3
mapfile -t files < <(grep -l "device: gpu" "$root"/ops/*/*.yaml | grep -v /region/)
for yaml in "${files[@]}"; do
  try "$check" --device vulkan:0 --small --family "$yaml"
  TENON_GPU_UNITS=64 try "$check" --device vulkan:0 --small --family "$yaml"
done
echo "$failures failures"
[ $failures -eq 0 ]
