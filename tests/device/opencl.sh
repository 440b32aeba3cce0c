#!/bin/bash
# usage: opencl.sh TENON WORK MODEL
# Models of products and convolutions run wholly on the first OpenCL device, in tiles that fit and
# not, and give what the CPU gives; what has no kernel there is an error, or runs on the CPU.
set -uo pipefail
tenon=$1 work=$2 model=$3
rm -rf "$work" && mkdir -p "$work" || exit 1
if ! "$tenon" device info opencl:0 >"$work/info" 2>&1; then
  echo "skipped: no OpenCL device (PoCL is one: pocl-opencl-icd): $(cat "$work/info")"
  exit 77
fi
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
for batch in 1 21; do
  here=(--dim batch=$batch --random=5)
  there=("${here[@]}" --device opencl:0 --fallback forbid)
  "$tenon" run "$model" "${here[@]}" --output "$work/$batch" >/dev/null || fail "batch $batch"
  "$tenon" compare "$model" "${there[@]}" --with "$work/$batch" --rtol 1e-5 --atol 1e-5 ||
    fail "batch $batch on opencl:0"
  "$tenon" check "$model" "${there[@]}" | grep -q "opencl:0 .* 100.0 % of .*; waits: 1$" ||
    fail "batch $batch is not wholly on opencl:0"
  "$tenon" run "$model" "${there[@]}" --repeat 5 --threads 2 >/dev/null || fail "repeated"
done
# A net of convolutions, and one with a type that no kernel moves there.
net=$(dirname "$model")/net.onnx types=$(dirname "$model")/types.onnx
"$tenon" run "$net" --random=5 --output "$work/net" >/dev/null || fail "net.onnx on the CPU"
"$tenon" compare "$net" --random=5 --device opencl:0 --with "$work/net" --rtol 1e-4 --atol 1e-5 ||
  fail "net.onnx on opencl:0"
"$tenon" check "$types" --device opencl:0 >"$work/said" 2>&1 && fail "types.onnx runs"
refused="cannot run on the device, and fallback is forbidden; opencl:0: region_gpu: "
grep -q "$refused" "$work/said" ||
  fail "types.onnx: $(cat "$work/said")"
"$tenon" check "$types" --device opencl:0 --fallback warn >"$work/said" 2>&1 ||
  fail "with the CPU's help"
echo "$failures failures"
[ $failures -eq 0 ]
