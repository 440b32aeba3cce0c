#!/bin/bash
# Bytes and instructions of models that `tenon emit-c` has written, on a Cortex-M4 in QEMU: rows of the table of
# docs/emit-c.md. Instructions are not cycles: they say nothing of wait states, flash, or what a load costs.
# usage: measure.sh TENON MODEL...      (needs gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm)
set -euo pipefail
tenon=$1
shift
board=$(cd "$(dirname "$0")/../../examples/keyword_spotter_mcu/board" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c11 -O2 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -ffunction-sections
  -nostartfiles --specs=nano.specs -Wl,--gc-sections -Wl,--no-warn-rwx-segments -T "$board/mps2.ld")

instructions() { # DIR FLAGS...: of one run and its comparison
  arm-none-eabi-gcc "${flags[@]}" -DCOUNT "${@:2}" -o "$1/m4.elf" "$board/boot.c" \
    "$1"/{model,weights,test}.c -lm
  timeout 300 qemu-system-arm -M mps2-an386 -nographic -semihosting -icount shift=0 \
    -kernel "$1/m4.elf" 2>&1 | awk '{ printf "%.2f", $1 * 40 / 1e6 }'
}

for model; do
  name=${model%/model.*} name=${name##*/} name=${name%.onnx}
  "$tenon" emit-c "$model" -o "$work/$name" 2>"$work/log" || { cat "$work/log"; continue; }
  dir=$work/$name
  arm-none-eabi-gcc "${flags[@]:0:6}" -c "$dir/model.c" -o "$dir/model.o"
  code=$(arm-none-eabi-size -A "$dir/model.o" | awk '$1 ~ /^\.text/ { n += $2 } END { print n }')
  arena=$(awk '/_ARENA_BYTES/ { print $3 }' "$dir/model.h")
  weights=$(awk '/_WEIGHT_BYTES/ { print $3 }' "$dir/model.h")
  echo "| $name | $code | $weights | $arena | $(instructions "$dir") M |" \
    "$(instructions "$dir" -ffp-contract=fast -DMODEL_TOLERANCE=1e-4f) M |"
done
