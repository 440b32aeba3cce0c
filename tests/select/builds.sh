#!/bin/bash
# Selected builds are smaller than the whole, give the outputs of the whole, and say of every model
# what `tenon check --kernels` has foretold.
# usage: builds.sh TENON BUILD SOURCE
set -uo pipefail
tenon=$1 build=$2 source=$3 failures=0 lacking=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
rm -rf "$build/without" && mkdir -p "$build/without" || exit 1
bytes() { size "$1" | awk 'NR == 2 { print $1 + $2 }'; }

whole=$(bytes "$build/hello_whole")
for which in net two; do
  selected=$(bytes "$build/hello_$which")
  echo "hello_$which: $selected bytes of code and data, $whole with the whole library"
  [ $((selected * 2)) -lt "$whole" ] || fail "hello_$which is not smaller than half of the whole"
done

# a file of another format: what is read is told, and with --with file_kinds what it is
printf 'TFL3TFL3' >"$build/without/other"
said=$("$build/hello_net" "$build/without/other" 2>&1)
[[ "$? $said" = "1 "*'Formats that are read here: onnx' ]] || fail "hello_net: $said"

# A program and a list per row; each says of each model what the other says.
data=$source/tests/data
models=("$data"/*.onnx "$data"/tflite/*.tflite "$source"/tests/emit/models/*.onnx)
others=("$data"/{mnn/net/model.mnn,tflite/net/model.tflite,torchexport/net/model.pt2} \
  "$data"/{executorch/net/model.pte,caffe/net/model.prototxt} \
  "$data/tensorflow/saved/saved_model.pb")
models+=("${others[@]}")
for row in net:net two:two shared:shared typed:typed sparse:sparse cut:cut formats:formats; do
  program=$build/hello_${row%:*} list=$build/selected_${row#*:}.select/parts.txt
  for model in "${models[@]}"; do
    # it does not end; it has inputs that hello cannot make
    [[ "$row ${model##*/}" != "formats:formats "@(endless|types).onnx ]] || continue
    got=$("$program" "$model" 2>/dev/null)
    code=$?
    said=$("$tenon" check --isa none --kernels "$list" "$model" 2>&1)
    foretold=$?
    # of a model that is broken and lacks something too, one of the two is told first; hello takes
    # open dims as 1, and check says so where that is no size that the model takes
    [ "$code" = "$foretold" ] || [[ $code$foretold = @(13|31) ]] ||
      [[ $code = 3 && $said = *"may run here"*"open dims were assumed"* ]] ||
      fail "hello_${row%:*} $model: $code, check said $foretold: $said"
    if [ "$code" = 0 ]; then
      [ "$got" = "$("$build/hello_whole" "$model" 2>/dev/null)" ] || fail "$model: other outputs"
    elif [ "$code" = 1 ]; then
      lacking=$((lacking + 1))
    fi
  done
done
for model in "${others[@]}" "$data/branch.onnx"; do
  "$build/hello_formats" "$model" >/dev/null || fail "hello_formats: $model"
done
# what only programs ask for that say so
"$build/without_net" "$data/net.onnx" "$build/without" ||
  fail "without_net does not refuse as it should"
"$build/without_with" "$data/net.onnx" "$build/without" whole || fail "--with adds nothing"
symbols=$build/without/symbols
holds() { nm "$build/$1" >"$symbols" && grep -q " [Tt] $2$" "$symbols"; }
for name in tn_schema_parse tn_elf_check tn_compile_here tn_record_segment tn_weight_cache_parse \
  tn_vet_op_name tn_file_kind_named tn_retyper_open tn_tuning_parse onnx_list_type tn_packed_get \
  tn_eval_add_step tn_select_attribute onnx_want_feature; do
  holds hello_whole $name || fail "the whole library has no $name"
  holds hello_net $name && fail "hello_net holds $name, which it is linked without"
done
holds hello_two tn_retyper_open || fail "hello_two was made by hand too, and lacks passes"
grep -q "^feature" "$build/selected_net.select/parts.txt" && fail "net.onnx has use for a feature"
[ "$(bytes "$build/without_net")" -lt "$(bytes "$build/without_with")" ] ||
  fail "--with adds no byte"

[ "$lacking" -gt 0 ] || fail "no model lacks a part: the check of what is foretold checks nothing"
for row in net:net two:mlp shared:net; do
  "$build/hello_${row%:*}" "$source/tests/data/${row#*:}.onnx" >/dev/null ||
    fail "${row#*:}.onnx does not run where it was selected"
done
[ "$failures" = 0 ] && echo "$lacking verdicts of models that lack something"
