#!/bin/bash
# usage: faults.sh TENON WORK BAD.so DATA
# Everything that a compiler and a dispatcher can do wrong: what is said, and that the model gives
# its answer where others may do the work.
set -uo pipefail
tenon=$1 work=$2 bad=$3 data=$4
. "$(dirname "$0")/common.sh"
model=$data/adds.onnx
export TENON_MODULE_CACHE= TENON_COMPILE_SECONDS=30 TENON_COMPILE_MEGABYTES=4096
on=(--plugin "$bad" --device bad-npu)
a="accelerator 'bad-npu': compiler 'bad'"
# fails HOW PATTERN: forbidden, it is an error with these words; else the CPU gives the answer
fails() {
  export BAD=$1
  says 1 "$2" run "$model" --random "${on[@]}"
  same "$model" "${on[@]}" --fallback warn
  unset BAD
}
# silent ARGUMENTS...: tenon says nothing but its results
silent() {
  local out
  out=$("$tenon" "$@" 2>&1 >/dev/null) && [ -z "$out" ] && return
  echo "FAILED: ${BAD:+BAD=$BAD }$*: says: $out"
  failures=$((failures + 1))
}
same "$model" "${on[@]}" --fallback warn # nothing is wrong
says 0 "bad-npu +2 of 3 nodes" explain "$model" "${on[@]}" --fallback warn
fails crash "$a crashed with SIGSEGV in compile\(\), 1 part: Add"
fails abort "$a crashed with SIGABRT in compile\(\), 2 parts: Add, Add"
fails exit "$a ended the process with exit status 3 in compile\(\)"
fails exit0 "$a ended the process with exit status 0 in compile\(\)"
TENON_COMPILE_SECONDS=1 fails hang "$a took more than 1 s in compile\(\)"
TENON_COMPILE_SECONDS=1 BAD=spin says 1 "$a took more than 1 s in compile\(\)" run \
  "$data/add.onnx" --random "${on[@]}"
TENON_COMPILE_MEGABYTES=512 fails memory "$a crashed with SIGABRT in compile\(\)"
fails fail "$a: no such thing"
fails status "$a: .*12345"
fails nothing "$a: it answers TN_OK, but no module"
fails pointer "$a crashed with SIGSEGV in the module that compile\(\) gave"
fails data "$a crashed with SIG(SEGV|BUS) in the module that compile\(\) gave"
fails format "$a: its module is of format 'other', its table says 'bad'"
fails target "$a: its module is for target 'bad-npu-9', asked for was 'bad-npu'"
fails alignment "$a: its module's alignment 3 is no power of two up to 1 MiB"
fails alignment-63 "$a: its module's alignment 9223372036854775808 is no power of two up to 1 MiB"
fails stamp-bytes "$a: its module's stamp is not UTF-8"
fails entries "$a: its module has 3 entries for 2 parts"
fails ports \
  "the module of compiler 'bad': entry 0 'part' has 1 inputs and 1 outputs, its part has 2 and 1"
fails dtype \
  "the module of compiler 'bad': entry 0 'part': output 0 is f64\[\], its part has f32\[6\]"
for what in longer:7 shorter:1; do
  fails ${what%:*} "entry 0 'part': output 0 is f32\[${what#*:}\], its part has f32\[6\]"
done
fails unsized "$a: port 2 of an entry has no type of known size"
stamps="accelerator 'bad-npu': a module was made for kit '1.0' and stamp 'old', here are '1.0' and"
fails stamp "$stamps 'new': it has to be compiled again"
fails stamp-no "$stamps 'new': it does not run here"
fails stamp-77 "$a answers verdict 77 to compatible\(\), which is none"
fails stamp-fail \
  "$a does not say whether a module of stamp 'old' runs on 'new': its list is lost"
for verdict in optimal runs; do
  BAD=stamp-$verdict says 0 "bad-npu +2 of 3 nodes" explain "$model" "${on[@]}" --fallback warn
  BAD=stamp-$verdict same "$model" "${on[@]}" --fallback warn
done
BAD=stamp-runs says 0 "note: $stamps 'new': it runs; compiled again it would be faster" \
  run "$data/add.onnx" --random "${on[@]}"
for time in 1 2; do # made, then kept
  TENON_MODULE_CACHE=$work/kept BAD=stamp-runs says 0 "it runs; compiled again it would" \
    run "$data/add.onnx" --random "${on[@]}"
done
BAD=stamp-optimal silent run "$data/add.onnx" --random "${on[@]}"
fails load "dispatcher 'bad' does not load a module: no room for 10 bytes"
fails port "port 0 of entry 0 wants an alignment of 48"
fails partition "$a does not partition: it does not like the graph"
fails group "$a: its claim of node 'first' \(Add\) has group -7"
fails cost "its claim of node 'first' \(Add\) has group 0 and costs -1 ns"
for edit in type node remove; do
  fails edit-$edit "$a does not partition: it edits a graph that it may only read"
