#!/bin/bash
# usage: gpu_models.sh TENON WORK MODEL DRIVER
# Models of products and convolutions run wholly on the driver's first device, in tiles that fit and
# not, and give what the CPU gives; what has no kernel there is an error, or runs on the CPU.
set -uo pipefail
tenon=$1 work=$2 model=$3 device=$4:0
rm -rf "$work" && mkdir -p "$work" || exit 1
if ! "$tenon" device info "$device" >"$work/info" 2>&1; then
  echo "skipped: no $device (docs/accelerators.md says what makes one): $(cat "$work/info")"
  exit 77
fi
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
for batch in 1 21; do
  here=(--dim batch=$batch --random=5)
  there=("${here[@]}" --device "$device" --fallback forbid)
  "$tenon" run "$model" "${here[@]}" --output "$work/$batch" >/dev/null || fail "batch $batch"
  "$tenon" compare "$model" "${there[@]}" --with "$work/$batch" --rtol 1e-5 --atol 1e-5 ||
    fail "batch $batch on $device"
  "$tenon" run "$model" "${there[@]}" --output "$work/there" >/dev/null || fail "batch $batch"
  "$tenon" run "$model" "${there[@]}" --on-device '*' --repeat 3 -o "$work/stays" >/dev/null ||
    fail "batch $batch, ends on $device"
  diff -r "$work/there" "$work/stays" || fail "batch $batch, ends on $device"
  "$tenon" check "$model" "${there[@]}" | grep -q "$device .* 100.0 % of .*; waits: 1$" ||
    fail "batch $batch is not wholly on $device"
  "$tenon" run "$model" "${there[@]}" --repeat 5 --threads 2 >/dev/null || fail "repeated"
done
# What is one step on the CPU, for which there is no kernel, stays three convolutions.
residual=$(dirname "$model")/residual.onnx
"$tenon" run "$residual" --random=5 --output "$work/residual" >/dev/null || fail "residual.onnx"
"$tenon" compare "$residual" --random=5 --device "$device" --with "$work/residual" --rtol 1e-4 \
  --atol 1e-5 || fail "residual.onnx on $device"
"$tenon" explain "$residual" --device "$device" --fallback warn --brief 2>"$work/said" |
  grep -q "^$device *3 of 3 nodes" || fail "residual.onnx on $device: $(cat "$work/said")"
# A decoder whose lengths are data, of the plug-in contrib: but for those, integers of 64 bits that
# OpenGL ES has not, it stays there.
decoder=$(dirname "$model")/decoder.onnx
here=(--input "${decoder%.onnx}.npz") there=("${here[@]}" --device "$device")
[ "$4" = gles ] && there+=(--fallback warn)
if "$tenon" ops com.microsoft::GroupQueryAttention >/dev/null 2>&1; then
  "$tenon" run "$decoder" "${here[@]}" --output "$work/decoder" >/dev/null || fail "decoder.onnx"
  "$tenon" compare "$decoder" "${there[@]}" --with "$work/decoder" --rtol 1e-4 --atol 1e-5 ||
    fail "decoder.onnx on $device"
  "$tenon" run "$decoder" "${there[@]}" -o "$work/decoded" >/dev/null &&
    "$tenon" run "$decoder" "${there[@]}" --on-device 'p*_[kv]' -o "$work/kept" >/dev/null &&
    diff -r "$work/decoded" "$work/kept" || fail "decoder.onnx, whose cache stays on $device"
  "$tenon" explain "$decoder" "${there[@]}" --brief 2>/dev/null |
    grep -qE "$device .* (100.0|99.8) % of .*, in 1 segment" || fail "decoder.onnx comes home"
fi
# A net of convolutions, and one with a type that no kernel moves there.
net=$(dirname "$model")/net.onnx types=$(dirname "$model")/types.onnx
"$tenon" run "$net" --random=5 --output "$work/net" >/dev/null || fail "net.onnx on the CPU"
"$tenon" compare "$net" --random=5 --device "$device" --with "$work/net" --rtol 1e-4 --atol 1e-5 ||
  fail "net.onnx on $device"
"$tenon" check "$types" --device "$device" >"$work/said" 2>&1 && fail "types.onnx runs"
refused="cannot run on the device, and fallback is forbidden; $device: region_gpu: "
grep -q "$refused" "$work/said" ||
  fail "types.onnx: $(cat "$work/said")"
"$tenon" check "$types" --device "$device" --fallback warn >"$work/said" 2>&1 ||
  fail "with the CPU's help"
