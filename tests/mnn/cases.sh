#!/bin/bash
# usage: cases.sh TENON FOLDER: the small networks of MNN answer what is stored beside them.
. "$(dirname "$0")/../models/kit.sh"
passes '20 passed, 0 failed, 0 skipped'
# a file is known by what is in it, for it has no letters of its own
cp "$folder/net/model.mnn" "$work/net.bin"
"$tenon" info "$work/net.bin" | grep -q '^format  *mnn$' || fail "net.bin is not recognised"
# weights beside the network must be there
cp "$folder/beside/model.mnn" "$work/alone.mnn"
fails "its weights are in 'alone.mnn.weight', which cannot be read, at byte" \
  run "$work/alone.mnn" --random
head -c 100 "$folder/beside/model.mnn.weight" >"$work/alone.mnn.weight"
fails "its weights are not in the 100 bytes of 'alone.mnn.weight'" run "$work/alone.mnn" --random
# all operators are listed, and refused by name
rows=$("$tenon" ops --format mnn)
grep -q ' Convolution  *lowered  *Conv' <<<"$rows" || fail "no row of Convolution"
[ "$(grep -c '^ *[0-9][0-9]* ' <<<"$rows")" = 187 ] || fail "not 187 operators"
exit $status
