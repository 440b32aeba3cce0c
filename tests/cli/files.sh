#!/bin/bash
# tenon convert, compare, test: what they read and write.
. "$(dirname "$0")/kit.sh"
net=$data/net.onnx

# convert
says 0 '' convert "$net" "$work/load.onnx"
says 0 "^equal  y" compare "$work/load.onnx" -i "$data/x.npy" --with "$data/net_expected"
for stage in check infer fold lower fuse partition select arrange; do
  says 0 '' convert "$net" "$work/$stage.onnx" --stage "$stage" --dim batch=2
  says 0 '^opsets ' info "$work/$stage.onnx"
done
says 0 '^  x  f32\[2,3,4,4\]' info "$work/arrange.onnx"
says 0 '' convert "$data/missing.onnx" "$work/missing.onnx" # can be written though it cannot run
says 1 'com.acme::Foo' convert "$data/missing.onnx" "$work/no.onnx" --stage infer
no_file "$work/no.onnx"
says 2 "there is no stage 'polish'" convert "$net" "$work/no.onnx" --stage polish
says 3 'no.xyz: no format has this ending' convert "$net" "$work/no.xyz"
says 3 "there is no format 'xyz'" convert "$net" "$work/no.onnx" --format xyz
says 3 'cannot create a file next to' convert "$net" "$work/nowhere/no.onnx"
no_file "$work/no.onnx"

# external data
two=$work/two && mkdir "$two"
says 0 '' convert "$net" "$two/m.onnx" --external-data weights.bin --external-threshold 1
says 0 "^equal  y" compare "$two/m.onnx" -i "$data/x.npy" --with "$data/net_expected"
[ -s "$two/weights.bin" ] || fail "there is no file of weights"
[ "$(stat -c %s "$two/m.onnx")" -lt "$(stat -c %s "$two/weights.bin")" ] ||
  fail "the weights are in the model's file"
cp "$two/weights.bin" "$work/kept.bin"
# the weights of the model that is read, under its name and another
says 3 '/weights.bin: the model that is saved has its weights in this file' \
  convert "$two/m.onnx" "$two/m2.onnx" --external-data weights.bin --external-threshold 1
ln -s weights.bin "$two/link.onnx"
says 3 'link.onnx: the model that is saved has its weights' \
  convert "$two/m.onnx" "$two/link.onnx"
cp "$net" "$two/n.onnx"
says 3 '/n.onnx: the model that is saved has its graph in this file' \
  convert "$two/n.onnx" "$two/no.onnx" --external-data n.onnx --external-threshold 1
says 3 "'two/w' is no name of a file next to it" \
  convert "$net" "$work/no.onnx" --external-data two/w
says 0 'note: .*small.onnx: nothing was put into w.bin: no weights are large enough' \
  convert "$net" "$work/small.onnx" --external-data w.bin
no_file "$work/w.bin"
says 0 '' convert "$net" "$work/a\\b:c.onnx"
says 3 "weights cannot stand in the same file" \
  convert "$net" "$work/no.onnx" --external-data no.onnx
says 2 '--external-threshold takes a whole number' \
  convert "$net" "$work/no.onnx" --external-threshold 0
# the second of the two files cannot be replaced; the disk is full
mkdir "$two/m3.onnx"
echo old >"$two/w3.bin"
says 3 'm3.onnx: Is a directory' \
  convert "$net" "$two/m3.onnx" --external-data w3.bin --external-threshold 1
