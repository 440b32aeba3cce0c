#!/bin/bash
# usage: ops.sh TENON WORK PLUGIN OPS FOLDER [THROWS]
# Operators of a library for ONNX Runtime: what they compute, what they get to see, and what becomes
# of those that are broken.
set -uo pipefail
tenon=$1 work=$2 plugin=$3 folder=$5
export TENON_ORT_CUSTOM_OPS=$4
. "$(dirname "$0")/../accelerator/common.sh"
runs() { # CODE PATTERN MODEL ARGUMENTS...
  says "$1" "$2" run "$folder/$3.onnx" --plugin "$plugin" "${@:4}"
}
runs 0 '^a: .*\[6, -1, 9\]' ages
runs 0 '^e: .*\[207.5, 197, 212\]' ages
runs 0 '^p: .*\[1.5, 3\]' ages
runs 0 '^n2: .*\[2\]' ages
runs 0 '^n1: .*\[1\]' ages
runs 0 '^sizes: .*\[2, 3, 2\]' ages
runs 0 '^copied: .*\[50, 100\]' ages
runs 0 '^sizes: .*\[5, 5\]' open --random=3 --shape x=5
runs 0 '^sizes: .*\[0, 0\]' open --random=3 --shape x=0
runs 0 '"a: 4 5 0.5 one  3 const 1.5 tensor 77"' texts
runs 0 '"other: const 1.5"' texts

runs 0 '^y: f32\[63\].*\[1.5, -2, 3, 1.5, ' grow
says 0 '^    outputs   f32\[63\]' explain "$folder/grow.onnx" --plugin "$plugin"
runs 0 '^y: f32\[6\].*\[1.5, -2, 3, 1.5, -2, \.\.\.\]' grow_open

refuses() { # MODEL PATTERN
  local out code
  out=$(timeout 60 "$tenon" run "$folder/$1.onnx" --plugin "$plugin" 2>&1)
  code=$?
  [ $code -ge 1 ] && [ $code -lt 124 ] && grep -qE -- "$2" <<<"$out" && return
  echo "FAILED: $1: exit status $code, wanted a line like: $2"
  echo "$out"
  failures=$((failures + 1))
}
refuses fail_make 'com.acme::Fail: it does not want to be made'
refuses fail_missing "Tenon has no CreateEnv of ONNX Runtime's API"
refuses fail_run 'com.acme::Fail: it does not want to run'
refuses fail_unmade 'has not made output 0'
refuses fail_write 'an input is written'
refuses fail_negative 'dim 0 is -1'
refuses fail_rank '9 dims; the limit is 8'
refuses fail_index 'output 7 of 1'
refuses fail_strings 'no std::string here'
refuses grow_lie 'output 0 becomes f32\[6\], planned is f32\[3\]'
refuses grow_refuse 'com.acme::Grow: it has no shape'
refuses grow_index 'output 3 of 1'
refuses extensions 'ai.onnx.contrib::StringUpper; no .*: TENON_ORT_CUSTOM_OPS names its'
refuses few 'there are 1 variadic inputs; the operator takes 2 or more'
refuses type "not supported: input 'in0' of type bool"
refuses left_out 'output 0 is left out'

left_out() { # BAD PATTERN: the others are there
  BAD=$1 says 0 "$2" run "$folder/ages.onnx" --plugin "$plugin"
  BAD=$1 refuses fail_run 'com.acme::Fail; no plug-in offers it'
}
left_out version "an operator is left out: it says it is of version 99; known are 1 to"
left_out zero "an operator is left out: it says it is of version 0"
left_out name "operator 'has a space' is left out: its name is none"
left_out no_name "operator '\?' is left out: it lacks GetName"
left_out destroy "operator 'Fail' is left out: it lacks KernelDestroy"
left_out create "operator 'Fail' is left out: it lacks CreateKernel"
left_out compute "operator 'Fail' is left out: it lacks KernelCompute"
left_out provider "operator 'Fail' is left out: it is for another execution provider"
left_out type "operator 'Fail' is left out: an element type is none that is known"
left_out free "operator 'Fail' is left out: the type of an output cannot be told"
left_out many "operator 'Fail' is left out: it has more than 64"
left_out twice "operator 'Join' is left out: there is one of that name with other inputs"
BAD=status refuses ages 'RegisterCustomOps failed: it does not want to'
BAD=new refuses ages 'RegisterCustomOps failed: no table is new enough'
BAD=domain refuses ages 'RegisterCustomOps failed: the domain has no name'
TENON_ORT_CUSTOM_OPS=/nonexistent.so refuses ages '/nonexistent.so: cannot be loaded'
TENON_ORT_CUSTOM_OPS=ops.so refuses ages 'ops.so: is not loaded: the path is not absolute'
TENON_ORT_CUSTOM_OPS=$plugin refuses ages 'it does not export RegisterCustomOps'
TENON_ORT_CUSTOM_OPS=$4:$4 runs 0 '^p: .*\[1.5, 3\]' ages
TENON_ORT_CUSTOM_OPS='' refuses ages 'no plug-in offers it'
if [ -n "${6:-}" ]; then
  export TENON_ORT_CUSTOM_OPS=$6
  refuses fail_run 'com.acme::Fail: an exception was thrown'
  BAD=compute refuses fail_run 'com.acme::Fail: thrown while it was to compute'
  BAD=create refuses fail_run 'com.acme::Fail: thrown while it was to create'
  BAD=register refuses fail_run 'RegisterCustomOps failed: thrown while it was to register'
fi
finish
