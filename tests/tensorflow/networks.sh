#!/bin/bash
# usage: networks.sh TENON TESTDATA: TensorFlow graphs answer what is stored beside them. They are
# copied so that inputs and outputs are called by their numbers. Exit status 77: there are none.
set -uo pipefail
tenon=$1 data=${TENON_TESTDATA:-$2}/tensorflow status=0
if ! [ -d "$data" ]; then
  echo "skipped: there is no folder $data"
  exit 77
fi
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
# names as meta.json lists them, one a line, as files have them
names() {
  grep -o "\"$2\": \[[^]]*\]" "$1" | grep -o '"[^"]*"' | tail -n +2 | tr -d '"' | tr ':' '_'
}
for meta in "$data"/*/ref/meta.json; do
  ref=$(dirname "$meta")
  to=$work/$(basename "$(dirname "$ref")")
  mkdir -p "$to/ref"
  cp "$ref/../frozen.pb" "$to/model.pb"
  for set in 0 1; do
    for kind in in out; do
      k=0
      for name in $(names "$meta" "${kind}puts"); do
        file=$ref/set${set}_${kind}_$name.npy
        [ -e "$file" ] && cp "$file" "$to/ref/set${set}_$kind$k.npy"
        k=$((k + 1))
      done
    done
  done
done
# of dropout, nothing is dropped: 1
printf '\x93NUMPY\x01\x00v\x00%-117s\n\x00\x00\x80\x3f' \
  "{'descr': '<f4', 'fortran_order': False, 'shape': (), }" >"$work/tf2onnx-lstm/ref/set0_in1.npy"
out=$("$tenon" test "$work") || status=1
echo "$out"
grep -q '^8 passed, 0 failed, 0 skipped$' <<<"$out" || status=1
# channels stand behind space in the file: of the Transposes around its operators none is left
steps=$("$tenon" explain "$work/kws-ds-cnn-s/model.pb" --shape 1x49x10 2>/dev/null | grep '^[0-9]')
if grep -Eq 'Region|Transpose' <<<"$steps" || ! grep -q Conv <<<"$steps"; then
  echo "$steps"
  status=1
fi
# without stored outputs: they run
"$tenon" run "$data/kws-basic-lstm-s/frozen.pb" --input "$data/kws-cnn-s/ref/set0_in_Mfcc_0.npy" |
  grep -q '^labels_softmax: f32\[1,12\] .*max 0.99849[89]' || { echo "kws-basic-lstm-s"; status=1; }
"$tenon" run "$data/samplenet-tf2" --random 2>/dev/null | grep -q '^dense_12: f32\[1,10\]' ||
  { echo "samplenet-tf2"; status=1; }
"$tenon" info "$data/tract-plus3/frozen.pb" >/dev/null || { echo "tract-plus3"; status=1; }
exit $status
