#!/bin/bash
# usage: cases.sh TENON FOLDER: the small programs of torch.export answer what is stored beside
# them.
set -uo pipefail
tenon=$1 folder=$2 status=0
fail() {
  echo "$*"
  status=1
}
out=$("$tenon" test "$folder") || fail "tenon test: exit status $?"
grep -q '^13 passed, 0 failed, 0 skipped$' <<<"$out" || fail "unexpected: $out"
# a program that answers something else is a failure
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$folder/net" "$work/net"
cp "$folder/net/ref/set1_out0.npy" "$work/net/ref/set0_out0.npy"
"$tenon" test "$work" >"$work/out" && fail "wrong outputs pass"
# dims have the names of the program, buffers that are written are states
about=$("$tenon" info "$folder/states/model.pt2")
grep -q '^  window  *f32\[4,2\]$' <<<"$about" || fail "no state: $about"
grep -q '^  count  *i64\[\]$' <<<"$about" || fail "no state: $about"
"$tenon" info "$folder/net/model.pt2" | grep -q '^  x  f32\[[a-z0-9]*,3,6,6\]$' ||
  fail "no name of a dim"
# what the program demands of sizes
refuses() { # x's size, y's size, what is said
  out=$("$tenon" run "$folder/ranges/model.pt2" --random --shape "x=$1x3" --shape "y=$2x3" 2>&1) &&
    fail "sizes $1 and $2 run"
  grep -q "the program refuses these inputs: $3\$" <<<"$out" || fail "unexpected: $out"
}
refuses 2 5 "dim 0 of 'x' (s[0-9]*) has to be from 3 to 8"
refuses 9 19 "dim 0 of 'x' (s[0-9]*) has to be from 3 to 8"
refuses 4 8 "dim 0 of 'y' has to be 2\*s[0-9]* + 1"
# what the operators become
rows=$("$tenon" ops --format torchexport)
grep -q ' aten::conv2d  *lowered  *aten::conv2d' <<<"$rows" || fail "no row of conv2d"
"$tenon" op run aten::add.Scalar -i self=i32[2]=1,2 -a other=2.5 | grep -q '^out: f32\[2\]' ||
  fail "an integer and 2.5 are no f32"
"$tenon" op run aten::add.Scalar -i self=i32[2]=1,2 -a other=2 | grep -q '^out: i32\[2\]' ||
  fail "an integer and 2 are no integer"
# JSON that is packed tight would become many times its bytes of values
python3 - "$folder/net/model.pt2" "$work/json.pt2" <<'EOF' || fail "python3: exit status $?"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old:
    with zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            is_model = "/models/" in name and name.endswith(".json")
            new.writestr(name, b"[" + b"0," * (3 << 20) if is_model else old.read(name))
EOF
out=$("$tenon" info "$work/json.pt2" 2>&1) && fail "6 MB of numbers are a program"
grep -q "bytes, more than the 4[0-9]* that are parsed of an archive of this size" <<<"$out" ||
  fail "unexpected: $out"
# files that are something else say what they are
printf 'PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >"$work/empty.pt2"
out=$("$tenon" info "$work/empty.pt2" 2>&1) && fail "an empty archive is a program"
grep -q 'this is a zip archive' <<<"$out" || fail "unexpected: $out"
exit $status
