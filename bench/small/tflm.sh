#!/bin/bash
# One run of TensorFlow Lite Micro with CMSIS-NN on a Cortex-M4 in QEMU; peers.py calls it, with TFLM=SOURCES. SOURCES is
# a folder beside this project that holds the peer, each a checkout as it is:
#   tflm         https://github.com/tensorflow/tflite-micro
#   cmsis-nn     https://github.com/ARM-software/CMSIS-NN
#   flatbuffers  https://github.com/google/flatbuffers   (may be later than what tflm asks for: it is told otherwise)
#   gemmlowp     https://github.com/google/gemmlowp
#   ruy          https://github.com/google/ruy
# They are compiled once, into SOURCES/build: two minutes. Needs gcc-arm-none-eabi, libnewlib-arm-none-eabi,
# libstdc++-arm-none-eabi-newlib, qemu-system-arm. The arena is as large as the model asks for, which a first run tells.
# usage: tflm.sh SOURCES MODEL.tflite      prints bytes of flash and RAM, ticks, bytes of stack, the first outputs
set -euo pipefail
sources=$(realpath "$1") model=$(realpath "$2")
board=$(cd "$(dirname "$0")/../../examples/keyword_spotter_mcu/board" && pwd)
build=$sources/build work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
micro=tensorflow/lite/micro
flags=(-O2 -w -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -ffunction-sections -fdata-sections)
cxx=("${flags[@]}" -std=c++17 -fno-rtti -fno-exceptions -fno-threadsafe-statics -DTF_LITE_STATIC_MEMORY
  -DTF_LITE_STRIP_ERROR_STRINGS -DNDEBUG -DCMSIS_NN -I "$build/include" -I "$sources/tflm" -I "$sources/gemmlowp"
  -I "$sources/ruy" -I "$sources/cmsis-nn" -I "$sources/cmsis-nn/Include" -I "$board")
link=(-nostartfiles --specs=nano.specs --specs=nosys.specs -Wl,--gc-sections -Wl,--no-warn-rwx-segments -T "$board/mps2.ld")

