#!/bin/bash
# usage: kernels.sh TENON WORK PLUGIN BROKEN UNSCHEMED
# Kernels for ExecuTorch as operators: values, shapes and dtypes by dry runs, schemas, errors.
set -uo pipefail
tenon=$1 work=$2 plugin=$3 broken=$4 unschemed=$5
. "$(dirname "$0")/../accelerator/common.sh"
runs() { # CODE PATTERN OP ARGUMENTS...
  says "$1" "$2" op run "my_ops::$3" --plugin "$plugin" "${@:4}"
}
runs 0 '\[3, -6, 0\]' triple -i 'arg0=f32[3]=1,-2,0'
runs 3 'my_ops::triple.out: Expected in to be Float, but got 4' triple -i 'arg0=i64[3]=1,2,3'
runs 0 'f32\[2\] .*\[6, 15\]|\[6, 15\]' row_sums -i 'arg0=f32[2,3]=1,2,3,4,5,6'
runs 0 '\[6, 15\]' row_sums -i 'arg0=i8[2,3]=1,2,3,4,5,6'
runs 0 '\[6, 15\]' row_sums -i 'arg0=f16[2,3]=1,2,3,4,5,6'
runs 0 '\[6, 15\]' row_sums -i 'arg0=bf16[2,3]=1,2,3,4,5,6'
runs 0 '\[6\]|: 6|= 6' row_sums -i 'arg0=f64[3]=1,2,3'
runs 3 'my_ops::row_sums.out: rank 0 has no rows' row_sums -i 'arg0=f32[]=1'
runs 0 '\[false, true, true\]|\[0, 1, 1\]' above.Scalar -i 'arg0=f32[3]=1,2,3' -a arg1=1.5
runs 0 '\[2, 4, 6\]' mix -i 'x=f32[3]=1,2,3' -a scale=2
runs 0 '\[-40, -64, -72\]' mix -i 'x=f32[3]=1,2,3' -i 'bias=f32[3]=3,5,5' -a shift=1 \
  -a repeats=2,2 -a negate=true -a mode=twice
runs 3 "mode 'thrice' is neither" mix -i 'x=f32[1]=1' -a mode=thrice
runs 0 '\[1, 2\]' extremes -i 'arg0=f32[2]=[3,2],f32[2]=[1,9]'
runs 0 '\[3, 9\]' extremes -i 'arg0=f32[2]=[3,2],f32[2]=[1,9]'
runs 0 '\[5, 7\]' positive -i 'arg0=f32[4]=-1,5,0,7'
runs 0 '\[2, 4\]' scaled -i 'input=f32[2]=1,2'
runs 0 '\[3, 6\]' scaled -i 'input=f32[2]=1,2' -a by=3
runs 0 '\[3, 6\]' scaled_too -i 'arg0=f32[2]=1,2' -a arg1=3
runs 0 '\[11, 12\]' offset -i 'x=f32[2]=1,2' -a by=10
runs 0 '\[12, 14\]' offset -i 'x=f32[2]=1,2' -a by=10 -a factor=2
runs 0 '\[\]|empty|f32\[0' triple -i 'arg0=random:f32[0]'
[ -n "${WITHOUT_VET:-}" ] || says 0 'test_executorch: fit' plugin vet "$plugin"
says 0 'Tensor\? bias' op info my_ops::mix --plugin "$plugin"
plugin=$broken
runs 3 'surprise.out: output 0 is resized .* TENON_DYNAMIC' surprise -i 'arg0=f32[4]=-1,5,0,7'
runs 3 'picky.out: element 2 is below 0' picky -i 'arg0=f32[3]=1,2,-3'
runs 0 '\[1, 2, 3\]' picky -i 'arg0=f32[3]=1,2,3'
says 3 'my_ops::unknown.out: a boxed kernel needs its schema' op run my_ops::unknown \
  --plugin "$unschemed"
finish
