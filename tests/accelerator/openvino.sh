#!/bin/bash
# usage: openvino.sh TENON WORK OPENVINO.so FOLDER
# Real models, parts of which run in OpenVINO, against the CPU. TENON_OPENVINO names its library.
set -uo pipefail
tenon=$1 work=$2 folder=$4
on=(--plugin "$3" --device openvino)
if [ -z "${TENON_OPENVINO:-}" ] || [ ! -d "$folder" ]; then
  echo "skipped: TENON_OPENVINO does not name OpenVINO's library, or there is no $folder"
  exit 77
fi
. "$(dirname "$0")/common.sh"
for model in \
  "$folder"/{mnist-8,bert-toy,cifar10-cnn,gpt2-tiny-past}/model.onnx \
  "$folder"/{fastestdet,policy-go1,dtln-1}/model.onnx; do
  [ -f "$model" ] || continue
  same "$model" "${on[@]}" --fallback warn --rtol 1e-3 --atol 1e-4
done
# the body of an island, whose inputs have no shapes, with rewrites that want them
contrib=$(dirname "$3")/../contrib/contrib.so
if [ -f "$contrib" ] && [ -f "$folder/mobilenet-v2-qoperator/model.onnx" ]; then
  says 0 "openvino-cpu +[0-9]+ of [0-9]+ nodes" \
    explain "$folder/mobilenet-v2-qoperator/model.onnx" --plugin "$contrib" "${on[@]}" \
    --fallback warn
fi
# whole models are one island; what was compiled is found again
for model in mnist-8 bert-toy fastestdet; do
  TENON_COMPILE=off says 0 "openvino-cpu +([0-9]+) of \1 nodes, 100.0 % of .*in 1 island$" \
    explain "$folder/$model/model.onnx" "${on[@]}"
done
# what it breaks on its way to a GPU, by a driver of OpenCL, is not this plug-in's
if "$tenon" plugin vet "$3" 2>&1 | grep "for 'openvino-cpu'"; then failures=$((failures + 1)); fi
says 0 "^openvino-cpu: 31 of 31 cases taken, 0 failed" conform openvino-cpu --plugin "$3"
says 3 "accelerator 'openvino-npu': OpenVINO sees no NPU here: " \
  run "$folder/mnist-8/model.onnx" --random --plugin "$3" --device openvino-npu
TENON_OPENVINO=/nonexistent.so says 3 \
  "/nonexistent.so cannot be loaded: .*TENON_OPENVINO names the library" \
  run "$folder/mnist-8/model.onnx" --random "${on[@]}"
TENON_OPENVINO=libm.so.6 says 3 "OpenVINO's library has no ov_get_openvino_version" \
  run "$folder/mnist-8/model.onnx" --random "${on[@]}"
# sums of 8-bit products, whole on processors without VNNI, too
says 0 "openvino-cpu +4 of 4 nodes" explain "$5/sums.onnx" "${on[@]}"
same "$5/sums.onnx" "${on[@]}" --rtol 1e-3 --atol 1e-4
# a function behind a MaxPool is not computed before it, unless it never falls
for k in 0 1 2 3; do
  says 0 "'pool$k' .*openvino-cpu: declined: .*not monotonic" explain "$5/pools.onnx" "${on[@]}" \
    --fallback warn
done
says 0 "openvino-cpu +13 of 17 nodes" explain "$5/pools.onnx" "${on[@]}" --fallback warn
same "$5/pools.onnx" "${on[@]}" --fallback warn --rtol 1e-3 --atol 1e-4
# an output that is an input, and integers beyond 32 bits
same "$5/through.onnx" "${on[@]}" --fallback warn
wide=("$5/wide.onnx" --input "$5/wide/wide.npy" --with "$5/wide")
says 0 "equal" compare "${wide[@]}" "${on[@]}" --fallback warn
says 0 "an input of i64 has 4294967297, and OpenVINO computes in 32 bits" \
  compare "${wide[@]}" "${on[@]}" --fallback warn
finish
