#!/bin/bash
# usage: litert.sh TENON WORK LITERT.so GUEST.so DATA FOLDER
# Vendors' libraries for LiteRT as guests. GUEST.so is one of ours, that does wrong what can be done
# wrong; TENON_LITERT names the folder of those of the package ai-edge-litert, of which Intel's
# runs the models of FOLDER.
set -uo pipefail
tenon=$1 work=$2 guest=$4 data=$5 folder=$6
on=(--plugin "$3" --device litert-guest --fallback warn)
. "$(dirname "$0")/common.sh"
export TENON_LITERT_COMPILER=$guest TENON_LITERT_DISPATCH=$guest

# ---- a guest that works ----
chain=$data/chain.onnx
says 0 "litert-guest +3 of 5 nodes" explain "$chain" "${on[@]}"
same "$chain" "${on[@]}"
OWN=1 same "$chain" "${on[@]}" # memory of the vendor's own
says 0 "stamp +litert 0.1.0, build 7, [0-9a-f]{16}" \
  device info litert-guest --plugin "$3"
# claims and modules are kept: nobody is asked the second time
TENON_COMPILE=off says 0 "litert-guest +3 of 5 nodes" explain "$chain" "${on[@]}"
cp "$chain" "$work"
says 0 "modules: " compile "$work/chain.onnx" --for litert-guest --plugin "$3"
TENON_COMPILE=off TENON_MODULE_CACHE='' same "$work/chain.onnx" "${on[@]}"

# ---- guests that do not: the CPU takes over, with the reason ----
export TENON_MODULE_CACHE=
# the common operators, of which it takes two
guest_is=(conform litert-guest --plugin "$3")
says 0 "^litert-guest: ([3-9]|[123][0-9]) of 31 cases taken, 0 failed" "${guest_is[@]}"
BAD=wrong says 1 "^litert-guest: .* [3-9] failed" "${guest_is[@]}"
BAD=invoke says 1 "^litert-guest: .* [3-9] failed" "${guest_is[@]}"
BAD=partition says 1 "^litert-guest: 0 of 31 cases taken" "${guest_is[@]}"
bad() { # BAD PATTERN
  BAD=$1 says 0 "$2" run "$chain" --random "${on[@]}"
  BAD=$1 same "$chain" "${on[@]}"
}
bad partition-crash "compiler 'litert' crashed with SIGSEGV in partition\(\), 1 part: "
bad partition-exit "compiler 'litert' ended the process with exit status 0 in partition\(\)"
bad partition "the guest's LiteRtCompilerPluginPartition answers 5: not supported"
bad create "the guest's LiteRtCreateCompilerPlugin answers 3: failure at run time"
bad version "is for version 0.7 of LiteRT's interface, known is 0.1"
bad compile-crash "compiler 'litert' crashed with SIGSEGV in compile\(\)"
bad compile "the guest's LiteRtCompilerPluginCompile answers 504: compilation failed"
bad nothing "the guest's compiler gives no result"
bad codes "the guest made [0-9]+ byte codes"
bad empty "the guest's byte code is empty"
bad calls "the guest made [0-9]+ calls of [0-9]+ parts?"
bad code "the guest's call 0 names no byte code of its own"
bad name "the guest's call 0 names no byte code of its own"
bad load "the guest's loading of its byte code answers 3"
bad kind "the guest wants memory of kind 2, which is not had here"
bad no-needs "the guest gives no requirements"
bad invoke "the guest's run answers 3: failure at run time"
bad buffer "the guest's buffer answers 3"
OWN=1 bad lock "the guest gives no memory"
TENON_COMPILE_SECONDS=2 BAD=partition-hang says 0 \
  "compiler 'litert' took more than 2 s in partition" run "$chain" --random "${on[@]}"
# ... and with `forbid` it is an error, as is a dispatch library that cannot be used
for how in initialize:502 api:3; do
  BAD=${how%:*} says 1 "accelerator 'litert-guest': the guest's .* answers ${how#*:}" \
    run "$chain" --random --plugin "$3" --device litert-guest
done
BAD=dispatch-version says 1 "is for version 1.1 of LiteRT's interface" \
  run "$chain" --random --plugin "$3" --device litert-guest
BAD=hollow says 1 "leaves out functions that run models" \
  run "$chain" --random --plugin "$3" --device litert-guest
TENON_LITERT_DISPATCH=libm.so.6 says 3 "libm.so.6 has no LiteRtDispatchGetApi" \
  run "$chain" --random --plugin "$3" --device litert-guest
TENON_LITERT_COMPILER=libm.so.6 says 0 "libm.so.6 has no LiteRtGetCompilerPluginVersion" \
  run "$chain" --random "${on[@]}"
TENON_LITERT_COMPILER='' says 0 "TENON_LITERT_COMPILER does not name a library" \
  run "$chain" --random "${on[@]}"

# ---- modules that are damaged: the container sees it ----
size=$(stat -c %s "$work/chain.onnx.modules")
for at in 20 $((size / 2)) $((size - 1)); do
  cp "$work/chain.onnx.modules" "$work/kept"
  printf '\x5a' | dd of="$work/chain.onnx.modules" bs=1 seek="$at" conv=notrunc 2>/dev/null
  same "$work/chain.onnx" "${on[@]}"
  cp "$work/kept" "$work/chain.onnx.modules"
done

# ---- vendors ----
if [ -z "${TENON_LITERT:-}" ] || [ ! -d "$folder" ]; then
  echo "left out: TENON_LITERT does not name the vendors of ai-edge-litert, or there is no $folder"
  finish
fi
export TENON_MODULE_CACHE=$work/modules
# f32 as on the CPU: else OpenVINO computes in bf16 where the processor has it
export ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI
intel=(--plugin "$3" --device litert-intel-cpu)
for model in mlperf-resnet8-cifar-float mlperf-vww-float dtln-1 deeplabv3-257-float; do
  same "$folder/$model/model.tflite" "${intel[@]}" --fallback forbid --rtol 1e-3 --atol 1e-3
  TENON_COMPILE=off says 0 "litert-intel-cpu +([0-9]+) of \1 nodes, 100.0 % of .*in 1 island$" \
    explain "$folder/$model/model.tflite" "${intel[@]}"
done
# ... and what LiteRT made of the same input
resnet=$folder/mlperf-resnet8-cifar-float
mkdir -p "$work/ref" && cp "$resnet/ref/set0_out0.npy" "$work/ref/Identity.npy"
says 0 "^equal" compare "$resnet/model.tflite" --input "$resnet/ref/set0_in0.npy" \
  --with "$work/ref" "${intel[@]}" --rtol 1e-3 --atol 1e-4
same "$folder/mlperf-kws-float/model.tflite" "${intel[@]}" --fallback warn --rtol 1e-3 \
  --atol 1e-3
says 0 "^litert-intel-cpu: [23][0-9] of 31 cases taken, 0 failed" \
  conform litert-intel-cpu --plugin "$3"
cp "$folder/mlperf-resnet8-cifar-float/model.tflite" "$work/model.tflite" && chmod u+w "$work"/*
for vendor in "qualcomm:libQnnHtp.so: cannot open shared object file" \
  "samsung:undefined symbol" "mediatek:answers 502.*Failed to load NeuronAdapter shared library" \
  "google-tensor:liblitert_plugin_compiler.so: cannot open shared object file" \
  "intel-npu:answers 504: compilation failed; it said: .*cannot open shared object file"; do
  says 1 "litert-${vendor%%:*}: .*${vendor#*:}" compile "$work/model.tflite" \
    --for "litert-${vendor%%:*}" --plugin "$3"
done
finish
