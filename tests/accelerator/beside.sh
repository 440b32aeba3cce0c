#!/bin/bash
# usage: beside.sh TENON WORK BESIDE.so DATA SESSIONS
# Islands beside steps of the CPU: the vendor's device and a kernel wait for each other, so that a
# host which runs one after the other gets errors of both.
set -uo pipefail
tenon=$1 work=$2 data=$4
. "$(dirname "$0")/common.sh"
model=$data/beside.onnx
on=(--plugin "$3" --device beside-npu)
in=(--input "$data/beside/a.npy" --input "$data/beside/b.npy")
says 0 "beside-npu +2 of 7 nodes, .*in 2 islands" explain "$model" "${on[@]}" --fallback warn
for threads in 1 2; do
  says 0 '^equal' compare "$model" "${in[@]}" --with "$data/beside" "${on[@]}" --fallback warn \
    --threads $threads
  # again and again, in memory that plans share
  says 0 'median' bench "$model" "${in[@]}" "${on[@]}" --fallback warn --repeat 50 \
    --threads $threads
done
# a model whose steps all wait for the island is run as ever: by run()
BAD=run says 0 "run\(\) was called; its nodes run on the cpu" \
  run "$data/add.onnx" --random "${on[@]}" --fallback warn
BAD=run says 0 '^equal' compare "$model" "${in[@]}" --with "$data/beside" "${on[@]}" \
  --fallback warn
# a device that fails: the CPU does its work
for how in "wait:it has lost the way" "start:it does not begin"; do
  BAD=${how%%:*} says 0 '^equal' compare "$model" "${in[@]}" --with "$data/beside" "${on[@]}" \
    --fallback warn
  BAD=${how%%:*} says 0 "accelerator 'beside-npu': ${how#*:}; its nodes run on the cpu from now" \
    run "$model" "${in[@]}" "${on[@]}" --fallback warn --repeat 5
done
# sessions in threads, which take turns with the program
TENON_COMPILE=$tenon timeout 60 "$5" "$3" "$model" beside-npu || failures=$((failures + 1))
finish
