#!/bin/bash
# What emit-c writes gives the same bits in WebAssembly, without a C library.
# usage: wasm.sh TENON WORK SOURCE MODEL...
set -uo pipefail
tenon=$1 work=$2 libc=$3/examples/browser/libc
shift 3
for tool in clang wasm-ld node; do
  command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
rm -rf "$work" && mkdir -p "$work" || exit 1
failures=0
for model; do
  dir=$work/$(basename "$model" .onnx)
  if "$tenon" emit-c "$model" -o "$dir" >"$work/log" 2>&1 &&
    grep -qE '(sin|cos|tan)f\(|\bexp\(' "$dir/model.c"; then
    echo "skipped: ${dir##*/} calls functions of a C library"
    continue
  fi
  [ -f "$dir/model.c" ] &&
    clang --target=wasm32 -std=c11 -O2 -msimd128 -mbulk-memory -ffreestanding -Wall -Wextra \
      -Werror -nostdlib -I "$libc" -Wl,--no-entry,--export=main -o "$dir/test.wasm" \
      "$libc/memory.c" "$dir"/{model,weights,test}.c 2>>"$work/log" &&
    node -e 'const fs = require("fs");
      const wasm = new WebAssembly.Module(fs.readFileSync(process.argv[1]));
      process.exit(new WebAssembly.Instance(wasm).exports.main());' "$dir/test.wasm" ||
    { echo "FAILED: $model: $(tail -n 5 "$work/log")"; failures=$((failures + 1)); }
done
echo "$# models, $failures failures"
[ "$failures" -eq 0 ]
