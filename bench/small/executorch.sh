#!/bin/bash
# Bytes of ExecuTorch's runtime without operators and kernels: a program that opens a file in memory, loads a method and
# runs it, as `no operators, no kernels` of select.sh does with a plan file. For x86-64, with the C library shared, and for
# a Cortex-M4 with newlib-nano. SOURCES is a folder beside this project that holds, each a checkout as it is:
#   executorch   https://github.com/pytorch/executorch   (no submodules are needed)
#   flatbuffers  https://github.com/google/flatbuffers   (its compiler makes the headers of the format)
# Compiled with -Os, without logs, exceptions and types at run time; with the verification of files and without it.
# usage: executorch.sh SOURCES      (needs cmake, g++, g++ of arm-none-eabi with libstdc++-arm-none-eabi-newlib)
set -euo pipefail
sources=$(realpath "$1") work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ ! -x "$sources/flatc/flatc" ]; then
  cmake -S "$sources/flatbuffers" -B "$sources/flatc" -DFLATBUFFERS_BUILD_TESTS=OFF -DFLATBUFFERS_BUILD_FLATHASH=OFF \
    >"$work/log"
  cmake --build "$sources/flatc" --target flatc -j2 >"$work/log"
fi
mkdir -p "$work/executorch/schema"
"$sources/flatc/flatc" --cpp --cpp-std c++11 --gen-mutable --scoped-enums -o "$work/executorch/schema" \
  "$sources/executorch/schema"/{program,scalar_type}.fbs
cp "$sources/executorch/schema"/*.h "$work/executorch/schema"
ln -s "$sources/executorch"/{runtime,extension,kernels} "$work/executorch/"

cat >"$work/main.cpp" <<'END'
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>
using namespace executorch::runtime;
unsigned char file[16]; // what stands in it is not known to the compiler
static uint8_t method_pool[1024], planned[512];
int main() {
  runtime_init();
  executorch::extension::BufferDataLoader loader(file, sizeof file);
  Result<Program> program = Program::load(&loader);
  if (!program.ok()) return 1;
  MemoryAllocator allocator(sizeof method_pool, method_pool);
  Span<uint8_t> buffers[] = {{planned, sizeof planned}};
  HierarchicalAllocator memory({buffers, 1});
  MemoryManager manager(&allocator, &memory);
  Result<Method> method = program->load_method("forward", &manager);
  return method.ok() && method->execute() == Error::Ok ? 0 : 2;
}
END
flags=(-std=c++17 -Os -w -DNDEBUG -DET_LOG_ENABLED=0
  -DC10_USING_CUSTOM_GENERATED_MACROS -fno-exceptions -fno-rtti -fno-threadsafe-statics -ffunction-sections -fdata-sections
  -fno-asynchronous-unwind-tables -fno-unwind-tables -I "$work" -I "$sources/flatbuffers/include"
  -I "$sources/executorch/runtime/core/portable_type/c10")
cd "$sources/executorch"
mapfile -t files < <(find runtime/{backend,core,executor,kernel,platform} schema -name '*.cpp' ! -path '*/test/*' \
  ! -path '*/testing_util/*' ! -path '*/default/*' ! -name tensor_parser_aten.cpp ! -name tensor_util_aten.cpp)

program() { # NAME COMPILER FLAGS...: bytes of code and data, without the zeroed
  mkdir -p "$work/$1"
  for file in "${files[@]}" runtime/platform/default/minimal.cpp "$work/main.cpp"; do
    "${@:2}" "${flags[@]}" -c "$file" -o "$work/$1/$(basename "$file").o"
  done
  "${@:2}" "$work/$1"/*.o -Wl,--gc-sections -s -o "$work/$1.elf"
  echo "ExecuTorch without operators, $1: $(size "$work/$1.elf" | awk 'NR == 2 { print $1 + $2 }') bytes"
}
arm=(arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 --specs=nano.specs --specs=nosys.specs)
for verifies in 0 1; do
  flags+=("-UET_ENABLE_PROGRAM_VERIFICATION" "-DET_ENABLE_PROGRAM_VERIFICATION=$verifies")
  program "x86-64, verification $verifies" g++ -fPIE
  program "Cortex-M4, verification $verifies" "${arm[@]}"
done
