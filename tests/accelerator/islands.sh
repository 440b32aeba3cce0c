#!/bin/bash
# usage: islands.sh TENON WORK ACME.so DATA
# Islands of a vendor that works: results, policies, the report, the cache, in this process and in
# one of its own.
set -uo pipefail
tenon=$1 work=$2 acme=$3 data=$4
. "$(dirname "$0")/common.sh"
model=$data/chain.onnx
on=(--plugin "$acme" --device acme-npu-2)
same "$model" "${on[@]}" --fallback warn
same "$model" "${on[@]}" --fallback allow
same "$model" --plugin "$acme" --device acme --fallback warn
TENON_COMPILE=inside TENON_MODULE_CACHE= same "$model" "${on[@]}" --fallback warn
says 1 "node 'relu' \(Relu\): cannot run on the accelerator, .*; acme-npu-2: declined: acme" \
  run "$model" --random "${on[@]}"
says 0 "warning: node 'relu' \(Relu\): runs on the cpu" run "$model" --random "${on[@]}" \
  --fallback warn
says 0 "^ *acme-npu-2 +4 of 5 nodes, 80.0 % of 30 FLOP, in 2 islands$" \
  explain "$model" "${on[@]}" --fallback warn
says 0 "^ *cpu +1 of 5 nodes.*policy: warn" explain "$model" "${on[@]}" --fallback warn
says 0 "'relu' \(Relu\) +acme-npu-2: declined: acme adds, subtracts and multiplies, no more" \
  explain "$model" "${on[@]}" --fallback warn
says 0 '"islands":[[:space:]]*2' explain "$model" "${on[@]}" --fallback warn --json
says 0 "would cost .* us and transfers, here it costs .* us" \
  explain "$model" "${on[@]}" --fallback allow
says 1 "device 'acme' runs nothing of this model" \
  bench "$model" --plugin "$acme" --device acme --fallback allow --repeat 3
says 0 "kernel +acme, from acme, on acme-npu-2" explain "$model" "${on[@]}" --fallback warn
says 0 "^acme-npu-2 +npu, kit 1.0" device list --plugin "$acme"
says 0 "^compiler +acme" device info acme-npu-2 --plugin "$acme"
# another vendor's name
says 3 "there is no device or driver 'acme-npu-2'|acme-npu-2" run "$model" --random --device \
  acme-npu-2
# the cache: one module for both islands, found again; a damaged one is made anew
rm -rf "$work/modules"
same "$model" "${on[@]}" --fallback warn
[ "$(ls "$work/modules" | wc -l)" -eq 1 ] || { echo \
  "FAILED: the cache holds $(ls "$work/modules")"; failures=$((failures + 1)); }
TENON_COMPILE=off same "$model" "${on[@]}" --fallback warn
for file in "$work"/modules/*; do
  printf 'x' | dd of="$file" bs=1 seek=200 conv=notrunc 2>/dev/null
done
says 0 "SHA-256 of its index differs; it is compiled again" run "$model" --random "${on[@]}" \
  --fallback warn
TENON_COMPILE=off same "$model" "${on[@]}" --fallback warn
rm -rf "$work/modules"
TENON_COMPILE=off says 0 "there is no module for it, and TENON_COMPILE=off" \
  explain "$model" "${on[@]}" --fallback warn
TENON_COMPILE=/nonexistent says 0 "/nonexistent, which is to run compilers, cannot be started" \
  explain "$model" "${on[@]}" --fallback warn
says 0 "^acme-npu-2: [1-9] of [0-9]+ cases taken, 0 failed" conform acme-npu-2 --plugin "$acme"
says 0 "^shadow:0: [0-9]+ of [0-9]+ cases taken, 0 failed" conform shadow:0
finish
