#!/bin/bash
# usage: cases.sh TENON FOLDER: the small TFLite models answer what is stored beside them, and need
# no transposes but for their inputs.
. "$(dirname "$0")/../models/kit.sh"
passes '35 passed, 0 failed, 3 skipped'
grep -q '^skip .*/custom: .*operator tflite::Nobody_Knows; no plug-in' <<<"$out" ||
  fail "the custom operator is not named: $out"
net=$folder/net/model.tflite
n=$("$tenon" explain "$net" 2>/dev/null | grep -c '^[0-9]* .*(Region)')
[ "$n" -le 2 ] || fail "net has $n copies; one at its input and one before the mean are enough"
plan=$("$tenon" explain "$net" --brief 2>/dev/null)
if grep -q conv_depthwise_blocked_ <<<"$plan"; then # there are vectors
  grep -q conv_narrow_last_ <<<"$plan" || fail "the picture is not read as it lies: $plan"
fi
# a model that answers something else is a failure
notices moves set1_out0 set0_out0
grep -q "^FAIL .*/moves: output 'y' " <<<"$out" || fail "$out"
"$tenon" info "$net" | grep -A1 '^outputs' | grep -q '^  y  f32\[1,4\]$' ||
  fail "info does not show the type that the file declares of its output"
# signatures are entries, variables states, and tables are looked up
states=$folder/states/model.tflite
"$tenon" info "$states" | grep -A1 '^states' | grep -q '^  total  f32\[2\]$' || fail "no state"
"$tenon" info "$states" | grep -q '^entries  *add, get$' || fail "no entries"
"$tenon" run "$states" --entry get | grep -q '^total: f32\[2\] .*\[10, 20\]$' || fail "entry get"
fails "no signature 'no'; there are: 'add', 'get'" run "$states" --entry no
printf '\3\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0' >"$work/q.bin"
printf '\377\377\377\377\377\377\377\377\0\0\0\0\0\1\0\0' >>"$work/q.bin"
"$tenon" run "$folder/lookup/model.tflite" -i "$work/q.bin" >"$work/out"
grep -qF '["three", "none", "minus one", "many"]' "$work/out" || fail "lookup: $(cat "$work/out")"
# what is drawn: between 0 and 1, around 0, of classes that have a chance; the same by seeds
for k in 1 2; do "$tenon" run "$folder/drawn/model.tflite" >"$work/drawn$k" || fail "drawn"; done
cmp "$work/drawn1" "$work/drawn2" || fail "seeds are not looked at"
for line in 'uniform: f32\[40,50\]  min 0\.00[0-9]*  max 0\.99[0-9]*  mean 0\.[45]' \
  'normal: f32\[40,50\]  min -[345]\.[0-9]*  max [345]\.[0-9]*  mean -*0*\.[0-9]' \
  'classes: i64\[2,100\]  min 0  max 2 '; do
  grep -q "^$line" "$work/drawn1" || fail "not like '$line': $(cat "$work/drawn1")"
done
about=$("$tenon" info "$folder/described/model.tflite")
for line in 'model_name  *Twice' 'license  *free' 'input_0_is  *(x - 127.5) / 0.5 2 4' \
  'files  *labels.txt'; do
  grep -q "^$line\$" <<<"$about" || fail "info does not show '$line': $about"
done
# labels that are packed behind the model go with the classes
if command -v python3 >/dev/null; then
  cp "$folder/described/model.tflite" "$work/labelled.tflite"
  chmod u+w "$work/labelled.tflite"
  python3 -c 'import sys, zipfile
zipfile.ZipFile(sys.argv[1], "a").writestr("labels.txt", "first\nsecond\n")' "$work/labelled.tflite"
  "$tenon" run "$work/labelled.tflite" --top 2 --random >"$work/out" || fail "labels"
  grep -q '^    [12]\.  \[1\]  .*  second$' "$work/out" || fail "no labels: $(cat "$work/out")"
fi
# a composite has its attributes, for those who take it whole
"$tenon" convert --stage load "$folder/composite/model.tflite" "$work/composite.onnx" || fail "load"
for word in stretch factor steps strict; do
  grep -qa "$word" "$work/composite.onnx" || fail "the composite has no '$word'"
done
# operators of TensorFlow are those of its reader, which names what it does not know
other=$work/other.tflite
sed 's/CropAndResize/CropAndResort/g' "$folder/select_tf/model.tflite" >"$other"
fails "(tf::CropAndResort): not supported: operator tf::CropAndResort; no plug-in offers it" \
  run "$other" --random
# an LSTM of 8 bits as numbers for files: the same codes, or next to them
"$tenon" convert "$folder/cells/model.tflite" -o "$work/cells.onnx" || fail "an LSTM of 8 bits"
for model in "$folder/cells/model.tflite" "$work/cells.onnx"; do
  "$tenon" run "$model" -i "$folder/cells/ref/set0_in0.npy" 2>/dev/null |
    grep "^y: " >"$work/${model##*.}"
done
cmp "$work/tflite" "$work/onnx" || fail "$(cat "$work/tflite" "$work/onnx")"
rows=$("$tenon" ops --format tflite)
grep -q ' CONV_2D .*Conv between Transposes' <<<"$rows" || fail "no row of CONV_2D"
grep -q '^210 operators: ' <<<"$rows" || fail "not all operators have a row"
exit $status
