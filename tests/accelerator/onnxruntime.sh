#!/bin/bash
# usage: onnxruntime.sh TENON WORK ONNXRUNTIME.so FOLDER
# Real models, parts of which run in ONNX Runtime, against the CPU. TENON_ONNXRUNTIME names its
# library.
set -uo pipefail
tenon=$1 work=$2 folder=$4
on=(--plugin "$3" --device onnxruntime)
if [ -z "${TENON_ONNXRUNTIME:-}" ] || [ ! -d "$folder" ]; then
  echo "skipped: TENON_ONNXRUNTIME does not name ONNX Runtime's library, or there is no $folder"
  exit 77
fi
. "$(dirname "$0")/common.sh"
for model in \
  "$folder"/{mnist-8,bert-toy,cifar10-cnn,fastestdet,gpt2-tiny-past}/model.onnx; do
  [ -f "$model" ] || continue
  same "$model" "${on[@]}" --fallback warn --rtol 1e-3 --atol 1e-4
done
says 0 "onnxruntime-cpu +[0-9]+ of [0-9]+ nodes, .*in 1 island$" \
  explain "$folder/mnist-8/model.onnx" "${on[@]}"
says 0 "^onnxruntime-cpu: 31 of 31 cases taken, 0 failed" conform onnxruntime-cpu --plugin "$3"
# sums of u8 times i8 are whole, on processors without VNNI, too
product=(op run MatMulInteger -i 'A=u8[1,32]=255')
says 0 "i32.*1036320" "${product[@]}" -i 'B=const:i8[32,1]=127' "${on[@]}"
says 1 "sums of u8 times i8" "${product[@]}" -i 'B=i8[32,1]=127' "${on[@]}"
says 1 "sums of u8 times i8" op run QLinearMatMul -i 'a=u8[1,32]=255' -i 'a_scale=f32[]=0.1' \
  -i 'a_zero_point=u8[]=0' -i 'b=const:i8[32,1]=127' -i 'b_scale=f32[]=0.1' \
  -i 'b_zero_point=i8[]=0' -i 'y_scale=f32[]=99' -i 'y_zero_point=u8[]=0' "${on[@]}"
says 1 "corners that are aligned by scales" op run Resize -i 'X=random:f32[1,1,5,5]' \
  -i 'scales=const:f32[4]=[1,1,0.7,0.5]' -a mode=linear \
  -a coordinate_transformation_mode=align_corners "${on[@]}"
# one query and two new keys behind a cache: it may see the first of them alone
attention=(op run Attention -i 'Q=f32[1,1,1,8]=1' -i 'K=f32[1,1,2,8]=1'
  -i 'V=random:f32[1,1,2,8]' -i 'past_key=f32[1,1,3,8]=1' -i 'past_value=random:f32[1,1,3,8]')
says 0 "^Y: " "${attention[@]}" --n-outputs 3 "${on[@]}"
says 1 "causal attention of one query beside several new keys" "${attention[@]}" --n-outputs 3 \
  -a is_causal=1 "${on[@]}"
says 1 "a cache whose next value is no output" "${attention[@]}" "${on[@]}"
TENON_ONNXRUNTIME=/nonexistent.so says 3 \
  "/nonexistent.so cannot be loaded: .*TENON_ONNXRUNTIME names" \
  run "$folder/mnist-8/model.onnx" --random "${on[@]}"
finish
