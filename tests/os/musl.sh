#!/bin/bash
# The command with musl as its C library answers as the one of this build does.
# usage: musl.sh SOURCE WORK TENON-GEN TENON
set -uo pipefail
source=$1 work=$2 gen=$3 tenon=$4
command -v musl-gcc >/dev/null || { echo "skipped: there is no musl-gcc"; exit 77; }
mkdir -p "$work" || exit 1
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DTENON_TESTS=OFF \
  -DCMAKE_TOOLCHAIN_FILE="$source/cmake/x86_64-linux-musl.cmake" -DTENON_PORTABLE=ON \
  -DTENON_HOST_GEN="$gen" >"$work/log" 2>&1 &&
  cmake --build "$work/build" --target tenon >>"$work/log" 2>&1 ||
  { tail -n 20 "$work/log"; exit 1; }
status=0
for model in "$source"/tests/emit/models/{pools,products,convolutions,qdq}.onnx; do
  "$tenon" run "$model" --isa none --random=3 >"$work/want" 2>/dev/null || exit 1
  "$work/build/tenon" run "$model" --isa none --random=3 >"$work/got" 2>/dev/null
  cmp "$work/want" "$work/got" || status=1
done
exit $status
