#!/bin/bash
# A plug-in's kernel for an operator that ships with Tenon: it wins by its rank, or by a pin, or it
# is not taken and the reason is said; and what `explain` and `plugin list --why` say of it.
# usage: override.sh TENON MODULES
. "$(dirname "$0")/../cli/kit.sh" "$1" "" "$3" ""
modules=$2
neg=(op run Neg -i 'X=f32[2]=1,2')
big=(op run Neg -i 'X=random:f32[40]')

# by rank
says 0 '^ *-1001, -1002|-1001 -1002|-1001' "${neg[@]}" --plugin "$modules/override.so"
says 0 'kernel +neg_acme, from acme-neg_acme' "${neg[@]}" --plugin "$modules/override.so" --explain
also 'neg_float_.*: has rank [0-9]+, neg_acme takes the node with rank 300'

# whatever it costs, over kernels of another layout, and over those that fused steps go with
conv=(op run Conv -i 'X=random:f32[1,32,14,14]' -i 'W=const:random:f32[32,32,3,3]')
says 0 'kernel +conv_(winograd|blocked|f32|any)' "${conv[@]}" --explain
says 0 'kernel +conv_acme, from acme-conv' "${conv[@]}" --explain \
  --plugin "$modules/override_conv.so"
also 'conv_.*: has rank [0-9]+, conv_acme takes the node with rank 300'
says 0 'Conv +conv_[a-z0-9_]+ +\+Relu' explain "$(dirname "$0")/../data/net.onnx" --brief
says 0 'Conv +conv_acme +f32' explain "$(dirname "$0")/../data/net.onnx" --brief \
  --plugin "$modules/override_conv.so"
also ' Relu +relu_'

# an operator that a reader would make a function of, by its whole name
flex=$(dirname "$0")/../data/tflite/select_tf_math/model.tflite
says 0 'min -?[0-9]\.[0-9]+' run "$flex" --random
says 0 'min -2000  max -2000' run "$flex" --random --plugin "$modules/flex.so"
says 0 'kernel +flex_acme, from acme-flex' explain "$flex" --plugin "$modules/flex.so"

# by a pin, though its rank is low
says 0 'kernel +neg_float_' "${neg[@]}" --plugin "$modules/override_low.so" --explain
also 'neg_low: has rank 50, neg_float_[a-z0-9]+ takes the node with rank [0-9]+'
says 0 'kernel +neg_low, from acme-neg_low' "${neg[@]}" --plugin "$modules/override_low.so" \
  --pin Neg=neg_low --explain
also 'neg_float_c: another kernel is pinned'

# refused, with its reason
says 0 'kernel +neg_float_' "${big[@]}" --plugin "$modules/override.so" --explain
also 'neg_acme: takes no more than 32 elements'
says 1 'neg_acme: takes no more than 32 elements' "${big[@]}" --plugin "$modules/override.so" \
  --pin Neg=neg_acme

# what was decided when they were loaded
says 0 "kernel 'neg_acme' of Neg, rank 300, stands before 'neg_float_" plugin list --why \
  --plugin "$modules/override.so" --plugin "$modules/override_low.so"
also "kernel 'neg_low' of Neg, rank 50, stands behind 'neg_acme' of plug-in 'acme-neg_acme', rank 3"
says 0 "op 'Neg' since 2: is left out, with its kernels and rewrites: it overlaps versions" \
  plugin list --why --plugin "$modules/duplicate.so"
also "kernel 'neg_with_bias': is left out, as is the op of this plug-in that it is for"
also "rewrite 'neg_away': is left out"
says 0 'kernel +neg_float_' "${neg[@]}" --plugin "$modules/duplicate.so" --explain
never '^ .*neg_with_bias'
finish
