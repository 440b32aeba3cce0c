#!/bin/bash
# usage: quantised.sh TENON TESTDATA: a quantised network, written as ONNX, gives the same codes as
# the program that it was written from.
set -uo pipefail
tenon=$1 folder=$2/torchscript/mobilenet-v2-quantized
[ -e "$folder/model.pt" ] || {
  echo "skipped: there is no $folder"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$tenon" convert "$folder/model.pt" -o "$work/model.onnx" -i "$folder/ref/set0_in0.npy" || exit 1
for k in 0 1; do
  for model in "$folder/model.pt" "$work/model.onnx"; do
    "$tenon" run "$model" -i "$folder/ref/set${k}_in0.npy" -q -o "$work/${model##*.}$k" || exit 1
  done
  cmp "$work/pt$k/output.npy" "$work/onnx$k/output.npy" || exit 1
done
