#!/bin/bash
# emit-c on the models of the test data that it is for: they have to be written, and pass.
# usage: testdata.sh TENON WORK SOURCE
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=${TENON_TESTDATA:-$3/../shared/testdata}
models=()
for name in cifar10-cnn esp-streaming-cnn micro-kws-fp32 mnist-8 policy-go1 samplenet \
  super-resolution-10 basic-pitch ultraface-rfb-320; do
  [ ! -f "$data/onnx-models/$name/model.onnx" ] || models+=("$data/onnx-models/$name/model.onnx")
done
for name in mlperf-{resnet8-cifar,ad01,vww}-float mlperf-{kws,resnet8-cifar,ad01,vww}-int8 \
  hello-world-float hello-world-int8 micro-speech-int8 person-detect-int8 dtln-1 \
  dtln-1-dynrange mlperf-kws-float movie-review basic-pitch mobilenet-v1-0.25-224-uint8 \
  mobilenet-v2-1.0-224-uint8 automl-flowers-uint8 mnist-lstm-float wakeword-{okay-nabu,vad}-v2; do
  [ ! -f "$data/tflite-models/$name/model.tflite" ] ||
    models+=("$data/tflite-models/$name/model.tflite")
done
[ ${#models[@]} -gt 0 ] || { echo "skipped: there are no models in $data"; exit 77; }
exec "$here/run.sh" "$1" "$2" "${models[@]}"
