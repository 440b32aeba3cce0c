#!/bin/bash
# usage: report.sh TENON WORK FOLDER
# What explain, check and bench say of where nodes run, and why not elsewhere; bench ends with 1 if
# a named device runs nothing.
set -uo pipefail
tenon=$1 work=$2 folder=$3
model=$folder/policy-go1/model.onnx
if [ ! -f "$model" ]; then
  echo "skipped: there is no $model"
  exit 77
fi
rm -rf "$work" && mkdir -p "$work" || exit 1
failures=0
says() { # CODE SHADOW PATTERN ARGUMENTS...
  local code=$1 shadow=$2 pattern=$3 got out
  shift 3
  out=$(TENON_SHADOW=$shadow "$tenon" "$@" 2>&1)
  got=$?
  if [ $got -ne "$code" ] || ! grep -qE -- "$pattern" <<<"$out"; then
    echo "FAILED: $*: exit status $got, wanted $code and a line like: $pattern"$'\n'"$out"
    failures=$((failures + 1))
  fi
}
whole="^ *shadow:0 +5 of 5 nodes, 100.0 % of 383 k FLOP, in 1 segment; 2 transfers \(192 B"\
" up, 64 B down\); waits: 1$"
says 0 order "$whole" explain "$model" --device shadow
says 0 order "$whole" check "$model" --device shadow
says 0 order "$whole" bench "$model" --device shadow --repeat 3
says 0 order "in 1 segment; 0 transfers \(0 B up, 0 B down\)" \
  bench "$model" --device shadow --repeat 3 --on-device '*'
says 0 order '"device":[[:space:]]*"shadow:0"' explain "$model" --device shadow --json
says 0 order '"share_of_flops":[[:space:]]*1' check "$model" --device shadow --json
says 0 order '"policy":[[:space:]]*"forbid"' bench "$model" --device shadow --repeat 3 --json
says 0 order "^cpu +5 of 5 nodes, 100.0 % of 383 k FLOP \(policy: allow\)$" \
  explain "$model" --device shadow --fallback allow
says 0 order \
  "'mlp_1/Tanh' \(Tanh\) +shadow:0: would cost .* us and transfers, here it costs .* us" \
  explain "$model" --device shadow --fallback allow
says 0 speed=100000 "^shadow:0 +5 of 5 nodes" explain "$model" --device shadow --fallback allow
says 1 order "device 'shadow' runs nothing of this model" \
  bench "$model" --device shadow --fallback allow --repeat 3
says 0 order "^cpu +5 of 5 nodes.*policy: allow" explain "$model" --device auto
says 1 hide=100 "cannot run on the device, and fallback is forbidden" check "$model" --device shadow
says 0 devices=2 "^shadow:1 +the CPU in disguise" device list
says 0 order "^can +small_stores" device info shadow
says 1 order "it is to copy" device info null
says 1 order "there is no device or driver 'warp'" device info warp
says 2 order "takes no name" device list shadow
echo "$failures failures"
[ $failures -eq 0 ]
