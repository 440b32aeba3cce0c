#!/bin/bash
# usage: cases.sh TENON FOLDER: the small networks of MNN answer what is stored beside them.
set -uo pipefail
tenon=$1 folder=$2 status=0
fail() {
  echo "$*"
  status=1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$("$tenon" test "$folder") || fail "tenon test: exit status $?"
grep -q '^3 passed, 0 failed, 0 skipped$' <<<"$out" || fail "unexpected: $out"
# a file is known by what is in it, for it has no letters of its own
cp "$folder/net/model.mnn" "$work/net.bin"
"$tenon" info "$work/net.bin" | grep -q '^format  *mnn$' || fail "net.bin is not recognised"
# all operators are listed, and refused by name
rows=$("$tenon" ops --format mnn)
grep -q ' Convolution  *lowered  *Conv' <<<"$rows" || fail "no row of Convolution"
[ "$(grep -c '^ *[0-9][0-9]* ' <<<"$rows")" = 187 ] || fail "not 187 operators"
exit $status
