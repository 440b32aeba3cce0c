#!/bin/bash
# The firmware of examples/keyword_spotter_mcu is built and hears what it should.
# usage: firmware.sh TENON WORK SOURCE
set -uo pipefail
tenon=$1 work=$2 source=$3
kws=${TENON_TESTDATA:-$source/../shared/testdata}/tflite-models/mlperf-kws-int8
for tool in arm-none-eabi-gcc qemu-system-arm; do
  command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
[ -f "$kws/model.tflite" ] || { echo "skipped: there is no $kws"; exit 77; }
rm -rf "$work" && mkdir -p "$work" || exit 1
cmake -S "$source/examples/keyword_spotter_mcu" -B "$work" -DCMAKE_BUILD_TYPE=Release \
  -DTENON="$tenon" -DMODEL="$kws/model.tflite" -DFEATURES="$kws/ref/set0_in0.npy" >"$work/log" &&
  cmake --build "$work" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
timeout 60 qemu-system-arm -M mps2-an386 -nographic -semihosting -kernel "$work/firmware.elf" 2>&1 |
  tee "$work/heard"
grep -q "^heard 'yes', 99 % sure" "$work/heard"
