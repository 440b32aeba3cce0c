#!/bin/bash
# Plan files without an operating system: the core and the kernels of a model are compiled for a
# target, the file is a constant of the image, and an emulator prints what the whole library
# computes. Targets: arm, a Cortex-M4 in QEMU; riscv64, the board virt in QEMU; wasm32, in node.
# usage: bare.sh TARGET TENON GENERATOR HELLO_WHOLE SOURCE WORK
set -uo pipefail
target=$1 tenon=$2 gen=$3 whole=$4 source=$5 work=$6 failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
need() {
  for tool; do
    command -v "$tool" >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
  done
}

board=$source/tests/select/board cpu="" other_bits="" unwanted="_?printf"
refused=trees # where pointers have 32 bits: its attributes are tensors (docs/small.md)
refusal="the file was made by another version of Tenon, or for another kind of machine"
# Functions of <tenon/kit/vmath.h> round products and sums once where the machine can, as chips
# can: here twice, as the machine does that computes what is expected.
case $target in
  arm)
    need arm-none-eabi-gcc qemu-system-arm
    toolchain=arm-none-eabi board=$source/examples/keyword_spotter_mcu/board
    parts="$source/tests/select/board/newlib.c $board/boot.c"
    link="-nostartfiles --specs=nano.specs --specs=nosys.specs -Wl,--no-warn-rwx-segments
      -T $board/mps2.ld"
    cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -U__ARM_FEATURE_FMA"
    run() {
      timeout 300 qemu-system-arm -M mps2-an386 -nographic -semihosting -kernel "$1" 2>&1
    } ;;
  riscv64)
    need riscv64-unknown-elf-gcc qemu-system-riscv64
    [ -e "$(riscv64-unknown-elf-gcc -print-file-name=picolibc.specs)" ] ||
      { echo "skipped: there is no picolibc for riscv64-unknown-elf"; exit 77; }
    toolchain=riscv64-unknown-elf parts=$board/stdio.c refused=""
    cpu="-march=rv64gc -mabi=lp64d -mcmodel=medany -U__riscv_flen"
    other_bits=recurrent # exp() and tanh() of doubles are picolibc's, which round once
    link="--oslib=semihost --crt0=hosted -Wl,--defsym=__stack_size=64K
      -Wl,--defsym=__flash=0x80000000,--defsym=__flash_size=16M
      -Wl,--defsym=__ram=0x81000000,--defsym=__ram_size=16M"
    run() {
      timeout 300 qemu-system-riscv64 -M virt -m 64 -bios none -nographic -semihosting \
        -kernel "$1" 2>&1
    } ;;
  wasm32)
    need clang wasm-ld node
    toolchain=wasm32-wasi parts=$board/stdio.c link=-s
    echo 'int main(void) { return 0; }' >"$work.c"
    clang --target=wasm32-wasi "$work.c" -o "$work.wasm" 2>/dev/null ||
      { echo "skipped: there is no C library of WASI"; exit 77; }
    run() {
      NODE_NO_WARNINGS=1 timeout 300 node -e 'const { WASI } = require("node:wasi");
        const wasi = new WASI({ version: "preview1", returnOnExit: true });
        const wasm = new WebAssembly.Module(require("fs").readFileSync(process.argv[1]));
        const imports = { wasi_snapshot_preview1: wasi.wasiImport };
        process.exit(wasi.start(new WebAssembly.Instance(wasm, imports)));' "$1" 2>&1
    } ;;
  *) echo "there is no target $target"; exit 2 ;;
esac

mkdir -p "$work"
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(bare LANGUAGES C)
add_subdirectory($source tenon EXCLUDE_FROM_ALL)
set(CMAKE_C_STANDARD 11)
include_directories($board)
separate_arguments(flags UNIX_COMMAND "$(tr '\n' ' ' <<<"$link")")
END

models=()
for model in "$source"/tests/data/net.onnx "$source"/tests/emit/models/*.onnx; do
  name=$(basename "$model" .onnx)
  rm -rf "${work:?}/$name"
  "$tenon" select --plan --target none "$model" -o "$work/$name" >"$work/log" 2>&1 || continue
  models+=("$model")
  { # the plan file as a constant
    echo '_Alignas(64) const unsigned char plan_begin[] = {'
    od -An -v -tu1 "$work/$name/$name.plan" | sed 's/ *\([0-9]\+\)/\1,/g'
    echo '};'
    echo 'const unsigned long plan_bytes = sizeof plan_begin;'
  } >"$work/$name/plan.c"
  cat >>"$work/CMakeLists.txt" <<END
tenon_add_selected(parts_$name PARTS $work/$name/parts.txt)
add_executable(bare_$name $source/tests/select/bare.c $work/$name/plan.c $parts)
target_link_libraries(bare_$name PRIVATE parts_$name)
target_link_options(bare_$name PRIVATE \${flags})
END
done
cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DTENON_TESTS=OFF \
  -DTENON_WERROR=OFF -DCMAKE_TOOLCHAIN_FILE="$source/cmake/$toolchain.cmake" \
  -DTENON_HOST_GEN="$gen" -DTENON_CPU_FLAGS="$cpu" >"$work/log" 2>&1 &&
  cmake --build "$work/build" >>"$work/log" 2>&1
built=$?
[ $built = 0 ] || { grep -E 'error|FAILED' "$work/log" | head -n 20; exit 1; }

# Of an image for chips: code, constants and data.
bytes() {
  if [ "$target" = wasm32 ]; then
    wc -c <"$1"
  else
    "$toolchain-size" "$1" | awk 'NR == 2 { print $1 + $2 }'
  fi
}

for model in "${models[@]}"; do
  name=$(basename "$model" .onnx)
  image=$work/build/bare_$name
  want=$("$whole" "$model") || { fail "$name: the whole library"; continue; }
  [ "$name" != "$refused" ] || want=$refusal
  got=$(run "$image")
  [ "$got" = "$want" ] || [[ $name = "$other_bits" && $got =~ ^[0-9a-f]{16}$ ]] ||
    fail "$name: '$got', the whole library: $want"
  echo "$name: $(bytes "$image") bytes, $(wc -c <"$work/$name/$name.plan") of them the plan file"
  [ "$target" = wasm32 ] && continue
  "$toolchain-nm" "$image" >"$work/symbols"
  grep -E " ($unwanted|pthread_[a-z]*|dlopen|tn_model_load)\$" "$work/symbols" &&
    fail "$name: the image has functions that it should not need"
done
echo "${#models[@]} plan files"
[ "${#models[@]}" -ge 8 ] || fail "only ${#models[@]} plan files"
[ "$failures" = 0 ]