[ "$(cat "$two/w3.bin")" = old ] || fail "weights of a model that was not written"
(
  trap '' XFSZ
  ulimit -f 1
  says 3 'cannot write .*/w4.bin: File too large' \
    convert "$net" "$two/m4.onnx" --external-data w4.bin --external-threshold 1
  exit $failures
) || failures=$((failures + 1))
no_file "$two/m4.onnx"
no_file "$two/w4.bin"
cmp -s "$two/weights.bin" "$work/kept.bin" || fail "the weights were changed"
# a model's own place; by default the file of weights is called after it
says 0 '' convert "$two/m.onnx" "$two/m.onnx" --external-threshold 1
[ -s "$two/m.onnx.data" ] || fail "there is no m.onnx.data"
rm "$two/weights.bin"
says 0 "^equal  y" compare "$two/m.onnx" -i "$data/x.npy" --with "$data/net_expected"
[ "$(find "$two" | wc -l)" = 7 ] || fail "unfinished files: $(find "$two")"

[ -z "$(find "$work" -name '*.tmp*' -o -name '.*' -type f)" ] ||
  fail "unfinished files are left behind"

# compare
says 3 '--with .*/nowhere: No such file' \
  compare "$data/net.onnx" -i "$data/x.npy" --with "$work/nowhere"
says 3 'outputs are in a folder or in an .npz file' compare "$data/net.onnx" -i "$data/x.npy" \
  --with "$data/net.onnx"
says 0 '^equal  y: as in .*/net_expected/y.npy$' \
  compare "$net" -i "$data/x.npy" --with "$data/net_expected"
says 0 '^equal  y' compare "$net" -i "$data/x.npz" --with "$data/net_expected.npz"
says 1 '^DIFFER y: 10 of 10 elements differ; element 0 is 2\.625, not 3\.625; largest .* 1$' \
  compare "$net" -i "$data/x.npy" --with "$data/net_other.npz"
says 0 '^equal' compare "$net" -i "$data/x.npy" --with "$data/net_other.npz" --atol 1.5
says 3 'other.npz: holds no output of the model' \
  compare "$net" -i "$data/x.npy" --with "$data/other.npz"
says 3 ': holds no output of the model' compare "$net" -i "$data/x.npy" --with "$work"
says 2 "input 'x' \(f32\[batch,3,4,4\]\) is not given" compare "$net" --with "$data/net_expected"
says 2 'tenon compare needs another model, --with' compare "$net"
# two models, of any formats: channels stand last in one and first in the other
"$tenon" convert "$data/tflite/net/model.tflite" "$work/net_as.onnx" >/dev/null || fail "convert"
says 0 '^equal  y: as in' compare "$data/tflite/net/model.tflite" "$work/net_as.onnx" --random
says 0 '^equal  y: as in' \
  compare "$data/tensorflow/moves/model.pb" "$data/tensorflow/text/model.pbtxt" --random
says 1 "^FIRST  node 'add' \(Add\), output 0 'a': .*through.onnx has no such value" \
  compare "$data/chain.onnx" "$data/through.onnx" --random --bisect
says 1 "^DIFFER y" compare "$data/chain.onnx" "$data/through.onnx" --random
says 0 '^equal  all outputs' compare "$data/typed.onnx" "$data/sparse.onnx" --random --bisect
says 2 'it is compared with one of them' compare "$net" "$net" --with cpu
says 1 '' compare "$net" -i "$data/x.npy" --with "$data/net_other.npz" --json="$work/compare.json"
json "$work/compare.json" equal '^false$'
json "$work/compare.json" outputs.0.difference '10 of 10'

# test: a case out of a model and its own outputs is not to be had here, but folders and
# failures are.
mkdir -p "$work/cases/empty/test_data_set_0" "$work/cases/broken/test_data_set_0"
cp "$net" "$work/cases/empty/model.onnx"
cp "$data/truncated.onnx" "$work/cases/broken/model.onnx"
says 1 '^FAIL .*/broken: .*longer than the message' test "$work/cases"
also "^FAIL .*/empty: input 'x' is not set"
also '^0 passed, 2 failed, 0 skipped$'
says 1 '' test "$work/cases" --no-fork -q --json="$work/cases.json"
json "$work/cases.json" failed '^2$'
json "$work/cases.json" cases.0.outcome '^FAIL$'
says 3 'nowhere' test "$work/nowhere"
finish
