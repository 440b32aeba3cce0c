#!/bin/bash
# usage: cases.sh TENON FOLDER: the small TensorFlow graphs answer what is stored beside them; what
# is wrong in a file, or not supported, is named.
. "$(dirname "$0")/../models/kit.sh"
passes '21 passed, 0 failed, 0 skipped'

# a graph of this text is refused with this message
refuses() {
  printf '%s\n' "$2" >"$work/x.pbtxt"
  fails -F "$1" info "$work/x.pbtxt"
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

table='node { name: "t" op: "HashTableV2" } node { name: "d" op: "Const"
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }'
refuses "node 'f' (LookupTableFindV2): not supported: a table that no constants fill" \
  "$x $table node { name: \"f\" op: \"LookupTableFindV2\" input: \"t\" input: \"x\" input: \"d\" }"
# files that fill tables: a line that lacks a column, and none at all
cp -r "$folder/table_files" "$work/tables"
chmod -R u+w "$work/tables"
printf 'a 3\nb' >"$work/tables/assets/numbers.tsv"
"$tenon" info "$work/tables" >"$work/out" 2>&1 && fail "a table without a column is taken"
grep -qF "line 2 of 'assets/numbers.tsv' has no column 1 of the table's type" "$work/out" ||
  fail "unexpected: $(cat "$work/out")"
rm "$work/tables/assets/numbers.tsv"
"$tenon" info "$work/tables" >"$work/out" 2>&1 && fail "a table without a file is taken"
grep -qF "'assets/numbers.tsv' cannot be opened" "$work/out" ||
  fail "unexpected: $(cat "$work/out")"
refuses "node 'f' (LookupTableSizeV2): not supported: what it reads is no table" \
  "$x node { name: \"f\" op: \"LookupTableSizeV2\" input: \"x\" }"
refuses "node 'f' (ReadVariableOp): not supported: what it reads is no variable" \
  "$table node { name: \"f\" op: \"ReadVariableOp\" input: \"t\" }"

printf '%s\n' "$x node { name: \"a\" op: \"MyOp\" input: \"x\" }" >"$work/own.pbtxt"
fails -F 'tf::MyOp' run "$work/own.pbtxt" --random
refuses "or a function calls itself" "node { name: \"a\" op: \"f\" }
library { function { signature { name: \"f\" output_arg { name: \"y\" } }
  node_def { name: \"a\" op: \"f\" } ret { key: \"y\" value: \"a:y:0\" } } }"

# what a run would assign is a state, with a value of the checkpoint; what no output depends on, by
# data or control, does not run
state="$x node { name: \"v\" op: \"VarHandleOp\" }
node { name: \"off\" op: \"Const\" attr { key: \"value\" value { tensor { dtype: DT_BOOL
  tensor_shape { } bool_val: false } } } }"
add='node { name: "add" op: "AssignAddVariableOp" input: "v" input: "x"'
relu='node { name: "y" op: "Relu" input: "x"'
none="needs the value of variable 'v', which the file does not have"
refuses "node 'add' (AssignAddVariableOp): $none" \
  "$state $add } $relu input: \"^add\" }"
refuses "node 's' (ScatterUpdate): assigns variable 'v': not supported yet" \
  "$state node { name: \"s\" op: \"ScatterUpdate\" input: \"v\" input: \"x\" input: \"x\" }
   node { name: \"n\" op: \"NoOp\" input: \"^s\" } $relu input: \"^n\" }"
library() { # that assigns its argument and gives the other
  printf 'function { signature { name: "f" input_arg { name: "h" type: DT_RESOURCE }
    input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type: DT_FLOAT } }
    node_def { name: "put" op: "AssignVariableOp" input: "h" input: "a" }
    ret { key: "b" value: "a" } }
  function { signature { name: "g" input_arg { name: "h" type: DT_RESOURCE }
    input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type: DT_FLOAT } }
    ret { key: "b" value: "a" } }'
}
call="op: \"StatefulPartitionedCall\" input: \"v\" input: \"x\"
  attr { key: \"f\" value { func { name: \"f\" } } } }"
refuses "node 'put' (AssignVariableOp): $none" \
  "$state node { name: \"y\" $call library { $(library) }"
refuses "node 'put' (AssignVariableOp): $none" \
  "$state node { name: \"c\" $call $relu input: \"^c\" } library { $(library) }"

runs() {
  printf '%s\n' "$1" >"$work/x.pbtxt"
  "$tenon" info "$work/x.pbtxt" >"$work/out" 2>&1 || fail "not taken: $(cat "$work/out")"
}
runs "$state $add } $relu }"
runs "$state node { name: \"c\" $call $relu } node { name: \"z\" op: \"NoOp\" input: \"^c\" }
  library { $(library) }"
branch='attr { key: "then_branch" value { func { name: "f" } } }
  attr { key: "else_branch" value { func { name: "g" } } } }'
