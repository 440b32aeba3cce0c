#!/bin/bash
# usage: modules.sh TENON WORK ACME.so BAD.so DATA
# Modules made ahead of time, in a file beside the model: used without compiling, refused where they
# are damaged, mixed up, or of another target.
set -uo pipefail
tenon=$1 work=$2 acme=$3 bad=$4 data=$5
. "$(dirname "$0")/common.sh"
cp "$data/chain.onnx" "$data/adds.onnx" "$work" || exit 1
model=$work/chain.onnx
on=(--plugin "$acme" --device acme-npu-2)
says 0 "chain.onnx.modules: 2 islands of 4 nodes, of 5 that there are" compile "$model" --for \
  acme-npu-2 --plugin "$acme"
export TENON_MODULE_CACHE= TENON_COMPILE=off
same "$model" "${on[@]}" --fallback warn
says 0 "acme-npu-2 +4 of 5 nodes, 80.0 % of 30 FLOP, in 2 islands" explain "$model" "${on[@]}" \
  --fallback warn
# beside another model, they are not its own
cp "$model.modules" "$work/adds.onnx.modules"
says 0 "adds|made of other nodes or shapes|Add" explain "$work/adds.onnx" "${on[@]}" --fallback \
  allow
same "$work/adds.onnx" "${on[@]}" --fallback warn
# damaged: each of many places, whatever stands there
cp "$model.modules" "$work/whole"
size=$(stat -c %s "$work/whole")
says 0 "acme-npu-2 +4 of 5" explain "$model" "${on[@]}" --fallback warn
broken() { # PATTERN: forbidden an error, else the model runs without them
  says 3 "$1" run "$model" --random "${on[@]}"
  says 0 "$1.*its modules are not used" run "$model" --random "${on[@]}" --fallback warn
  same "$model" "${on[@]}" --fallback warn
  cp "$work/whole" "$model.modules"
}
printf '\377' | dd of="$model.modules" bs=1 seek=$((size - 3)) conv=notrunc 2>/dev/null
broken "module 1 of '.*chain.onnx.modules': SHA-256 differs"
printf '\377' | dd of="$model.modules" bs=1 seek=200 conv=notrunc 2>/dev/null
broken "chain.onnx.modules: SHA-256 of its index differs"
head -c $((size / 2)) "$work/whole" >"$model.modules"
broken "chain.onnx.modules: it is cut off, or something follows it"
printf 'x' >>"$model.modules"
broken "chain.onnx.modules: it is cut off, or something follows it"
printf 'no modules at all' >"$model.modules"
broken "chain.onnx.modules: it is no container"
: >"$model.modules"
broken "chain.onnx.modules: it is no container"
printf '\2' | dd of="$model.modules" bs=1 seek=8 conv=notrunc 2>/dev/null
broken "chain.onnx.modules: it is of a version that is not known"
# for another target; without compiler and dispatcher
says 3 "acme-npu-2" run "$model" --random --device acme-npu-2
unset TENON_COMPILE
says 1 "has no compiled modules" compile "$data/mlp.onnx" --for acme-npu-2 --plugin "$acme"
says 2 "says what to compile for" compile "$model"
# the device need not be here
BAD=open says 0 "2 islands of 2 nodes" compile "$work/adds.onnx" --for bad-npu --plugin "$bad"
says 0 "bad-npu +2 of 3 nodes" explain "$work/adds.onnx" --plugin "$bad" --device bad-npu \
  --fallback warn
finish
