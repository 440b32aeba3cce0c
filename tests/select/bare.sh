#!/bin/bash
# Plan files on a chip without an operating system: the core and the kernels of a model are compiled
# for a Cortex-M4, the file lies in flash, and an emulator prints what the whole library computes.
# usage: bare.sh TENON GENERATOR HELLO_WHOLE SOURCE WORK
set -uo pipefail
tenon=$1 gen=$2 whole=$3 source=$4 work=$5 failures=0
for tool in arm-none-eabi-gcc qemu-system-arm; do
  command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
board=$source/examples/keyword_spotter_mcu/board
m4="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
mkdir -p "$work"

# Functions of <tenon/kit/vmath.h> round products and sums once where the machine can, and this one
# can: here twice, as the machine does that computes what is expected.
m4="$m4 -U__ARM_FEATURE_FMA"

cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(bare LANGUAGES C)
add_subdirectory($source tenon EXCLUDE_FROM_ALL)
add_link_options(-nostartfiles --specs=nano.specs --specs=nosys.specs -Wl,--no-warn-rwx-segments
  -T $board/mps2.ld)
END

models=()
for model in "$source"/tests/data/net.onnx "$source"/tests/emit/models/*.onnx; do
  name=$(basename "$model" .onnx)
  rm -rf "${work:?}/$name"
  "$tenon" select --plan --target none "$model" -o "$work/$name" >"$work/log" 2>&1 || continue
  models+=("$model")
  cat >>"$work/CMakeLists.txt" <<END
tenon_add_selected(parts_$name PARTS $work/$name/parts.txt)
add_executable(bare_$name $source/tests/select/bare.c $board/boot.c)
target_compile_definitions(bare_$name PRIVATE PLAN="$work/$name/$name.plan")
target_include_directories(bare_$name PRIVATE $board)
target_link_libraries(bare_$name PRIVATE parts_$name)
set_target_properties(bare_$name PROPERTIES C_STANDARD 11)
END
done
cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DTENON_TESTS=OFF \
  -DCMAKE_TOOLCHAIN_FILE="$source/cmake/arm-none-eabi.cmake" -DTENON_HOST_GEN="$gen" \
  -DTENON_CPU_FLAGS="$m4" >"$work/log" 2>&1 && cmake --build "$work/build" >>"$work/log" 2>&1 ||
  { tail -n 40 "$work/log"; exit 1; }

for model in "${models[@]}"; do
  name=$(basename "$model" .onnx) elf=$work/build/bare_$(basename "$model" .onnx)
  want=$("$whole" "$model") || { fail "$name: the whole library"; continue; }
  got=$(timeout 300 qemu-system-arm -M mps2-an386 -nographic -semihosting -kernel "$elf" 2>&1)
  [ "$got" = "$want" ] || fail "$name: '$got', the whole library: $want"
  arm-none-eabi-nm "$elf" | grep -E ' (_?printf|pthread_[a-z]*|dlopen|tn_model_load)$' &&
    fail "$name: the image has functions that it should not need"
  echo "$name: $(arm-none-eabi-size "$elf" | awk 'NR == 2 { print $1 + $2 }') bytes," \
    "$(wc -c <"$work/$name/$name.plan") of them the plan file"
done
echo "${#models[@]} plan files"
[ "${#models[@]}" -ge 8 ] || fail "only ${#models[@]} plan files"
[ "$failures" = 0 ]