if='op: "If" input: "off" input: "v" input: "x"'
runs "$state node { name: \"y\" $if $branch library { $(library) }"
runs "$state node { name: \"c\" $if $branch $relu input: \"^c\" } library { $(library) }"
switch='node { name: "w" op: "Switch" input: "x" input: "off" }'
runs "$state $switch node { name: \"on\" op: \"Identity\" input: \"w:1\" } $add input: \"^on\" }
  $relu input: \"^add\" }"
refuses "assigns variable 'v' in a branch or loop: not supported yet" "$state $switch
  node { name: \"on\" op: \"Identity\" input: \"w:0\" } $add input: \"^on\" }
  $relu input: \"^add\" }"

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

# the first NonMaxSuppression has its threshold as an attribute; of box 0 the next covers 0.6
boxes() {
  local type='attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape'
  printf '%s\n' "node { name: \"b\" op: \"Const\" $type { dim { size: 3 } dim { size: 4 } }
    float_val: [0, 0, 1, 1, 0, 0, 1, 0.6, 2, 2, 3, 3] } } } }
  node { name: \"s\" op: \"Const\" $type { dim { size: 3 } } float_val: [0.9, 0.8, 0.7] } } } }
  node { name: \"n\" op: \"Const\" attr { key: \"value\" value { tensor { dtype: DT_INT32
    tensor_shape { } int_val: 3 } } } }
  node { name: \"y\" op: \"NonMaxSuppression\" input: \"b\" input: \"s\" input: \"n\" $1 }"
}
boxes '' >"$work/boxes.pbtxt"
"$tenon" run "$work/boxes.pbtxt" | grep -q '^y: i32\[2\] .*\[0, 2\]' ||
  fail "not boxes 0 and 2: $("$tenon" run "$work/boxes.pbtxt" 2>&1)"
boxes 'attr { key: "iou_threshold" value { f: 0.7 } }' >"$work/boxes.pbtxt"
"$tenon" run "$work/boxes.pbtxt" | grep -q '^y: i32\[3\] .*\[0, 1, 2\]' ||
  fail "not all boxes: $("$tenon" run "$work/boxes.pbtxt" 2>&1)"

# signatures are entries; the folder is the model
saved=$folder/saved
info=$("$tenon" info "$saved")
grep -Eq 'entries +(product, serving_default|serving_default, product)' <<<"$info" ||
  fail "no entries: $info"
"$tenon" run "$saved" --entry product --random | grep -q '^p: f32\[2,3\]' ||
  fail "no entry 'product'"
fails -F "there is no signature 'none'" info "$saved" --entry none

# two signatures call functions with one variable; that of "step" adds to it, by a control output
mkdir "$work/state"
cp "$folder/../../fuzz/corpus/tensorflow/state.saved_model.pb" "$work/state/saved_model.pb"
cp -r "$saved/variables" "$work/state/"
fails -F "node 'put' (AssignAddVariableOp): 'count' is not in variables/variables.index" \
  info "$work/state" --entry step
"$tenon" run "$work/state" --entry plain --random | grep -q '^y: f32\[2\]' ||
  fail "no entry 'plain': the variable is not assigned there"

# what a session keeps; an entry that reads it has it as well, one that does not has constants
"$tenon" info "$folder/states" | grep -A2 '^states' | grep -q '^  rows   f32\[4,2\]$' ||
  fail "no state"
"$tenon" run "$folder/states" --entry get | grep -q '^count: i32\[\].*\[3\]' ||
  fail "no entry 'get'"
"$tenon" info "$folder/states" --entry plain | grep -q '^states' && fail "'plain' has states"
"$tenon" info "$folder/states" --entry sometimes | grep -A1 '^states' | grep -q '^  count ' ||
  fail "a variable that a branch assigns is no state"

# checkpoints that are damaged or not there
cp -r "$saved" "$work/broken"
chmod -R u+w "$work/broken"
variables=$work/broken/variables shard=variables/variables.data-00000-of-00001
printf 'x' | dd of="$variables/variables.index" bs=1 seek=20 conv=notrunc status=none
fails -F 'variables.index: the sum of a block is wrong, at byte 0' info "$work/broken"
cp "$saved/variables/variables.index" "$variables/"
truncate -s 100 "$work/broken/$shard"
fails -F "leaves $shard, which has 100" info "$work/broken"
rm "$work/broken/$shard"
ln -s /etc/passwd "$work/broken/$shard"
fails -F 'leads out of' info "$work/broken"
rm -r "$variables"
fails -F "variables.index' cannot be opened" info "$work/broken"

rows=$("$tenon" ops --format tensorflow)
grep -q ' Conv2D .*Conv' <<<"$rows" || fail "no row of Conv2D"
exit $status
