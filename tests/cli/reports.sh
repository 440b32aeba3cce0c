#!/bin/bash
# tenon info, check, explain, bench, ops, plugin: what they say of models and parts.
. "$(dirname "$0")/kit.sh"
net=$data/net.onnx

# info
says 0 '^format +onnx$' info "$net"
also '^producer +tests$'
also '^opsets +ai\.onnx 17$'
also '^  x  f32\[batch,3,4,4\]$'
also '^  y  f32\[batch,5\]$'
also '^  1  GlobalAveragePool  version 17'
also '^nodes +5$'
also '^parameters +132 in 528 B$'
also "^FLOPs +not known: input 'x' leaves dims open"
says 0 '^FLOPs +[0-9.]+ k$' info "$net" --dim batch=2
also '^memory +activations '
says 0 '^  12  com\.acme::Foo +version 1 +not supported here' info "$data/missing.onnx"
also '^   1  local::Twice +version 1 +function of the model'
also '^   1  com\.acme::Bar'
also '^FLOPs +not known: .*com\.acme::Foo'
says 0 '^subgraphs +2$' info "$data/branch.onnx"
says 0 '  list +sequence of f32' info "$data/branch.onnx"
says 0 '' info "$net" --json="$work/info.json" --dim batch=1
json "$work/info.json" inputs.0.dim_names.0 '^batch$'
json "$work/info.json" inputs.0.shape '^\[-1,3,4,4\]$'
json "$work/info.json" parameters '^132$'
json "$work/info.json" memory_bytes.arena '^[1-9]'
json "$work/info.json" operators.4.name '^Relu$'

# info: names are any text, and do not move the cursor
LC_ALL=C sed 's/tests/x\x1b[2J/' "$net" >"$work/escapes.onnx"
says 0 '^producer +x\?\[2J$' info "$work/escapes.onnx"

# info: inputs that have a default stand apart, in older files they are weights
says 0 '^  scale  f32\[k\]  =  \{10, 100\}$' info "$data/default.onnx"
also '^inputs that may be left out'
also '^  c +bool\[\] +=  true$'
[ "$(grep -A1 '^inputs$' <<<"$out" | tail -n 1)" = "  x  f32[n,2]" ] ||
  fail "the input is not first: $out"
says 0 '' info "$data/default.onnx" --json="$work/default.json"
json "$work/default.json" inputs.0.name '^x$'
json "$work/default.json" optional_inputs.1.name '^to$'
json "$work/default.json" optional_inputs.1.default '^\{-1, 1\}$'
says 0 '^  x  f32\[n,2\]$' info "$data/default_ir3.onnx"
never 'scale|left out'
says 0 '' convert "$data/default.onnx" "$work/again.onnx"
says 0 '^  scale ' info "$work/again.onnx"

# check
says 0 'net.onnx: runs here$' check "$net"
says 1 'missing.onnx: does not run here$' check "$data/missing.onnx"
also '^  Foo \(com\.acme\), 12 nodes: no plug-in offers it$'
also '^  Bar \(com\.acme\), 1 node: no plug-in offers it$'
also "^  node 'relu' \(Relu\): attribute 'slope' is unknown" # what else is wrong is said, too
[ "$(grep -c '^  ' <<<"$out")" = 3 ] || fail "not each problem is said once: $out"
says 3 "wrong.onnx: is broken" check "$data/wrong.onnx"
also "^  node 'conv' \(Conv\): input 'W' is required"
says 0 'unfit.onnx: may run here$' check "$data/unfit.onnx"
also "^  note: kernels were not checked .open dims were assumed.: .*A is f32.1,4. and B is f32"
never 'error'
says 0 'model.pt: may run here$' check "$data/torchscript/LoopWrites/model.pt" # of any shape
also "^  note: kernels were not checked: input 'x': its shape is not known; say it with --shape"
never 'error'
says 3 "^2 run here, 1 do not, 2 are broken or cannot be read$" \
  check "$net" "$data/branch.onnx" "$data/missing.onnx" \
  "$data/wrong.onnx" "$data/truncated.onnx"