# Its library: the interpreter and the kernels of these models, CMSIS-NN's in place of the references where there are any.
library() {
  mkdir -p "$build/include" "$build/o"
  cp -r "$sources/flatbuffers/include/flatbuffers" "$build/include"
  local version
  for part in MAJOR MINOR REVISION; do
    version=$(grep -oE "FLATBUFFERS_VERSION_$part == [0-9]+" "$sources/tflm/tensorflow/lite/schema/schema_generated.h" | tail -n 1)
    sed -i "s/^#define FLATBUFFERS_VERSION_$part .*/#define FLATBUFFERS_VERSION_$part ${version##* }/" \
      "$build/include/flatbuffers/base.h"
  done
  cd "$sources/tflm"
  for name in conv conv_common depthwise_conv depthwise_conv_common fully_connected fully_connected_common add add_common \
    pooling pooling_common softmax softmax_common reshape reshape_common kernel_util; do
    if [ -f $micro/kernels/cmsis_nn/$name.cc ]; then echo $micro/kernels/cmsis_nn/$name.cc
    elif [ -f $micro/kernels/$name.cc ]; then echo $micro/kernels/$name.cc; fi
  done >"$work/files"
  find $micro -maxdepth 1 -name '*.cc' >>"$work/files"
  find $micro/{arena_allocator,memory_planner,tflite_bridge} tensorflow/lite/{core,kernels,schema} \
    tensorflow/compiler/mlir/lite -name '*.cc' >>"$work/files"
  find "$sources/cmsis-nn/Source" -name '*.c' ! -name '*_f16.c' ! -name '*_f32.c' ! -name '*nntables_flt.c' >>"$work/files"
  grep -vE '(_test|test_helpers|fake_|mock_|recording_)' "$work/files" >"$work/wanted"
  export build
  xargs -P 2 -a "$work/wanted" -I{} bash -c '
    object=$build/o/$(echo "{}" | md5sum | cut -c1-12).o
    [ -f "$object" ] || "$@" -c "{}" -o "$object"' compile "$work/compile"
  arm-none-eabi-ar rcs "$build/libtflm.a" "$build"/o/*.o
}
cat >"$work/compile" <<END
#!/bin/bash
case \$2 in *.c) exec arm-none-eabi-gcc $(printf '%q ' "${flags[@]}") -I $(printf '%q' "$sources")/cmsis-nn/Include "\$@" ;; esac
exec arm-none-eabi-g++ $(printf '%q ' "${cxx[@]}") "\$@"
END
chmod +x "$work/compile"
[ -f "$build/libtflm.a" ] || (library)

# What these models consist of; the program holds no other operators.
operators() {
  case $1 in
    *ad01*) echo FullyConnected ;;
    *resnet8*) echo Conv2D Add AveragePool2D Reshape FullyConnected Softmax ;;
    *) echo Conv2D DepthwiseConv2D AveragePool2D Reshape FullyConnected Softmax ;;
  esac
}

program() { # MODEL ARENA: ticks, bytes of stack and arena, outputs
  local adds='' n=0 kernel
  for name in $(operators "$1"); do
    kernel=$(echo "$name" | sed -E 's/([a-z])([A-Z0-9])/\1_\2/g' | tr a-z A-Z)
    [[ $1 = *int8* && $name != Reshape ]] && kernel="tflite::Register_${kernel}_INT8()" || kernel=
    adds+="resolver.Add$name($kernel); " n=$((n + 1))
  done
  cat >"$work/main.cc" <<END
#include <stdint.h>
extern "C" {
#include "board.h"
}
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/schema/schema_generated.h"
extern "C" const uint8_t model_bytes[];
static uint8_t arena[$2] __attribute__((aligned(16)));
enum { STACK = 64 << 10 };
extern "C" void DebugLog(const char *, va_list) {}
extern "C" int DebugVsnprintf(char *, size_t, const char *, va_list) { return 0; }
extern "C" void *__dso_handle = nullptr; // nothing is destroyed, so there is no heap
extern "C" int __aeabi_atexit(void *, void (*)(void *), void *) { return 0; }
extern "C" void abort() { for (;;) {} }
void operator delete(void *) noexcept {}
void operator delete(void *, size_t) noexcept {}
int main() {
  static tflite::MicroMutableOpResolver<$n> resolver;
  $adds
  static tflite::MicroInterpreter interpreter(tflite::GetModel(model_bytes), resolver, arena, sizeof arena);
  if (interpreter.AllocateTensors() != kTfLiteOk) return board_print("no arena\n"), 1;
  TfLiteTensor *in = interpreter.input(0), *out = interpreter.output(0);
  for (size_t i = 0; i < in->bytes / (in->type == kTfLiteFloat32 ? 4 : 1); i++) {
    const uint8_t byte = (uint8_t)(i * 2654435761u >> 24);
    if (in->type == kTfLiteFloat32) in->data.f[i] = byte / 256.0f;
    else in->data.uint8[i] = byte;
  }
  uint32_t here, left = 0, *bottom = &here - STACK / 4;
  for (uint32_t *p = bottom; p < &here - 64; p++) *(volatile uint32_t *)p = 0xa5a5a5a5u;
  board_timer_start();
  if (interpreter.Invoke() != kTfLiteOk) return board_print("fails\n"), 1;
  const uint32_t ticks = board_timer_ticks();
  while (bottom[left] == 0xa5a5a5a5u) left++;
  const uint32_t numbers[] = {ticks, STACK - 4 * left, (uint32_t)interpreter.arena_used_bytes()};
  for (uint32_t n : numbers) board_print_number(n), board_print(" ");
  const bool floats = out->type == kTfLiteFloat32;
  for (size_t i = 0; i < 8 && i < (floats ? out->bytes / 4 : out->bytes); i++) {
    board_print_number(floats ? reinterpret_cast<uint32_t *>(out->data.raw)[i] : out->data.uint8[i]);
    board_print(" ");
  }
  board_print("\n");
  return 0;
}
END
  printf '.section .rodata\n.global model_bytes\n.balign 16\nmodel_bytes: .incbin "%s"\n' "$1" >"$work/model.s"
  arm-none-eabi-g++ "${cxx[@]}" -c "$work/main.cc" -o "$work/main.o"
  arm-none-eabi-gcc "${flags[@]}" -std=c11 -c "$board/boot.c" -o "$work/boot.o"
  arm-none-eabi-g++ "${flags[@]}" "${link[@]}" "$work"/{boot,main}.o "$work/model.s" "$build/libtflm.a" -lm -o "$work/image.elf"
  timeout 300 qemu-system-arm -M mps2-an386 -nographic -semihosting -icount shift=0 -kernel "$work/image.elf" 2>&1
}

read -r _ _ used _ < <(program "$model" $((1 << 20)))
read -r ticks stack _ outputs < <(program "$model" $((used + 1024)))
read -r text data bss _ < <(arm-none-eabi-size "$work/image.elf" | tail -n 1)
echo "$text $((data + bss)) $ticks $stack $outputs"
