#!/bin/bash
# usage: standard.sh TENON DATA: small models of other formats become ONNX files that hold operators
# of ai.onnx alone and answer what the models answer.
set -uo pipefail
tenon=$1 data=$2 status=0
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
fail() {
  echo "$*"
  status=1
}
convert() { # MODEL NAME: beside what the model answers
  local input inputs=() # for their shapes
  for input in "$(dirname "$1")"/ref/set0_in*.npy; do inputs+=(-i "$input"); done
  mkdir -p "$work/all/$2"
  "$tenon" convert "$1" "${inputs[@]}" -o "$work/all/$2/model.onnx" 2>"$work/err" ||
    fail "$2: $(cat "$work/err")"
  "$tenon" info "$work/all/$2/model.onnx" | grep '::' && fail "$2 holds foreign operators"
  mkdir -p "$work/all/$2/ref" # the first set: later ones may go on from its states
  cp "$(dirname "$1")"/ref/set0_* "$work/all/$2/ref"
}
for name in net net_int8 codes control moves products recurrent spectrum; do
  convert "$data/tflite/$name/model.tflite" "tflite_$name"
done
for model in "$data"/{caffe,tensorflow}/*/model.{prototxt,pb,pbtxt}; do
  [[ $model == */words/* || $model == */resized/* ]] && continue # refused, see below
  [[ $model == */cepstra/* ]] && continue # parts of complex numbers, behind a slice of them
  [ -e "$model" ] && convert "$model" "$(cut -d/ --output-delimiter=_ -f1,2 <<<"${model#"$data"/}")"
done
# codes may be off by a step, nothing else may
out=$("$tenon" test "$work/all" -q | grep -v 'tflite_codes: .* largest difference 1$')
grep -q '^\(FAIL\|skip\) ' <<<"$out" && fail "$out"
n=$(ls "$work/all" | wc -l)
grep -q "^\($n passed, 0\|$((n - 1)) passed, 1\) failed, 0 skipped\$" <<<"$out" || fail "$out"

# transposes between layers are gone
n=$("$tenon" info "$work/all/tflite_net/model.onnx" | sed -n 's/^ *\([0-9]*\)  Transpose .*/\1/p')
[ "${n:-0}" -le 3 ] || fail "tflite_net has $n transposes"

# a state is an input with a default, and an output
states=$work/states.onnx
"$tenon" convert "$data/tflite/states/model.tflite" -o "$states" --entry add || status=1
about=$("$tenon" info "$states")
grep -q 'total.before .*f32\[2\]' <<<"$about" || fail "no input of the state: $about"
grep -q 'state/total .*f32\[2\]' <<<"$about" || fail "no output of the state: $about"

# what has no form in ai.onnx is refused by name, and nothing is written
"$tenon" convert "$data/tflite/custom/model.tflite" -o "$work/custom.onnx" 2>"$work/err" &&
  fail "an operator that nobody knows is written"
grep -q 'Nobody_Knows' "$work/err" || fail "it is not named: $(cat "$work/err")"
[ -e "$work/custom.onnx" ] && fail "a file is left"
"$tenon" convert "$data/tensorflow/words/model.pb" -o "$work/words.onnx" 2>"$work/err" &&
  fail "operators of texts that ai.onnx lacks are written"
grep -q 'RegexReplace): cannot be written as ONNX: has no form in ai.onnx' "$work/err" ||
  fail "they are not named: $(cat "$work/err")"
[ -e "$work/words.onnx" ] && fail "a file of texts is left"
"$tenon" convert "$data/tensorflow/resized/model.pb" -o "$work/newer.onnx" 2>"$work/err" &&
  fail "an operator of a newer version is written"
grep -q "(CumProd): needs version 26 of ai.onnx; files are written in version 24" "$work/err" ||
  fail "it is not named: $(cat "$work/err")"
# as read, on demand
"$tenon" convert "$data/tflite/custom/model.tflite" "$work/custom.onnx" --stage load || status=1
exit $status