says 1 '' check -q "$net" "$data/missing.onnx"
never 'net.onnx: runs here'
says 1 'no plug-in|no kernel|pinned' check "$net" --pin Conv=nothing
says 1 '' check "$data/missing.onnx" --json="$work/check.json"
json "$work/check.json" models.0.runs '^false$'
json "$work/check.json" models.0.missing_operators.0.nodes '^12$'
json "$work/check.json" models.0.missing_operators.1.domain '^com.acme$'

# check and run end alike, whatever is wrong.
printf 'hello\n' >"$work/text"
for model in "$data"/{missing,wrong,truncated,twice,lines}.onnx "$work/text" "$work/nothing"; do
  "$tenon" run "$model" --random >/dev/null 2>&1
  says $? '' check "$model"
done
says 3 "function 'Twice': .* it is there twice" check "$data/twice.onnx"

# Newlines in names begin no lines.
for command in info check "run --random" explain "bench --repeat 5"; do
  for model in lines lines_run; do
    # shellcheck disable=SC2086
    out=$("$tenon" $command "$data/$model.onnx" 2>&1)
    never '^tenon: error: b'
  done
done

# explain
says 0 '^[0-9]+  conv \(Conv\)$' explain "$net" --dim batch=2
also '^    kernel    conv_[a-z0-9_]+, from tenon, on cpu$'
also '^    outputs   f32\[2,4,4,4\]'
also '^    fused     Relu$'
also '^    not taken [a-z0-9_]+: '
also '^[0-9]+ steps, estimated cost '
also '^memory: activations '
says 0 '^ *[0-9]+  conv +Conv +conv_' explain "$net" -b
says 0 'conv \(Conv\)' explain "$net" --node conv
never 'MatMul'
says 0 'head \(MatMul\)' explain "$net" --node MatMul
says 3 '--node nothing: no step is of a node or operator of this name' explain "$net" --node nothing
says 0 'relu \(Relu\)' explain "$net" --no-optimize
says 0 '^  [0-9]+  (neg|abs) \((Neg|Abs)\)' explain "$data/branch.onnx" --random
says 0 '' explain "$net" --json="$work/explain.json"
json "$work/explain.json" steps.0.op '^[A-Z]'
json "$work/explain.json" steps.0.outputs.0.type '^f32'
json "$work/explain.json" memory_bytes.arena '^[1-9]'
json "$work/explain.json" n_steps '^[1-9]'

# bench
says 0 '^5 runs, 1 thread: median .*, shortest .*, spread .* to ' bench "$net" --repeat 5
also '^ +time +share +calls +GFLOP/s +operator +kernel$'
also ' Conv +conv_'
also '^by operator and kernel, mean of 5 profiled runs:$'
says 0 '^3 runs, 2 threads' bench "$net" -n 3 --threads 2 --nodes 2
also ' conv$'
says 0 '' bench "$net" -n 5 --json="$work/bench.json"
json "$work/bench.json" runs '^5$'
json "$work/bench.json" ns.median '^[1-9]'
json "$work/bench.json" kernels.0.calls '^1$'
says 2 '--repeat takes a whole number from 1' bench "$net" -n 0

