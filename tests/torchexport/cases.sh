#!/bin/bash
# usage: cases.sh TENON FOLDER: the small programs of torch.export answer what is stored beside
# them.
. "$(dirname "$0")/../models/kit.sh"
passes '16 passed, 0 failed, 0 skipped'
# a program that answers something else is a failure
notices net set1_out0 set0_out0
# dims have the names of the program, buffers that are written are states
about=$("$tenon" info "$folder/states/model.pt2")
grep -q '^  window  *f32\[4,2\]$' <<<"$about" || fail "no state: $about"
grep -q '^  count  *i64\[\]$' <<<"$about" || fail "no state: $about"
"$tenon" info "$folder/net/model.pt2" | grep -q '^  x  f32\[[a-z0-9]*,3,6,6\]$' ||
  fail "no name of a dim"
# what the program demands of sizes
refuses() { # x's size, y's size, what is said
  fails "the program refuses these inputs: $3\$" \
    run "$folder/ranges/model.pt2" --random --shape "x=$1x3" --shape "y=$2x3"
}
refuses 2 5 "dim 0 of 'x' (s[0-9]*) has to be from 3 to 8"
refuses 9 19 "dim 0 of 'x' (s[0-9]*) has to be from 3 to 8"
refuses 4 8 "dim 0 of 'y' has to be 2\*s[0-9]* + 1"
# open dims are as small as it allows, those that are made of others too
note=$("$tenon" convert "$folder/ranges/model.pt2" -o "$work/least.onnx" 2>&1) ||
  fail "1 is not in the range, and nothing else is tried: $note"
for said in "x'.*f32\[3,3\]" "y'.*f32\[7,3\]"; do
  grep -q "'$said, the smallest that the model allows" <<<"$note" || fail "not said: $said"
done
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
fails "bytes, more than the 4[0-9]* that are parsed of an archive of this size" \
  info "$work/json.pt2"
# what is read as it lies in memory has to lie without gaps
python3 - "$folder/strides/model.pt2" "$work/gaps.pt2" <<'EOF' || fail "python3: exit status $?"
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], "w") as new:
    for name in old.namelist():
        data = old.read(name)
        if "/models/" in name and name.endswith(".json"):
            model = json.loads(data)
            values = model["graph_module"]["graph"]["tensor_values"]
            values["mul"]["strides"][0] = {"as_int": 40}
            data = json.dumps(model)
        new.writestr(name, data)
EOF
fails "node 'as_strided_1'.*aten::as_strided of a tensor whose strides are no order of its dims" \
  info "$work/gaps.pt2"
# files that are something else say what they are
printf 'PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >"$work/empty.pt2"
fails 'this is a zip archive' info "$work/empty.pt2"
exit $status
