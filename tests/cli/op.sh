#!/bin/bash
# tenon op: one operator on files, random and literal values; attributes; what is refused.
. "$(dirname "$0")/kit.sh"

# values
says 0 '^output: f32\[3\] .*\[-1, 3, 6\]$' op run Clip -i input=f32[3]=-1,3,9 -i max=f32[]=6
says 0 '\[7, 8, 7, 8, 7\]$' op run Clip -i input=i64[5]=7,8
says 0 '^  \[true, true, false\]$' op run Not -i 'X=bool[2x3]=0,false,1'
says 0 '\[1, 2, -3, 4\]$' \
  op run Concat -a axis=0 -i 'inputs=i32[2]=[1,2],i32[1]=[-3]' -i 'inputs=i32[1]=4'
says 0 '^outputs.1: f32\[2\] .*\[3, 4\]$' \
  op run Split --n-outputs 2 -a num_outputs=2 -i input=f32[4]=1,2,3,4
says 0 '^output: f32\[2,2\] .*\[3, 3, 3, 3\]$' \
  op run ConstantOfShape -a value=f32[1]=3 -i input=const:i64[2]=2,2
says 0 '^output: f32\[2,40\]  min ' op run Identity -i input=random:f32[2,40]
says 0 '^output: f32\[0\]' op run Identity -i input=f32[0]=
one=$("$tenon" op run Identity -i input=random:f32[2,3])
two=$("$tenon" op run Identity -i input=random:f32[2,3] --seed 2)
[ "$(wc -l <<<"$one")" = 3 ] && [ "$one" != "$two" ] || fail "random values: $one"

# attributes
says 0 '\[1, 2\]$' op run Cast -i input=f32[2]=1,2 -a to=i32
says 0 '\[0, 1, 0\]$' op run Pad -i data=f32[1]=1 -i pads=i64[2]=1,1 --attr mode=constant
says 0 'Y: f32\[1,2,4,4\]' \
  op run Conv -i X=random:f32[1,2,4,4] -i W=random:f32[2,2,3,3] -a pads=1,1,1,1 -a 'strides=[1, 1]'
says 0 '\[1, -1\]$' op run LeakyRelu -i X=f32[2]=1,-2 -a alpha=0.5
says 0 '' op run Softmax --opset 12 -i input=random:f32[2,3]

# files
says 0 'wrote .*/y.npy: f32\[2,3,4,4\]' op run Relu -i "X=$data/x.npy" -o "Y=$work/y.npy"
says 0 '' op run Relu -i "X=$work/y.npy" --json="$work/y.json"
json "$work/y.json" operator '^Relu$'
json "$work/y.json" outputs.0.type '^f32\[2,3,4,4\]$'
says 0 '^Y: bf16\[2,3,4,4\]' op run Relu -i "X=bf16:$data/x.npy"
says 3 'x.npy holds f32\[2,3,4,4\], which cannot stand for i64' op run Relu -i "X=i64:$data/x.npy"
says 3 'cannot open .*/nothing.npy' op run Relu -i "X=$data/nothing.npy"

# bench, explain, kernels, info
says 0 '^4 runs, 1 thread: median' op run Relu -i X=random:f32[1000] --bench -n 4
also ' Relu +relu_'
says 0 '^0  Relu \(Relu\)$' op run Relu -i X=random:f32[1000] --explain
also '^    not taken '
says 0 '^    kernel    relu_float_c, ' op run Relu -i X=random:f32[8] --explain -k relu_float_c
says 1 "no kernel of this .* 'relu_nothing'; it has relu_" op run Relu -i X=f32[1]=1 -k relu_nothing
says 0 'note: no step is left to run' op run Relu -i X=const:f32[1]=1 --explain
says 0 '' op run Relu -i X=random:f32[8] --bench -n 2 --json="$work/bench.json"
json "$work/bench.json" operator '^Relu$'
says 0 '^    \(Tensor input, \*, int axis=-1\) -> Tensor output$' op info Softmax
says 1 "there is no operator 'Clop'" op info Clop

# what is refused
says 1 "there is no operator 'Sofmax'; no plug-in offers it" op run Sofmax -i x=f32[1]=1
says 3 "argument 'x' is not one of the schema" op run Softmax -i x=f32[1]=1
also 'note: Softmax, version 13: \(Tensor input'
says 3 "attribute 'axis' cannot be 'x'" op run Softmax -i input=f32[1]=1 -a axis=x
says 3 "attribute 'axis' is no tensor" op run Softmax -i input=f32[1]=1 -i axis=f32[1]=1
says 3 "'input' is a tensor" op run Softmax -a input=1
says 3 "input 'input' is required but missing" op run Softmax
says 3 'is written like NAME=VALUE' op run Softmax -i x.npy
says 3 'which values\?' op run Softmax -i input=f32[2]
says 3 'no number of this type' op run Softmax -i input=u8[2]=1,300
says 3 'no number of this type' op run Softmax -i input=f32[2]=1,x
says 3 'one for each element' op run Softmax -i input=f32[2]=1,2,3
says 3 'random values are written like' op run Softmax -i input=random:f33[2]
says 3 'its size overflows' op run Softmax -i input=random:f32[9223372036854775807,9]
says 3 'can only come from files' op run Identity -i input=string[1]=a
says 3 'does not have 9 outputs' op run Softmax -i input=f32[1]=1 --n-outputs 9
says 2 'tenon op needs run or info' op
says 2 'tenon op needs the name of an operator' op run
says 2 "no verb 'fly'" op fly Softmax
says 2 'do not go together' op run Relu --bench --explain
finish
