#!/bin/bash
# usage: cases.sh TENON FOLDER: the small programs of ExecuTorch answer what is stored beside them.
. "$(dirname "$0")/../models/kit.sh"
passes '20 passed, 0 failed, 0 skipped'
# a program that answers something else is a failure
notices linear set1_out0 set0_out0
# methods are entries, buffers that are written are states, sizes that a run says are open
about=$("$tenon" info "$folder/state/model.pte")
grep -q '^entries  *forward$' <<<"$about" || fail "no entry: $about"
grep -q '^  value_0  f32\[2,3\]$' <<<"$about" || fail "no state: $about"
"$tenon" info "$folder/open/model.pte" | grep -q '^  input_0  f32\[?,?\]$' || fail "no open dims"
# what the operators become
rows=$("$tenon" ops --format executorch)
grep -q ' aten::add.Tensor  *lowered  *aten::add *$' <<<"$rows" || fail "no row of add"
grep -q ' executorch_prim::et_view  *lowered' <<<"$rows" || fail "no row of et_view"
grep -q ' 39  xnnpack::XNNConvTranspose2d  *lowered  *ConvTranspose *$' <<<"$rows" ||
  fail "no row of XNNConvTranspose2d"
# weights of 4 bits stay what they are in the file
"$tenon" explain "$folder/groups4/model.pte" | grep 'BlockMatMul' >/dev/null ||
  fail "4 bits are no blocks"
# caches are states, and one plan serves all places
about=$("$tenon" info "$folder/caches/model.pte")
[ "$(grep -c '^  value_[0-9]*  f32\[1,6,2,4\]$' <<<"$about")" = 5 ] || fail "no caches: $about"
# weights beside the program: a file that is damaged, is none, or is not there
mkdir "$work/beside"
cp "$folder/beside/model.pte" "$work/beside"
fails "needs 'conv.weight', .* in another file, and there is no model.ptd beside the program" \
  info "$work/beside/model.pte"
head -c 200 "$folder/beside/model.ptd" >"$work/beside/model.ptd"
fails 'model.ptd: .*' info "$work/beside/model.pte"
cp "$folder/beside/model.pte" "$work/beside/model.ptd"
fails 'model.ptd: it is no file of tensors (.ptd)' info "$work/beside/model.pte"
fails 'this is weights of an ExecuTorch program (.ptd): open the program' \
  info "$folder/beside/model.ptd"
# an operator that is not known is named, with its place
sed 's/aten::relu/aten::reLu/' "$folder/linear/model.pte" >"$work/model.pte"
fails 'instruction 2 (aten::reLu.out): .* no such operator is known, at byte [0-9]*$' \
  run "$work/model.pte" --random
# what reads memory does not read a tensor that lies in another order
python3 - "$folder/strided/model.pte" "$work/model.pte" <<'EOF' || fail "python3: exit status $?"
import sys
data = open(sys.argv[1], "rb").read()
open(sys.argv[2], "wb").write(data.replace(b"\3\0\0\0\0\1\2", b"\3\0\0\0\0\2\1"))
EOF
fails '(aten::as_strided_copy.out): not supported: of a tensor whose dim_order is' \
  info "$work/model.pte"
# as is a delegate
sed 's/XnnpackBackend/XnnpackBackXnd/' "$folder/xnnpack/model.pte" >"$work/model.pte"
fails "is compiled for the delegate 'XnnpackBackXnd', at byte [0-9]*\$" \
  run "$work/model.pte" --random
exit $status
