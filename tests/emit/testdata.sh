#!/bin/bash
# emit-c on all models of the test data: what is written has to pass, and of those whose shapes are
# static nineteen in twenty have to be written. The others are refused, with a reason for each node.
# usage: testdata.sh TENON WORK SOURCE [CONTRIB]      CONTRIB: the plug-in that some of them need
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
plugin=(${4:+--plugin "$4"})
tenon=$1 work=$2 data=${TENON_TESTDATA:-$3/../shared/testdata}
[ -d "$data" ] || { echo "skipped: there is no folder $data"; exit 77; }
rm -rf "$work" && mkdir -p "$work" || exit 1

# what no C can be written for, and why
declare -A not_static=(
  [onnx-models/cntk-scan]='it runs subgraphs'
  [onnx-models/silero-vad]='inference failed|it runs subgraphs'
  [onnx-models/silero-vad-16k-op15]='it runs subgraphs'
  [onnx-models/sklearn-randomforest]="its outputs' shapes depend on data"
  [tensorflow/kws-basic-lstm-s]='it runs subgraphs'
)
# what there is no C for yet, or has no shapes
skipped=' caffe/prototxt-only tensorflow/tract-plus3 '
# dims that a file leaves open
declare -A dims=(
  [onnx-models/silero-vad]='--shape input=1x512 --shape state=2x1x128'
  [onnx-models/silero-vad-16k-op15]='--shape input=1x512 --shape state=2x1x128'
  [onnx-models/bert-toy]='--dim max_seq_len_in_batch=11'
  [onnx-models/dummy-transformer]='--dim tokens=9'
  [onnx-models/t5ish-encoder]='--dim tokens=7'
  [onnx-models/t5ish-decoder]='--dim target_tokens=5 --dim source_tokens=7'
  [tensorflow/kws-basic-lstm-s]='--shape 1x49x10'
  [tensorflow/kws-cnn-s]='--shape 1x49x10'
  [tensorflow/kws-dnn-s]='--shape 1x25x10'
  [tensorflow/kws-ds-cnn-s]='--shape 1x49x10'
  [tensorflow/tf2onnx-lstm]='--shape keep_prob='
)

file_of() { # FAMILY/NAME
  local dir=$data/$1
  case $1 in
    onnx-models/*) echo "$dir/model.onnx" ;;
    tflite-models/*) echo "$dir/model.tflite" ;;
    caffe/*) # weights stand beside the text under another name
      mkdir -p "$work/caffe/$1"
      cp "$dir/deploy.prototxt" "$work/caffe/$1/model.prototxt"
      cp "$dir/weights.caffemodel" "$work/caffe/$1/model.caffemodel"
      echo "$work/caffe/$1/model.prototxt" ;;
    *) [ -f "$dir/frozen.pb" ] && echo "$dir/frozen.pb" || echo "$dir" ;;
  esac
}

status=0 static=0 written=0
for dir in "$data"/{onnx-models,tflite-models,caffe,tensorflow}/*/; do
  id=${dir%/} id=${id#"$data"/}
  [[ $skipped != *[[:space:]]"$id"[[:space:]]* ]] || continue
  reason=${not_static[$id]:-}
  [ -n "$reason" ] || static=$((static + 1))
  out=$work/${id/\//_}
  # shellcheck disable=SC2086
  if ! "$tenon" emit-c "$(file_of "$id")" -o "$out" "${plugin[@]}" ${dims[$id]:-} \
    >"$work/log" 2>&1; then
    echo "$id: not written: $(grep -c 'error: node' "$work/log") nodes"
    grep -m 2 -E "${reason:-error: node .*there is no C|error: node .*kernel}" "$work/log" ||
      { echo "FAILED: $id: another reason"; cat "$work/log"; status=1; }
    continue
  fi
  [ -z "$reason" ] || { echo "FAILED: $id has become static: change this list"; status=1; }
  "$here/built.sh" "$out" || { echo "FAILED: $id"; status=1; continue; }
  written=$((written + 1))
  rm -rf "$out"
done
echo "$written of $static models of static shapes are written, and pass"
[ $((written * 20)) -ge $((static * 19)) ] || status=1
exit $status
