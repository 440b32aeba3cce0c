#!/bin/bash
# The library for Windows: it is built with mingw-w64; under wine a program loads a model and runs
# it, another one with an operator from a plug-in, a .dll, and one with paths that no code page has.
# usage: windows.sh SOURCE WORK TENON-GEN
set -uo pipefail
source=$1 work=$2 gen=$3
cc=x86_64-w64-mingw32-gcc-posix
command -v $cc >/dev/null || { echo "skipped: there is no $cc"; exit 77; }
mkdir -p "$work" || exit 1
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DTENON_TESTS=OFF \
  -DCMAKE_TOOLCHAIN_FILE="$source/cmake/x86_64-w64-mingw32.cmake" -DTENON_PORTABLE=ON \
  -DTENON_HOST_GEN="$gen" >"$work/log" 2>&1 &&
  cmake --build "$work/build" --target tenon_static >>"$work/log" 2>&1 ||
  { tail -n 20 "$work/log"; exit 1; }
flags=(-std=gnu11 -O2 -D__USE_MINGW_ANSI_STDIO=1 -I "$source/include")
libraries=("$work/build/libtenon.a" -lpthread -lm -static)
examples=$source/examples
$cc "${flags[@]}" "$examples/run_model/main.c" "${libraries[@]}" -o "$work/run_model.exe" &&
  $cc "${flags[@]}" -D_GNU_SOURCE -I "$source/src/os/windows" -I "$source/src" \
    "$examples"/digits/{main,npy,show}.c "${libraries[@]}" -o "$work/digits.exe" &&
  $cc "${flags[@]}" -I "$source/src" -Wall -Wextra -Werror "$source/tests/os/paths.c" \
    "${libraries[@]}" -o "$work/paths.exe" &&
  $cc "${flags[@]}" -shared -o "$work/flash.dll" \
    "$examples"/flash_attention_swa_sink/{plugin,attention,emit,kernel_c}.c -lm || exit 1
wine=$(command -v wine || command -v wine64 || ls /usr/lib/wine/wine64 2>/dev/null) ||
  { echo "built; not run: there is no wine"; exit 77; }
export WINEPREFIX=$work/wine WINEDEBUG=-all
timeout 300 "$wine" "$work/run_model.exe" "$examples/run_model/layer.onnx" | tee "$work/out"
grep -q 'y: f32 \[1, 3\] = 5.5 7.5 0' "$work/out" || exit 1
timeout 300 "$wine" "$work/run_model.exe" "$work/none.onnx" >"$work/out" 2>&1
grep -q 'NOT_FOUND' "$work/out" || { cat "$work/out"; exit 1; }
mkdir -p "$work/paths" && cd "$work/paths" || exit 1
timeout 300 "$wine" "$work/paths.exe" "Z:$examples/run_model/layer.onnx" "Z:$work/flash.dll" ||
  { echo "paths in UTF-8"; exit 1; }
cd "$examples/digits" || exit 1
timeout 300 "$wine" "$work/digits.exe" "Z:$work/flash.dll" digits.onnx images.npy labels.npy 95 |
  tail -n 1 | tee "$work/out"
grep -q '438 right' "$work/out"
