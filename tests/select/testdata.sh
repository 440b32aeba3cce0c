#!/bin/bash
# Every model of the test data can be selected for: portable, and for an instruction set.
# usage: testdata.sh TENON WORK SOURCE
set -uo pipefail
tenon=$1 work=$2 data=${TENON_TESTDATA:-$3/../shared/testdata} failures=0 n=0
[ -d "$data/onnx-models" ] || { echo "skipped: there is no $data"; exit 77; }
mkdir -p "$work"
for folder in "$data"/onnx-models/*/ "$data"/tflite-models/*/; do
  model=$(find "$folder" -maxdepth 1 \( -name '*.onnx' -o -name '*.tflite' \) | head -n 1)
  [ -n "$model" ] || continue
  for isa in none avx2; do
    # what cannot be planned with all parts is no business of a list
    "$tenon" check --isa "$isa" --quiet "$model" >"$work/log" 2>&1 || continue
    grep -q 'were not checked' "$work/log" && continue
    "$tenon" select "$model" --target "$isa" -o "$work/list" >"$work/log" 2>&1
    code=$? n=$((n + 1))
    grep -q 'contrib.*(--plugin)' "$work/log" && continue # a list has Tenon's own parts
    [ "$code" = 0 ] || grep -q 'padded input' "$work/log" ||
      { echo "FAILED: $model for $isa: $(tail -n 3 "$work/log")"; failures=$((failures + 1)); }
  done
done
echo "$n lists"
[ "$n" -gt 40 ] && [ "$failures" = 0 ]
