#!/bin/bash
# usage: gpu_faults.sh TENON WORK MODEL OLD_WGPU NEW_WGPU
# What is said, word for word, where a driver of GPUs has no loader, no driver behind it, or no
# program that builds, and where a value does not fit; and that `auto` does not take GPUs that are
# the processor in truth.
set -uo pipefail
tenon=$1 work=$2 model=$3 old=$4 new=$5
rm -rf "$work" && mkdir -p "$work/none" || exit 1
failures=0 said=0
# LINE OPTIONS...: an error of this text, which may go on.
says() {
  local line=$1 out
  shift
  out=$("$tenon" "$@" 2>&1) && out="no error: $out"
  said=$((said + 1))
  [[ $out == *"tenon: error: $line"* ]] && return
  echo "FAILED: $*: nobody says: $line"$'\n'"$out"
  failures=$((failures + 1))
}
run=(run "$model" --random)

# A loader that is none.
loaders=(opencl libOpenCL.so.1 vulkan libvulkan.so.1 gles libEGL.so.1 cuda libcuda.so.1)
for ((k = 0; k < ${#loaders[@]}; k += 2)); do
  driver=${loaders[k]} library=${loaders[k + 1]}
  "$tenon" device list | grep -q "^ *$driver[: ]" || continue # it was left out
  echo "no library" >"$work/none/$library"
  LD_LIBRARY_PATH=$work/none says "device '$driver:0': $library cannot be loaded: \
$work/none/$library: file too short" "${run[@]}" --device "$driver:0"
  out=$(LD_LIBRARY_PATH=$work/none "$tenon" "${run[@]}" --device "$driver:0" --fallback warn 2>&1)
  [[ $out == *"file too short; the model runs without it"*"y: f32[1,5]"* ]] && continue
  echo "FAILED: $driver, warn: $out"
  failures=$((failures + 1))
done

# Of wgpu-native one that is none, is another library, or is of another version.
if "$tenon" device list | grep -q "^ *webgpu[: ]"; then
  echo "no library" >"$work/none/libwgpu_native.so"
  TENON_WGPU='' LD_LIBRARY_PATH=$work/none says "device 'webgpu:0': libwgpu_native.so cannot be \
loaded: $work/none/libwgpu_native.so: file too short; TENON_WGPU names the library" \
    "${run[@]}" --device webgpu:0
  TENON_WGPU=libm.so.6 says "device 'webgpu:0': libm.so.6 has no wgpuGetVersion: it is no \
wgpu-native" "${run[@]}" --device webgpu:0
  TENON_WGPU=$old says "device 'webgpu:0': $old is version 24.0.0.3 of wgpu-native, which is too \
old: 29 is needed" "${run[@]}" --device webgpu:0
  TENON_WGPU=$new says "device 'webgpu:0': $new is version 99.0.0.0 of wgpu-native, which is too \
new: 29 is needed" "${run[@]}" --device webgpu:0
fi

# A loader without a driver, as tests have it.
"$tenon" device info opencl:0 >/dev/null 2>&1 ||
  ! "$tenon" device list | grep -q "opencl: clGetPlatformIDs" ||
  says "device 'opencl:0': clGetPlatformIDs: no OpenCL driver is installed (-1001)" \
    "${run[@]}" --device opencl:0
! "$tenon" device list | grep -q "vulkan: vkCreateInstance" ||
  says "device 'vulkan:0': vkCreateInstance: no Vulkan driver is installed (-9)" \
    "${run[@]}" --device vulkan:0

! "$tenon" device list | grep -q "webgpu: wgpu-native has no device" ||
  says "device 'webgpu:0': wgpu-native has no device: no driver of Vulkan, Metal or Direct3D 12" \
    "${run[@]}" --device webgpu:0

# With what this machine has.
unset OCL_ICD_VENDORS VK_DRIVER_FILES VK_ICD_FILENAMES __EGL_VENDOR_LIBRARY_DIRS
if "$tenon" device info gles:0 >/dev/null 2>&1; then
  says "node 'Add' (Add): cannot run on the device, and fallback is forbidden; gles:0: add_gpu: \
device 'gles:0': program 'binary_int' does not build: " \
    op run Add -i 'A=random:i64[8]' -i 'B=random:i64[8]' --device gles:0
fi
if "$tenon" device info vulkan:0 2>/dev/null | grep -q llvmpipe; then
  says "node 'relu2' (Relu): cannot run on the device, and fallback is forbidden; vulkan:0: \
relu_gpu: a value is larger than a binding may be" \
    explain "$model" --dim batch=4000000 --device vulkan:0
fi
if "$tenon" device info webgpu:0 2>/dev/null | grep -q llvmpipe; then
  says "node 'relu2' (Relu): cannot run on the device, and fallback is forbidden; webgpu:0: \
relu_gpu: a value is larger than a binding may be" \
    explain "$model" --dim batch=4000000 --device webgpu:0
fi
for driver in opencl vulkan gles webgpu; do
  info=$("$tenon" device info "$driver:0" 2>/dev/null) || continue
  [[ $info == *llvmpipe* || $info == *pthread* || $info == *cpu-* ]] || exit $((failures > 0))
done
out=$("$tenon" explain "$model" --dim batch=64 --device auto --brief 2>&1)
if ! grep -q "^cpu *4 of 4 nodes\|^cpu *[0-9]* of [0-9]* nodes, 100.0 %" <<<"$out" ||
  grep -q "^\(opencl\|vulkan\|gles\|webgpu\):0" <<<"$out"; then
  echo "FAILED: auto leaves the processor:"$'\n'"$out"
  failures=$((failures + 1))
fi
# ... which is planned as for the CPU then.
residual=$(dirname "$model")/residual.onnx
if "$tenon" explain "$residual" --brief | grep -q InvertedResidual; then
  "$tenon" explain "$residual" --device auto --brief | grep -q InvertedResidual ||
    { echo "FAILED: auto plans otherwise than for the CPU"; failures=$((failures + 1)); }
fi
echo "$said messages, $failures failures"
[ $failures -eq 0 ]
