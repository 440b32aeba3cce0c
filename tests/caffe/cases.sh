#!/bin/bash
# usage: cases.sh TENON FOLDER: the small Caffe networks answer what is stored beside them; what is
# wrong in a file is named with line and column.
set -uo pipefail
tenon=$1 folder=$2 status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$*"
  status=1
}
out=$("$tenon" test "$folder") || fail "tenon test: exit status $?"
grep -q '^3 passed, 0 failed, 0 skipped$' <<<"$out" || fail "unexpected: $out"
# a .prototxt of this text, without weights, is refused with this message
refuses() {
  printf '%s\n' "$2" >"$work/x.prototxt"
  "$tenon" info "$work/x.prototxt" >"$work/out" 2>&1 && fail "taken: $2"
  grep -qF -- "$1" "$work/out" || fail "not '$1': $(cat "$work/out")"
}
in='input: "x" input_dim: 1 input_dim: 2 input_dim: 4 input_dim: 4'
refuses "x.prototxt:2:36: 'typo' is no field of LayerParameter" "$in
layer { name: \"a\" type: \"ReLU\"     typo: 1 }"
refuses "'MEAN' is no value of 'pool', which takes MAX=0 AVE=1" "$in
layer { type: \"Pooling\" pooling_param { pool: MEAN } }"
refuses "x.prototxt:2:1: this LayerParameter has no end" "$in
layer { name: \"a\""
refuses "no layer before it gives 'y'" "$in
layer { name: \"a\" type: \"ReLU\" bottom: \"y\" top: \"z\" }"
refuses "layer 'a' (Python): not supported:" "$in
layer { name: \"a\" type: \"Python\" bottom: \"x\" top: \"z\" }"
refuses "(V0)" "$in
layers { layer { name: \"a\" type: \"relu\" } bottom: \"x\" top: \"z\" }"
refuses "needs weights, and there is no 'x.caffemodel'" "$in
layer { name: \"a\" type: \"InnerProduct\" bottom: \"x\" top: \"z\" }"
refuses "only layers for training give what it reads" "
layer { name: \"d\" type: \"Data\" top: \"x\" }
layer { name: \"a\" type: \"ReLU\" bottom: \"x\" top: \"z\" }"
# what is refused when types are known: the network of SSD's layers, edited
does_not_run() { # MESSAGE EDIT
  sed "$2" "$folder/ssd/model.prototxt" >"$work/ssd.prototxt"
  "$tenon" run "$work/ssd.prototxt" --random >"$work/out" 2>&1 && fail "runs: $2"
  grep -qF -- "$1" "$work/out" || fail "not '$1': $(cat "$work/out")"
}
does_not_run "node 'found' (caffe::DetectionOutput): not supported: top_k of 0" \
  's/top_k: 20/top_k: 0/'
does_not_run "so many aspect ratios" "s/aspect_ratio: 2/$(printf 'aspect_ratio: %d ' {2..130})/"
# old layers, and pooling that rounds up: 4 windows of 4 elements by 3 are 2
printf '%s\n' "$in" 'layers { name: "p" type: POOLING bottom: "x" top: "y"
  pooling_param { kernel_size: 2 stride: 3 } }' >"$work/old.prototxt"
"$tenon" run "$work/old.prototxt" --random | grep -q '^y: f32\[1,2,2,2\]' || fail "no V1 layers"
rows=$("$tenon" ops --format caffe)
grep -q ' Convolution .*Conv' <<<"$rows" || fail "no row of Convolution"
exit $status
