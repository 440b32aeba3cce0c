#!/bin/bash
# usage: faults.sh TENON WORK FOLDER
# What fails on a device, and what is said then, word for word: the shadow device fails on demand.
set -uo pipefail
tenon=$1 work=$2 folder=$3
model=$folder/policy-go1/model.onnx
if [ ! -f "$model" ]; then
  echo "skipped: there is no $model"
  exit 77
fi
rm -rf "$work" && mkdir -p "$work" || exit 1
failures=0

# says CODE FAULT "LINE" OPTIONS...: the run ends with CODE and prints LINE, which may hold *.
says() {
  local code=$1 fault=$2 line=$3 got out
  shift 3
  local leaks=1
  [[ $fault != fault=hang* ]] || leaks=0 # what hangs is left alone, its memory too
  out=$(ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=$leaks TENON_SHADOW=delay=0,$fault \
    "$tenon" run "$model" --random=1 "$@" 2>&1)
  got=$?
  if [ $got -ne "$code" ]; then
    echo "FAILED: $fault $*: exit status $got, not $code"$'\n'"$out"
    failures=$((failures + 1))
  elif ! matches "$line" "$out"; then
    echo "FAILED: $fault $*: nobody says: $line"$'\n'"$out"
    failures=$((failures + 1))
  fi
}
matches() { # PATTERN TEXT
  local one
  while IFS= read -r one; do
    # shellcheck disable=SC2053
    [[ $one == $1 ]] && return
  done <<<"$2"
  return 1
}
answer="continuous_actions: f32\[1,12\]  min -0.271342 *"

# no driver, no device, no hardware
says 3 order \
  "tenon: error: device 'warp': there is no driver of that name, only cpu, cuda*, shadow*" \
  --device warp
says 3 order "tenon: error: device 'null:0': the null driver has no hardware: it is to copy" \
  --device null
says 3 order "tenon: error: device 'shadow:3': driver 'shadow' sees 1 device" --device shadow:3
says 3 fault=open "tenon: error: device 'shadow:0': cannot be opened: a fault on demand" \
  --device shadow
says 0 fault=open \
  "tenon: warning: device 'shadow:0': cannot be opened: a fault on demand; the model runs"\
" without it" \
  --device shadow --fallback allow
says 0 fault=open "$answer" --device shadow --fallback warn
says 3 order "tenon: error: device 'shadow:0' is named twice" --device shadow --device shadow:0
says 3 nonsense \
  "tenon: error: device 'shadow:0': TENON_SHADOW: 'nonsense' is none of *" --device shadow
TENON_GPU_UNITS=8x says 3 order \
  "tenon: error: device 'shadow:0': TENON_GPU_UNITS is '8x': it takes a number from 1 to *" \
  --device shadow

# no kernel: forbid names every node
says 1 hide=100 \
  "tenon: error: node 'mlp_1/Tanh' (Tanh): cannot run on the device, and fallback is"\
" forbidden; shadow:0: *the operator is hidden from it (TENON_SHADOW)" \
  --device shadow
says 1 hide=100 \
  "tenon: error: node 'mlp_1/MLP_0_1/hidden_3_1/MatMul_Gemm__9' (Gemm): cannot run on the"\
" device, *" \
  --device shadow
says 0 hide=100 "tenon: warning: * of * nodes run on the cpu, first node '*' (*); shadow:0: *" \
  --device shadow --fallback warn

# a program that does not build
says 1 fault=program \
  "tenon: error: node '*' (Gemm): cannot run on the device, and fallback is forbidden;"\
" shadow:0: *: device 'shadow:0': program '*' does not build: line 1: a fault on demand" \
  --device shadow
says 0 fault=program "$answer" --device shadow --fallback warn
says 0 fault=program@1 "$answer" --device shadow # another kernel takes its place

# memory of the device: while planning (weights, arena), while running
says 3 memory=1000 \
  "tenon: error: device 'shadow:0': a constant or prepared state needs 0.1 MiB: it has 1000"\
" bytes, 0 are taken" \
  --device shadow
says 3 fault=buffer \
  "tenon: error: device 'shadow:0': *: no memory: a fault on demand" --device shadow
says 3 fault=map \
  "tenon: error: device 'shadow:0': *: buffer_map() answers TN_OK, but gives nothing" \
  --device shadow
# handles that a driver leaves behind when it fails are not freed
says 3 fault=queue "tenon: error: device 'shadow:0': no queue: a fault on demand" --device shadow
says 3 fault=queue@2 \
  "tenon: error: device 'shadow:0': a queue: no queue: a fault on demand" --device shadow
says 0 fault=queue "$answer" --device shadow --fallback warn
says 0 fault=queue@2 "$answer" --device shadow --fallback warn
for k in 1 2 9; do
  says 3 fault=record@$k \
    "tenon: error: device 'shadow:0': *: no recording: a fault on demand" --device shadow
done
says 0 fault=record "$answer" --device shadow --fallback warn
says 3 fault=hang@1 \
  "tenon: error: device 'shadow:0': *: it has not ended after 10 s" --device shadow
says 0 memory=1000 "$answer" --device shadow --fallback allow
says 0 memory=1000 "$answer" --device shadow --fallback warn
says 0 fault=submit "$answer" --device shadow --fallback warn
small=$model model=$folder/mnist-8/model.onnx # its constants fit, its arena does not
says 3 memory=50000 \
  "tenon: error: device 'shadow:0': the arena needs 0.? MiB: it has 50000 bytes, *" --device shadow
says 0 memory=50000 \
  "tenon: warning: * nodes run on the cpu, first *; shadow:0: has no memory left for this model" \
  --device shadow --fallback warn
model=$small
says 3 fault=submit@12 \
  "tenon: error: device 'shadow:0', segment 1 of 1, nodes '*' (Transfer) to '*' (Transfer):"\
" no memory to submit: a fault on demand" \
  --device shadow --repeat 20

# a device that is lost, or hangs
says 3 fault=lost@12 \
  "tenon: error: device 'shadow:0' is lost, segment 1 of 1, nodes 'obs to shadow:0'"\
" (Transfer) to 'continuous_actions to cpu' (Transfer): it is lost: a fault on demand" \
  --device shadow --repeat 20
says 0 fault=lost@12 \
  "tenon: warning: device 'shadow:0' is lost, segment 1 of 1, *: it is lost: a fault on"\
" demand; the model runs again without it" \
  --device shadow --fallback warn --repeat 20
says 0 fault=lost@12 "$answer" --device shadow --fallback warn --repeat 20
says 3 fault=hang@9 \
  "tenon: error: device 'shadow:0' is lost, segment 1 of 1, *: it has not ended after 120 s" \
  --device shadow --repeat 20 # the first run of a program may compile it
says 3 fault=hang@12 \
  "tenon: error: device 'shadow:0' is lost, segment 1 of 1, *: it has not ended after 10 s" \
  --device shadow --repeat 20
says 0 fault=hang@12 "$answer" --device shadow --fallback warn --repeat 20

echo "$failures failures"
[ $failures -eq 0 ]
