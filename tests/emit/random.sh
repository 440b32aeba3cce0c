#!/bin/bash
# emit-c on random models: what is written has no warning and passes, and nine in ten are written.
# usage: random.sh TENON WORK [FIRST_SEED [COUNT]]      PYTHON: one with numpy and onnx
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tenon=$1 work=$2 first=${3:-1} count=${4:-150} python=${PYTHON:-python3}
"$python" -c 'import numpy, onnx' 2>/dev/null ||
  { echo "skipped: $python has no numpy or no onnx"; exit 77; }
rm -rf "$work" && mkdir -p "$work" || exit 1
"$python" "$here/random_models.py" "$work/models" "$first" "$count" || exit 1
written=() refused=0
for model in "$work"/models/*.onnx; do
  if "$tenon" emit-c "$model" -o "$work/out" >"$work/log" 2>&1; then
    written+=("$model")
  else
    echo "$(basename "$model"): $(grep -m 1 error "$work/log")"
    grep -q 'error: node' "$work/log" || exit 1
    refused=$((refused + 1))
  fi
done
"$here/run.sh" "$tenon" "$work/written" --here "${written[@]}" || exit 1
echo "$refused of $count models are refused"
[ $((refused * 10)) -le "$count" ]