done
# what has been made is not lost
BAD=release same "$model" "${on[@]}" --fallback warn
# islands one by one
BAD=together says 0 "bad-npu +2 of 3 nodes, .*in 2 islands" explain "$model" "${on[@]}" \
  --fallback warn
# no device
BAD=open says 3 "accelerator 'bad-npu': libbad.so.1 cannot be loaded" run "$model" --random \
  "${on[@]}"
BAD=open says 0 "libbad.so.1 cannot be loaded; the model runs without it" \
  run "$model" --random "${on[@]}" --fallback warn
# while it runs
BAD=run says 3 "accelerator 'bad-npu': the device is gone" run "$data/add.onnx" --random "${on[@]}"
same "$data/add.onnx" "${on[@]}"
BAD=run says 0 "the device is gone; its nodes run on the cpu from now on" \
  run "$model" --random "${on[@]}" --fallback warn
BAD=run same "$model" "${on[@]}" --fallback warn
# a test of the target finds wrong results, and targets that take nothing
says 0 "^bad-npu: [1-9][0-9]* of [0-9]+ cases taken, 0 failed" conform bad-npu --plugin "$bad"
BAD=wrong says 1 "^FAILED +Add A\[2,3,8\] B\[8\]: element 0 is" conform bad-npu --plugin "$bad"
BAD=run says 1 "^FAILED +Add .*the device is gone; its nodes run on the cpu" \
  conform bad-npu --plugin "$bad"
# what is known of a target: each case has to come out as it says
known=$work/known.txt
"$tenon" conform bad-npu --plugin "$bad" 2>/dev/null |
  sed -n 's/^\(not taken [^:]*\).*/\1/p' >"$known"
says 0 "^bad-npu: " conform bad-npu --plugin "$bad" --expect "$known"
BAD=wrong says 1 "^FAILED +Add .*; expected: ok" conform bad-npu --plugin "$bad" --expect "$known"
echo "failed Add A[2,3,8] B[8] # in every release" >>"$known"
says 1 "^ok +Add A\[2,3,8\] B\[8\]; expected: failed" \
  conform bad-npu --plugin "$bad" --expect "$known"
sed -i '1,2d' "$known"
says 1 "bad-npu: 3 cases do not come out as .*known.txt says" \
  conform bad-npu --plugin "$bad" --expect "$known"
says 3 "$work/none.txt: No such file" conform bad-npu --plugin "$bad" --expect "$work/none.txt"
says 0 '^"Add A\[2,3,8\] B\[8\]",ok,""' conform bad-npu --plugin "$bad" --csv
says 0 '"conforms":[[:space:]]*true' conform bad-npu --plugin "$bad" --json
says 3 "device 'nobody': there is no driver of that name" conform nobody
says 3 "device 'null:0': the null driver has no hardware" conform null
BAD=open says 3 "libbad.so.1 cannot be loaded" conform bad-npu --plugin "$bad"
BAD=crash says 1 "bad-npu takes none of the cases" conform bad-npu --plugin "$bad"
# where it begins to be wrong: the outputs, then the first value
both=(--random "${on[@]}" --fallback warn --with cpu)
says 0 "^equal  y: as on cpu" compare "$model" "${both[@]}"
says 0 "^equal  all 3 values that nodes make" compare "$model" "${both[@]}" --bisect
BAD=wrong says 1 "^DIFFER y: 6 of 6 elements differ" compare "$model" "${both[@]}"
BAD=wrong says 1 "^FIRST  node 'first' \(Add\), output 0 's': 6 of 6 elements differ" \
  compare "$model" "${both[@]}" --bisect
BAD=wrong says 1 "^  bad-npu +min .*, max .*, mean .*, 0 NaN" compare "$model" "${both[@]}" --bisect
BAD=wrong says 1 '"values_before":[[:space:]]*0' compare "$model" "${both[@]}" --bisect --json
says 0 "^equal  all 1 values" compare "$data/add.onnx" --random --with portable --bisect
says 0 "^equal  all 5 values" compare "$data/tflite/control/model.tflite" --random \
  --with portable --bisect # bodies read values around them
says 2 "bisect compares with another way" compare "$model" --random --with "$work" --bisect
# vetting compiles what is claimed, loads it and runs it: a sample of vet_faults.sh
b="^bad: compiler 'bad', a chain for 'bad-npu': "
says 0 "^bad: fit: .* 0 notes" plugin vet "$bad"
BAD=partition-crash says 1 "${b}crashed with SIGSEGV in partition\(\)" plugin vet "$bad"
b="^bad: compiler 'bad', two inputs for 'bad-npu': "
BAD=group says 1 "${b}partition\(\) claims Add with group -7" plugin vet "$bad"
BAD=crash says 1 "${b}crashed with SIGSEGV in compile\(\)" plugin vet "$bad"
BAD=run-crash says 1 "${b}crashed with SIGSEGV in run\(\)" plugin vet "$bad"
BAD=short says 1 "${b}run\(\) does not write element 0 of output 0" plugin vet "$bad"
BAD=behind says 1 "${b}.* in run\(\), at 0 bytes behind the end of output" plugin vet "$bad"
finish