# Programs cannot say that an index is out of range: where it is known, the CPU says it.
out_of_range() { # OP "AN ARGUMENT ..."
  local said row=$1_gpu args=()
  for arg in $2; do args+=(-i "$arg"); done
  row=$(sed 's/ND/Nd/; s/\([a-z]\)\([A-Z]\)/\1_\2/g' <<<"$row" | tr '[:upper:]' '[:lower:]')
  said=$("$tenon" op run "$1" "${args[@]}" --device "$device" 2>&1) && fail "$1 runs: $said"
  grep -q "forbidden; $device: $row: an* .*index is out of range" <<<"$said" || fail "$1: $said"
}
data=random:f32[4,3] one=updates=random:f32[1,3]
out_of_range GatherElements "data=$data indices=const:i64[1,3]=-5"
out_of_range GatherND "data=$data indices=const:i64[1,1]=4"
out_of_range ScatterElements "data=$data $one indices=const:i32[1,3]=4"
out_of_range ScatterND "data=$data $one indices=const:i64[1,1]=9"
out_of_range TensorScatter \
  "past_cache=random:f32[1,4,3] update=random:f32[1,2,3] write_indices=const:i64[1]=3"
"$tenon" conform "$device" >"$work/said" 2>&1 &&
  grep -q "^$device: 43 of 43 cases taken, 0 failed" "$work/said" ||
  fail "conform: $(cat "$work/said")"
# Threads of llvmpipe leave loops after 65,535 rounds in all, without a word.
too_long() { # WHY OP ARGUMENTS...
  said=$("$tenon" op run "${@:2}" --device "$device" 2>&1) && fail "$2 runs: $said"
  grep -q "forbidden; $device: .*$1" <<<"$said" || fail "$2: $said"
}
rounds="loops of more than 65535 rounds" keys=random:f32[1,1,20000,128]
too_long "conv_[a-z_]*gpu: " Conv -i X=random:f32[1,1,300,300] -i W=random:f32[1,1,280,280]
too_long "conv_[a-z_]*gpu: " Conv -i X=random:f32[1,14000,1,1] -i W=random:f32[8,14000,1,1]
too_long "$rounds" MaxPool -i X=random:f32[1,1,40,40,40] -a kernel_shape=40,40,40
too_long "$rounds" AveragePool -i X=random:f32[1,1,300,300] \
  -a kernel_shape=280,280
too_long "$rounds" GlobalAveragePool -i X=random:f32[1,1,2200,2200]
too_long "$rounds" GlobalLpPool -i X=random:f32[1,1,2200,2200] -a p=2
too_long "$rounds" Attention -i Q=random:f32[1,1,1,128] \
  -i K=$keys -i V=$keys
too_long "$rounds" ReduceLogSumExp --opset 18 -i data=random:f32[1,40000] \
  -i axes=const:i64[1]=1
too_long "$rounds" MatMul -i A=random:f32[3,70000] -i B=random:f32[70000,4]
too_long "$rounds" ReduceMean -i data=random:f32[4200000] -a keepdims=0
too_long "$rounds" Softmax -i input=random:f32[1400000]
too_long "$rounds" LayerNormalization -i X=random:f32[1400000] \
  -i Scale=random:f32[1400000]
too_long "$rounds" LSTM -i X=random:f32[1,1,17000] -i W=random:f32[1,4,17000] \
  -i R=random:f32[1,4,1] -a hidden_size=1 --n-outputs 1
too_long "$rounds" Resize --opset 18 -i X=random:f32[1,1,1200,1200] -i sizes=const:i64[4]=1,1,3,3 \
  -a mode=linear -a antialias=1
too_long "$rounds" ScatterND --opset 18 -i data=random:f32[4,4,4,4] -i indices=random:i64[16000,4] \
  -i updates=random:f32[16000] -a reduction=add
# Masks are integers of 64 bits, which OpenGL ES has not.
cast=(op run Cast -i input=const:i64[3]=4294967296,0,-1 -a to=9)
"$tenon" "${cast[@]}" --device "$device" | grep -q "^output: bool.*true, false, true" ||
  fail "Cast of integers of 64 bits: $("$tenon" "${cast[@]}" --device "$device" 2>&1)"
# Extremes of more elements than 64 parts look at.
long=(op run DynamicQuantizeLinear -i x=random:f32[9000000])
said=$("$tenon" "${long[@]}" --device "$device") && [ "$said" = "$("$tenon" "${long[@]}")" ] ||
  fail "DynamicQuantizeLinear: $said"
# On a large GPU all floats are halved with a precision; on what is none, that is an error.
if [ "$4" = opencl ]; then # PoCL compiles the kernels of large GPUs for longer than the host waits
  said=$("$tenon" run "$model" --random --device "$device" --precision f16 2>&1)
  grep -q "not supported: precision f16 on '$device', no GPU" <<<"$said" || fail "precision: $said"
elif [ "$4" != cuda ]; then
  export TENON_GPU_UNITS=64
  here=(--dim batch=21 --random=5) half=(--device "$device" --precision f16)
  "$tenon" explain "$model" "${here[@]}" "${half[@]}" --brief | grep -q "Gemm.* f16\[21," ||
    fail "nothing is halved"
  "$tenon" run "$model" "${here[@]}" "${half[@]}" --output "$work/half" >/dev/null &&
    "$tenon" compare "$model" "${here[@]}" --with "$work/half" --rtol 1e-2 --atol 5e-2 ||
    fail "halves"
fi
echo "$failures failures"
[ $failures -eq 0 ]