# tune: kernels are timed, the file is kept, added to, and believed
says 0 'kernels timed, [0-9]* times in ' tune "$net" -o "$work/net.tuning"
says 0 '^0 kernels timed, ' tune "$net" -o "$work/net.tuning"
says 0 '' run "$net" --random --tuning "$work/net.tuning"
if grep -q avx2 /proc/cpuinfo; then # else there is nothing to choose
  says 0 '^[1-9][0-9]* kernels timed, ' tune "$net" -o "$work/net.tuning" --anew
  grep -q 'conv_blocked_.* Conv-17 f32\[1,3,4,4\].* domain=ai.onnx device=cpu$' \
    "$work/net.tuning" ||
    fail 'no time of a convolution'
  sed -E 's/^[0-9]+(.conv_(blocked|narrow))/900000000\1/' "$work/net.tuning" >"$work/plain.tuning"
  says 0 'conv_f32_' explain "$net" --dim batch=1 --brief --tuning "$work/plain.tuning"
  never 'conv_blocked_|conv_narrow_'
  sed -E 's/^[0-9]+(.conv_f32)/900000000\1/' "$work/net.tuning" >"$work/blocked.tuning"
  says 0 'conv_(blocked|narrow)_' explain "$net" --dim batch=1 --brief \
    --tuning "$work/blocked.tuning"
fi
printf '# Tenon tuning 3\n12\tone\n# end\n' >"$work/one.tuning"
printf '# Tenon tuning 3\n34\ttwo\n# end\n' >"$work/two.tuning"
says 0 '' tune "$net" --tuning "$work/one.tuning" -o "$work/two.tuning"
grep -q one "$work/two.tuning" && grep -q two "$work/two.tuning" || fail 'times were lost'
says 2 'give one of them' tune "$net" --tuning "$work/one.tuning" --anew
printf '# Tenon tuning 3\n12 x\n# end\n' >"$work/bad.tuning"
says 3 'bad.tuning: line 2 has no tab' run "$net" --random --tuning "$work/bad.tuning"
echo what >"$work/bad.tuning"
says 3 'bad.tuning: is no file of Tenon.s tuning' run "$net" --random --tuning "$work/bad.tuning"
printf '# Tenon tuning 1\n12\tx\n' >"$work/bad.tuning"
says 3 'bad.tuning: is a file of version 1 of Tenon.s tuning; this Tenon reads version 3' \
  run "$net" --random --tuning "$work/bad.tuning"
printf '# Tenon tuning 20\n12\tx\n' >"$work/bad.tuning"
says 3 'bad.tuning: is a file of version 20' run "$net" --random --tuning "$work/bad.tuning"
head -c -9 "$work/net.tuning" >"$work/bad.tuning"
says 3 'bad.tuning: is cut off: its last line is not .# end.' run "$net" --random \
  --tuning "$work/bad.tuning"
printf '# Tenon tuning 3\n12\tone Conv-17 threads=1\n# end\n' >"$work/one.tuning"
says 0 "one.tuning: ignored: 1 of 1 times, of kernels that are not here .'one'." run "$net" \
  --random --tuning "$work/one.tuning"
also 'none of the 1 measured times is of a node of this model'
says 0 'ignored: [0-9]+ of [0-9]+ times, taken with another number of threads .1, not 2' \
  run "$net" --random --threads 2 --tuning "$work/net.tuning"
says 0 '' run "$net" --random --tuning "$work/net.tuning"
never 'ignored|none of the'
says 3 'none.tuning' run "$net" --random --tuning "$work/none.tuning"
says 3 '' tune "$net" -o "$work/no/such/folder.tuning"
says 2 'nothing to choose' tune "$net" --no-optimize

# ops
says 0 '^[0-9]+ operators$' ops
also '^Relu +[0-9, +-]+ +[a-z0-9 ]+ [0-9]+  .*portable'
says 0 '^  kernel +library +needs +from +in$' ops Relu
also '^    \(Tensor '
also '^  version [0-9]+ and later, from tenon$'
says 0 '^operator Clip: ops/[a-z_]+$' ops --where Clip
also '^kernel clip_[a-z0-9_]+: ops/[a-z_]+$'
says 0 '^operator tenon::Region: ' ops --where tenon::Region
says 1 "there is no operator 'Clop'" ops --where Clop
says 0 '^Conv ' ops --format onnx
says 3 "there is no format 'nothing'" ops --format nothing
says 0 '' ops Relu ai.onnx::Clip --json="$work/ops.json"
json "$work/ops.json" operators.0.name '^Clip$'
json "$work/ops.json" operators.1.versions.0.since '^1$'
json "$work/ops.json" operators.1.kernels.0.source '^ops/'

