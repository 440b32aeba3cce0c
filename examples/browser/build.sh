#!/bin/bash
# Makes OUT/digits.html, a page that needs no server and no other file: the model as C, as
# WebAssembly with SIMD, inside of it. usage: build.sh TENON PLUGIN.so OUT
# Needs clang and lld (14 or newer); no C library and no emscripten.
set -euo pipefail
tenon=$1 plugin=$2 out=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
"$tenon" emit-c "$here/../digits/digits.onnx" --plugin "$plugin" --dim batch=1 --name digits \
  -o "$out/model"
clang --target=wasm32 -std=c11 -O2 -msimd128 -mbulk-memory -ffreestanding -fno-builtin-memset \
  -fno-builtin-memcpy -Wall -Wextra -Werror -nostdlib -I "$here/libc" -I "$out" \
  -Wl,--no-entry,--export=image_at,--export=probabilities_at,--export=look \
  -o "$out/digits.wasm" "$here/digits.c" "$here/libc/memory.c" "$out"/model/{model,weights}.c
{
  sed '/<!-- module -->/,$d' "$here/page.html"
  printf '<script>const module = "'
  base64 -w 0 "$out/digits.wasm"
  printf '";</script>\n'
  sed '1,/<!-- module -->/d' "$here/page.html"
} >"$out/digits.html"
wc -c "$out/digits.wasm" "$out/digits.html"
