#!/bin/bash
# usage: onnxruntime.sh TENON TESTDATA: the shared networks of other formats, converted to ONNX,
# answer in ONNX Runtime what is stored beside them. Exit status 77: there are none, or no ONNX
# Runtime (PyPI; TENON_PYTHON names a Python that has it).
set -uo pipefail
tenon=$1 data=${TENON_TESTDATA:-$2}
if ! [ -d "$data" ]; then
  echo "skipped: there is no folder $data"
  exit 77
fi
exec "${TENON_PYTHON:-python3}" "$(dirname "$0")/agree.py" "$tenon" \
  "$data"/{tflite-models,tflite-cases,tensorflow,caffe}