# plugin
says 0 '^tenon +[0-9.]+ .* built in ' plugin list
says 1 'nowhere.so +refused$' plugin list --plugin "$work/nowhere.so"
never 'is refused:'
says 1 'nowhere.so is refused:' plugin list --why --plugin "$work/nowhere.so"
says 1 'nowhere\?\[2J.so is refused:' plugin list --why --plugin "$work/nowhere"$'\e[2J.so'
says 0 'installed' plugin list --why
also "^tenon is in use as 'tenon' .built in.$"
export TENON_PLUGIN_PATH=.:$work/nowhere
says 0 "'.' .TENON_PLUGIN_PATH.: left out: it is not an absolute path" plugin list --why
also "nowhere' .TENON_PLUGIN_PATH.: left out: cannot open folder"
unset TENON_PLUGIN_PATH
safe=$(mktemp -d) # a list in a folder that others can write is not relied on
: >"$safe/allow"
chmod 600 "$safe/allow"
says 1 "nowhere.so is refused:" plugin list --why --allow "$safe/allow" --plugin "$work/nowhere.so"
chmod 666 "$safe/allow"
says 3 'allow: cannot be relied on: the file .* can be written by others' plugin list \
  --allow "$safe/allow"
rm -r "$safe"
says 3 'allow: there is no file' plugin list --allow "$work/no_list"
says 2 'no verb .fly' plugin fly
says 2 'tenon plugin needs list' plugin
says 0 '' plugin list --json="$work/plugins.json"
json "$work/plugins.json" plugins.0.found_by '^built in$'
json "$work/plugins.json" plugins.0.refused '^null$'
json "$work/plugins.json" folders.0.found_by '^installed$'
# --precision: what runs in what, and what that does to the outputs
says 0 '^precision: 2 of 3 steps read f16' compare "$data/mlp.onnx" --random --precision f16
also '^memory: prepared weights '
also '^output +elements +differ +largest difference'
says 1 'output y in bf16 ' compare "$data/mlp.onnx" --random --precision bf16 --rtol 1e-9
says 0 '^precision: 2 of 3 steps read f16' run "$data/mlp.onnx" --random --precision f16
says 0 'precision: 2 of 3 steps read bf16' explain "$data/mlp.onnx" --precision bf16
says 2 '' compare "$data/mlp.onnx" --random --precision f8
also 'precision is f32, f16 or bf16'
says 2 '--with DIR, --with FILE.npz or --precision f16' compare "$data/mlp.onnx" --precision f32
says 3 'without optimising' run "$data/mlp.onnx" --random --precision f16 --no-optimize
says 0 '' compare "$data/mlp.onnx" --random --precision f16 --json="$work/precision.json"
json "$work/precision.json" precision '^f16$'
json "$work/precision.json" outputs.0.snr_db '^[67]'
finish

# prepared weights on disk; copied models have a time of change that is too new, these have not
says 0 '' run "$net" --random --weight-cache "$work/weights"
says 0 '' bench "$net" --brief --time 0.01 --weight-cache "$work/weights" --json="$work/cached.json"
if ls "$work"/weights/net.onnx-*.tnweights >/dev/null 2>&1; then
  says 0 ' of prepared weights from the cache$' bench "$net" --brief --time 0.01 \
    --weight-cache "$work/weights"
  json "$work/cached.json" cached_weight_bytes '^[1-9]'
fi
mkdir "$work/open" && chmod 777 "$work/open"
says 3 'weight cache: .* can be written by others' run "$net" --random --weight-cache "$work/open"
says 3 'weight cache: cannot' run "$net" --random --weight-cache "$work/no/such"
