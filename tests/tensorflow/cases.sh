#!/bin/bash
# usage: cases.sh TENON FOLDER: the small TensorFlow graphs answer what is stored beside them; what
# is wrong in a file, or not supported, is named.
set -uo pipefail
tenon=$1 folder=$2 status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$*"
  status=1
}
out=$("$tenon" test "$folder") || fail "tenon test: exit status $?"
grep -q '^6 passed, 0 failed, 0 skipped$' <<<"$out" || fail "unexpected: $out"

# a graph of this text is refused with this message
refuses() {
  printf '%s\n' "$2" >"$work/x.pbtxt"
  "$tenon" info "$work/x.pbtxt" >"$work/out" 2>&1 && fail "taken: $2"
  grep -qF -- "$1" "$work/out" || fail "not '$1': $(cat "$work/out")"
}
x='node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'
refuses "'typo' is no field of NodeDef that is known here" "node { name: \"a\" typo: 1 }"
refuses "there is no node 'y', which something reads" "$x
node { name: \"a\" op: \"Relu\" input: \"y\" }"
refuses "node 'a' (PyFunc): not supported: it stands for code" \
  "$x node { name: \"a\" op: \"PyFunc\" input: \"x\" }"
refuses "there is no function 'f'" "$x node { name: \"a\" op: \"PartitionedCall\" input: \"x\"
  attr { key: \"f\" value { func { name: \"f\" } } } }"
refuses "needs the value of variable 'v', which the file does not have" "
node { name: \"v\" op: \"VarHandleOp\" } node { name: \"a\" op: \"ReadVariableOp\" input: \"v\" }"

# what the command says, failing, holds a text
says() {
  local text=$1
  shift
  "$tenon" "$@" >"$work/out" 2>&1 && fail "no failure: $*"
  grep -qF -- "$text" "$work/out" || fail "not '$text': $(cat "$work/out")"
}
printf '%s\n' "$x node { name: \"a\" op: \"MyOp\" input: \"x\" }" >"$work/own.pbtxt"
says 'tf::MyOp' run "$work/own.pbtxt" --random
refuses "or a function calls itself" "node { name: \"a\" op: \"f\" }
library { function { signature { name: \"f\" output_arg { name: \"y\" } }
  node_def { name: \"a\" op: \"f\" } ret { key: \"y\" value: \"a:y:0\" } } }"

# what TensorFlow itself does not build any more: (2 - 0.5) / 0.5 * 2 + 1
number() {
  printf 'node { name: "%s" op: "Const" attr { key: "value" value { tensor { dtype: DT_FLOAT %s
    float_val: %s } } } }\n' "$1" 'tensor_shape { dim { size: 1 } }' "$2"
}
{
  number x 2 && number m 0.5 && number v 0.24 && number b 1 && number g 2
  echo 'node { name: "y" op: "BatchNormWithGlobalNormalization"
    input: "x" input: "m" input: "v" input: "b" input: "g"
    attr { key: "variance_epsilon" value { f: 0.01 } }
    attr { key: "scale_after_normalization" value { b: true } } }'
} >"$work/oldest.pbtxt"
"$tenon" run "$work/oldest.pbtxt" | grep -q '^y: f32\[1\] *\[7\]' ||
  fail "not 7: $("$tenon" run "$work/oldest.pbtxt" 2>&1)"

# signatures are entries; the folder is the model
saved=$folder/saved
info=$("$tenon" info "$saved")
grep -Eq 'entries +(product, serving_default|serving_default, product)' <<<"$info" ||
  fail "no entries: $info"
"$tenon" run "$saved" --entry product --random | grep -q '^p: f32\[2,3\]' ||
  fail "no entry 'product'"
says "there is no signature 'none'" info "$saved" --entry none

# checkpoints that are damaged or not there
cp -r "$saved" "$work/broken"
chmod -R u+w "$work/broken"
variables=$work/broken/variables shard=variables/variables.data-00000-of-00001
printf 'x' | dd of="$variables/variables.index" bs=1 seek=20 conv=notrunc status=none
says 'variables.index: the sum of a block is wrong, at byte 0' info "$work/broken"
cp "$saved/variables/variables.index" "$variables/"
truncate -s 100 "$work/broken/$shard"
says "leaves $shard, which has 100" info "$work/broken"
rm "$work/broken/$shard"
ln -s /etc/passwd "$work/broken/$shard"
says 'leads out of' info "$work/broken"
rm -r "$variables"
says "variables.index' cannot be opened" info "$work/broken"

rows=$("$tenon" ops --format tensorflow)
grep -q ' Conv2D .*Conv' <<<"$rows" || fail "no row of Conv2D"
exit $status
