#!/bin/bash
# usage: cases.sh TENON FOLDER: the small programs answer what PyTorch did; entries, states,
# messages.
. "$(dirname "$0")/../models/kit.sh"
with_source() { # CASE FROM TO: out.pt is the case with TO for FROM in its program
  python3 - "$folder/$1/model.pt" "$work/out.pt" "$2" "$3" <<'EOF' || fail "python3: exit status $?"
import sys, zipfile
was, becomes = (text.encode() for text in sys.argv[3:])
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], "w") as new:
    for name in old.namelist():
        new.writestr(zipfile.ZipInfo(name), old.read(name).replace(was, becomes))
EOF
}
passes "$(find "$folder" -name model.pt | wc -l) passed, 0 failed, 0 skipped"
# a program that answers something else is a failure
notices InPlace set0_out1 set0_out0
grep -q "^FAIL .*/InPlace: output 'output.0' " <<<"$out" || fail "$out"
"$tenon" info "$folder/Buffers/model.pt" | grep -A1 '^states' | grep -q '^  total  f32\[3\]$' ||
  fail "a buffer that the program changes is no state"
"$tenon" info "$folder/Tuples/model.pt" | grep -q '^entries  *forward, pair$' || fail "no entries"
"$tenon" run "$folder/Tuples/model.pt" --entry pair -i "$folder/Tuples/ref/set0_in0.npy" |
  grep -q '^output.1.1: i64\[\]' || fail "--entry pair"
fails "no method 'no'; there are: 'forward', 'pair'" run "$folder/Tuples/model.pt" --entry no
# what the program refuses, it refuses
fails "" run "$folder/ByRank/model.pt" -i "$folder/IntInput/ref/set0_in1.npy"
fails "the program refuses these inputs: wrong size" \
  run "$folder/ByRank/model.pt" --random --shape x=2x5
# what an old archive means and is not known here is refused with its version
with_source OldDiv "div(x, 2)" "div(x, 2, out=c)"
fails "aten::div with out= in an archive of version 3 (before 4)" info "$work/out.pt"
# what reads memory needs a tensor of which it is known how it lies
with_source Strided "torch.contiguous(" "torch.relu("
fails "aten::as_strided of a tensor of which the program does not say how it lies" \
  info "$work/out.pt"
with_source Strides "torch.contiguous(torch.t(y))" "torch.t(y)"
fails "aten::stride of a tensor of which the program does not say how it lies" info "$work/out.pt"
# a pickle or source that is packed tight would become a hundred times its bytes of values
python3 - "$folder/InPlace/model.pt" "$work" <<'EOF' || fail "python3: exit status $?"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old:
    for what, end, large in ("pickle", "/data.pkl", b"N"), ("source", ".py", b"1;"):
        path = f"{sys.argv[2]}/{what}.pt"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                new.writestr(name, large * (6 << 20) if name.endswith(end) else old.read(name))
EOF
for what in pickle source; do
  fails "bytes, more than the 4[0-9]* that are parsed of an archive of this size" \
    info "$work/$what.pt"
done
# reading takes time in proportion to the program: 120000 variables in a branch take half a second
# of the 10 that there are (each looked up among all before it: 25)
python3 - "$folder/IfData/model.pt" "$work/long.pt" <<'EOF' || fail "python3: exit status $?"
import re, sys, zipfile
body = "".join(f"      v{k} = {k}\n" for k in range(120000))
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], "w") as new:
    for name in old.namelist():
        data = old.read(name).decode("latin-1")
        if name.endswith(".py"):
            data = re.sub("      y, x0, n = .*\n", lambda _: body, data)
            data = data.replace("(y, x0, n)", "(x, x, v119999)")
        new.writestr(zipfile.ZipInfo(name), data.encode("latin-1"))
EOF
out=$(ulimit -t 10 && "$tenon" run "$work/long.pt" --random --shape x=3 2>&1) ||
  fail "120000 variables in a branch: $out"
grep -q '^output.2: i64\[\].*119999' <<<"$out" || fail "unexpected: $out"
# a text that only a run knows is not taken for another one
python3 - "$folder/IfData/model.pt" "$work/text.pt" <<'EOF' || fail "python3: exit status $?"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], "w") as new:
    for name in old.namelist():
        asks = b'torch.eq(torch.format("{}-d", torch.dim(x)), "1-d")'
        data = old.read(name).replace(b"bool(torch.gt(torch.sum(x), 0))", asks)
        new.writestr(zipfile.ZipInfo(name), data)
EOF
fails 'not supported: comparing a text that only a run knows$' \
  run "$work/text.pt" --random --shape x=3
# programs without an end in depth, time or memory are refused, and storages that hold no codes
refused() { fails "$2" info "$folder/../../fuzz/corpus/torchscript/$1"; }
for name in negations long_sum; do refused $name "the source is nested too deep"; done
for name in calls_in_arguments nested_tuples list_in_itself_{if,cat,loop} long_chain_of_views; do
  refused $name "calls, expressions and values are more than 500 deep"
done
refused appends "tensors and lists that are copied take too much memory"
refused quantised_floats "a quantised tensor lies in storage '0', which has no codes"
# written as ONNX they answer the same
for name in ViewsOfViews Shapes IfData Ternary; do
  mkdir -p "$work/onnx/$name"
  cp -r "$folder/$name/ref" "$work/onnx/$name/ref"
  "$tenon" convert "$folder/$name/model.pt" -o "$work/onnx/$name/model.onnx" \
    -i "$folder/$name/ref/set0_in0.npy" >/dev/null 2>"$work/out" || fail "$(cat "$work/out")"
done
"$tenon" test "$work/onnx" >"$work/out" || fail "$(cat "$work/out")"
grep -q '^4 passed' "$work/out" || fail "$(cat "$work/out")"
rows=$("$tenon" ops --format torchscript)
grep -q ' aten::add.Tensor ' <<<"$rows" || fail "no row of aten::add.Tensor"
grep -q ' prim::RaiseException ' <<<"$rows" || fail "no row of prim::RaiseException"
exit $status
