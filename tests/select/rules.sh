#!/bin/bash
# tenon select and tenon check --kernels: what they write and say, good and bad arguments.
# usage: rules.sh TENON DATA WORK TENON_GEN
set -uo pipefail
# shellcheck source=tests/cli/kit.sh
source "$(dirname "$0")/../cli/kit.sh" "$1" "$2" "$3" none
gen=$4 root=$(cd "$data/../.." && pwd)

# the same list each time
says 0 'a: [0-9]+ operators, [0-9]+ kernels' select "$data/net.onnx" --target none -o "$work/a"

# the report counts what a model needs of what is there, without kernels that were left out again
says 0 '' select "$root/tests/emit/models/pools.onnx" --target none -o "$work/pools"
kernels=$(grep -c '^kernel' "$work/pools/parts.txt")
grep -q "^pools.onnx: [0-9]* operators, $kernels kernels" "$work/pools/report.txt" ||
  fail "$kernels kernels are listed, and the report says $(head -n 1 "$work/pools/report.txt")"
says 0 '' select "$data/net.onnx" --target none -o "$work/b"
cmp "$work/a/parts.txt" "$work/b/parts.txt" || fail "two runs wrote different lists"
grep -q '^format onnx$' "$work/a/parts.txt" || fail "the reader is not listed"
grep -qE '^kernel [a-z0-9_]+  # [A-Z][A-Za-z]*: ' "$work/a/parts.txt" ||
  fail "no kernel with its types"
grep -qE '^kernel [a-z0-9_]*_(avx2|avx512|neon)' "$work/a/parts.txt" &&
  fail "portable was asked for"
grep -qE '^left out: [0-9]+ of [0-9]+ operators' "$work/a/report.txt" || fail "no report"

# lists join; by hand
says 0 '' select "$data/mlp.onnx" --list "$work/a/parts.txt" --target none -o "$work/both"
grep -v '^#' "$work/a/parts.txt" | while read -r line; do
  grep -qxF "$line" "$work/both/parts.txt" || echo "$line"
done | grep . && fail "a line of the list is gone"

# a file may hold operators of another format, whose reader it needs, too
says 0 '3 formats' select "$data/tflite/select_tf_text/model.tflite" "$data/mnn/net/model.mnn" \
  --target none -o "$work/formats"
[ "$(grep '^format' "$work/formats/parts.txt")" = "format mnn
format tensorflow
format tflite" ] || fail "its formats are $(grep '^format' "$work/formats/parts.txt")"
says 0 'runs here' check --isa none --kernels "$work/formats/parts.txt" \
  "$data/tflite/select_tf_text/model.tflite"

says 0 '' select --add Softmax=f32 --target none -o "$work/hand"
grep -q '^op Softmax 13$' "$work/hand/parts.txt" || fail "--add adds no operator"
grep -q '^kernel softmax_f32_c ' "$work/hand/parts.txt" || fail "--add adds no kernel"
says 2 "there is no operator 'Softmux'; did you mean 'Softmax'" select --add Softmux -o "$work/x"
says 2 "'f33' is no dtype" select --add Softmax=f33 -o "$work/x"

says 2 "'threads' is none of devices, plugins, weight_cache, .*, pins, tuning" \
  select "$data/net.onnx" --with threads -o "$work/x"
says 0 '' select "$data/net.onnx" --with plugins --target none -o "$work/with"
grep -q '^service plugins$' "$work/with/parts.txt" || fail "--with adds no service"
says 0 'runs here' check --isa none --kernels "$work/with/parts.txt" "$data/net.onnx"
echo 'service threads' >"$work/list"
says 3 "list:1: there is no such part: 'service threads'" \
  check --kernels "$work/list" "$data/net.onnx"

# features: what a model has use for, and is told of where a list lacks it
says 0 '' select "$root/tests/emit/models/pools.onnx" --target none -o "$work/pools"
grep -q '^feature merge_regions$' "$work/pools/parts.txt" || fail "a pass that changed a graph"
grep -q '^kernel region_few_c ' "$work/pools/parts.txt" &&
  fail "a kernel is listed that no step of the plan runs"
echo 'kernel region_few_c' >"$work/list"
says 0 "" select "$root/tests/emit/models/pools.onnx" \
  --list "$work/list" --target none -o "$work/more"
grep -q '^kernel region_few_c ' "$work/more/parts.txt" || fail "a kernel of --list is gone"
grep -q '^feature' "$work/a/parts.txt" && fail "net.onnx has use for no feature"
grep -q '^feature move_transposes$' "$work/hand/parts.txt" || fail "--add adds no features"
mkdir -p "$work/beside"
cp "$data/external.onnx" "$work/beside" && head -c 8 /dev/zero >"$work/beside/weights.bin"
for row in "$data/function.onnx functions" "$data/branch.onnx subgraphs" \
  "$data/branch.onnx continuations" "$work/beside/external.onnx external_data" \
  "$data/tflite/states/model.tflite states" "$data/types.onnx dynamic_values" \
  "$data/sparse.onnx sparse_weights" "$data/typed.onnx typed_data" \
  "$root/tests/emit/models/sizes.onnx packed_weights"; do
  model=${row% *} feature=${row#* }
  says 0 '' select "$model" --target none -o "$work/full"
  grep -q "^feature $feature$" "$work/full/parts.txt" || fail "$model: no feature $feature"
  grep -v "^feature $feature$" "$work/full/parts.txt" >"$work/short"
  says 1 'linked without' check --isa none --kernels "$work/short" "$model"
  also "^ *lacks: feature $feature$"
done
flex=$data/tflite/select_tf_math/model.tflite
says 0 '' select "$flex" --target none -o "$work/full"
grep -v '^feature other_formats$' "$work/full/parts.txt" >"$work/short"
says 1 'does not run here' check --isa none --kernels "$work/short" "$flex"
also '^ *lacks: feature other_formats$'
# what a list lacks of passes, plans do without
says 0 '' select "$root/tests/emit/models/qdq.onnx" --target none -o "$work/full"
grep -v '^feature folding$' "$work/full/parts.txt" >"$work/short"
cmp -s "$work/short" "$work/full/parts.txt" && fail "qdq.onnx folds constants, and no line says it"
says 0 'runs here' check --isa none --kernels "$work/short" "$root/tests/emit/models/qdq.onnx"
says 0 '' select "$data/net.onnx" --precision f16 --target none -o "$work/half"
grep -q '^feature narrow_weights$' "$work/half/parts.txt" || fail "--precision lists no feature"
says 0 'runs here' check --isa none --precision f16 --kernels "$work/half/parts.txt" \
  "$data/net.onnx"
says 1 'tenon select --precision f16 MODEL' check --isa none --precision f16 \
  --kernels "$work/a/parts.txt" "$data/net.onnx"
also '^ *lacks: feature narrow_weights$'
echo 'feature telepathy' >"$work/list"
says 3 "list:1: there is no such part: 'feature telepathy'" \
  check --kernels "$work/list" "$data/net.onnx"
"$gen" --select "$work/list" "$root"/{ops,formats}/*/*.yaml -o "$work" 2>"$work/log" &&
  fail "tenon-gen takes a list with a feature that is not there"
grep -q "list:1: there is no such part" "$work/log" || fail "tenon-gen: $(cat "$work/log")"

# an If: both branches are planned, though one runs
says 0 '' select "$data/branch.onnx" --target none -o "$work/branch"
says 0 'runs here' check --isa none --kernels "$work/branch/parts.txt" "$data/branch.onnx"

# what is missing is named with operator, dtype and the command that adds it
says 1 'does not run here' check --isa none --kernels "$work/hand/parts.txt" "$data/net.onnx"
also 'lacks: format onnx'
also 'lacks: kernel [a-z0-9_]+  # [A-Z][A-Za-z]*: .*f32'
also "to add all of it: tenon select .*net.onnx --list .*parts.txt -o DIR"
says 0 'runs here' check --isa none --kernels "$work/a/parts.txt" "$data/net.onnx"

# lists that are wrong
echo 'kernel no_such_c' >"$work/list"
says 3 "list:1: there is no such part: 'kernel no_such_c'" \
  check --kernels "$work/list" "$data/net.onnx"
"$gen" --select "$work/list" "$root"/{ops,formats}/*/*.yaml -o "$work" 2>"$work/log" &&
  fail "tenon-gen takes a list with a part that is not there"
grep -q "list:1: there is no such part" "$work/log" || fail "tenon-gen: $(cat "$work/log")"
printf '# comment\n\n  op  Conv   11  # more\nthing x\n' >"$work/list"
says 3 "list:4: a line reads like" select --list "$work/list" -o "$work/x"
printf 'op Conv\n' >"$work/list"
says 3 "list:1: a line reads like" select --list "$work/list" -o "$work/x"
{ printf 'op Conv ' && head -c 3000 /dev/urandom | tr '\n #' '\t\t\t'; } >"$work/list"
says 3 "list:1: a line reads like" select --list "$work/list" -o "$work/x"

# a run that does not end is told of, and its plan counts
says 0 "endless.onnx: planned, but it does not run" \
  select --time-limit 1 "$data/endless.onnx" -o "$work/endless"

says 2 'plan file runs on one thread' select "$data/net.onnx" --plan --threads 2 -o "$work/x"
says 2 'select needs -o DIR' select "$data/net.onnx"
says 3 'nothing is selected' select -o "$work/x"
says 3 'cannot open' select "$work/nothing.onnx" -o "$work/x"
says 2 "'avx3' is no instruction set" select "$data/net.onnx" --target avx3 -o "$work/x"
no_file "$work/x"
finish
