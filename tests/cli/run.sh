#!/bin/bash
# tenon run: all kinds of inputs and outputs, and what does not fit.
. "$(dirname "$0")/kit.sh"
net=$data/net.onnx

# Inputs: by order, by name, of several kinds, all with the same result.
same='\[2\.625, -3\.9375, 0\.28125, 0\.28125, '
says 0 "^y: f32\[2,5\]  min -4\.875  max 2\.625  mean -0\.803125  $same" \
  run "$net" --input "$data/x.npy"
want=$out
for input in "x=$data/x.npy" "$data/x.npz" "x=$data/x.npz"; do
  says 0 '' run "$net" -i "$input"
  [ "$out" = "$want" ] || fail "$input gives $out"
done
says 0 '^y: f32\[1,5\] .* \[2\.625, -3\.9375' run "$net" -i "$data/x.bin"
says 0 '^    1\.  \[0,0\]  2\.625$' run "$net" -i "$data/x.npy" --top 2
also '^    2\.  \[1,0\]  2\.'

# Inputs that have a default: left out, replaced by name, never taken in order.
optional=$data/default.onnx
says 0 '^y: f32\[4,1\] .* \[0, 100, 20, 300\]' run "$optional" -i "$data/pair.npy"
says 0 '^y: f32\[4,1\] .* \[0, 1, 2, 3\]' run "$optional" \
  -i "x=$data/pair.npy" -i "$data/default.npz"
says 3 "the model has no more than 1 inputs" run "$optional" -i "$data/pair.npy" -i "$data/pair.npy"
says 3 "--shape scale=2: the input has a default" run "$optional" \
  -i "$data/pair.npy" --shape scale=2
says 3 "--input z: the model has no such input; it has 'x', 'scale', 'to', 'c'" \
  run "$optional" -i "z=$data/pair.npy"
says 2 "input 'x' .* is not given" run "$optional" -i "$data/default.npz"
says 3 "--input scale: the model has no such input; it has 'x'" \
  run "$data/default_ir3.onnx" -i "scale=$data/pair.npy"
says 0 '\[0, 100, 20, 300\]' run "$data/default_ir3.onnx" -i "$data/pair.npy"

# Inputs that do not fit name the file, the input, and both types.
says 2 "input 'x' \(f32\[batch,3,4,4\]\) is not given; say --input x=FILE, or --random" run "$net"
says 3 "x_wrong.npy: input 'x': got f32\[2,2,4,4\], the model takes f32\[batch,3,4,4\]" \
  run "$net" -i "$data/x_wrong.npy"
says 3 "x_f64.npy: input 'x': got f64\[2,3,4,4\], the model takes f32" \
  run "$net" -i "$data/x_f64.npy"
says 3 "--input z: the model has no such input; it has 'x'" run "$net" -i "z=$data/x.npy"
says 3 "other.npz nothing: the model has no such input" run "$net" -i "$data/other.npz"
says 3 "the model has no more than 1 inputs" run "$net" -i "$data/x.npy" -i "$data/x.npy"
says 3 "input 'x' is given by .*/x.npy already" run "$net" -i "$data/x.npy" -i "x=$data/x.npz"
says 3 "cannot open .*/nowhere.npy" run "$net" -i "$data/nowhere.npy"
says 3 "this folder holds no input_0.pb" run "$net" -i "$data"
says 3 "what is in this file\? It must end in" run "$net" -i "$data/make.py"
head -c 100 "$data/x.npy" >"$work/cut.npy"
says 3 "cut.npy: not a .npy file that can be read: it ends within its header" \
  run "$net" -i "$work/cut.npy"
head -c 300 "$data/x.npy" >"$work/cut.npy"
says 3 "cut.npy: .* its shape needs 384 bytes, it has 172" run "$net" -i "$work/cut.npy"
head -c 190 "$data/x.bin" >"$work/odd.bin"
says 3 "odd.bin: 47 elements do not fit f32\[\?,3,4,4\]" run "$net" -i "$work/odd.bin"
head -c 200 "$data/x.npz" >"$work/cut.npz"
says 3 "cannot open .*/cut.npz" run "$net" -i "$work/cut.npz"

# What is no model is called by its name.
printf 'version https://git-lfs.github.com/spec/v1\n' >"$work/lfs.onnx"
says 1 "lfs.onnx: this is a Git LFS pointer, .*git lfs pull" run "$work/lfs.onnx"
also 'Formats that are read here: .*onnx'
says 1 "x.npy: this is a NumPy array, not a model: give it as an input" run "$data/x.npy"
says 1 "x.npz: this is NumPy arrays, not a model" run "$data/x.npz"
: >"$work/empty"
says 1 'empty: the file is empty' run "$work/empty"
mkdir "$work/saved" && : >"$work/saved/Manifest.json"
says 1 'saved: this is a Core ML package' run "$work/saved"
rm "$work/saved/Manifest.json" && : >"$work/saved/saved_model.pb"
says 3 'saved_model.pb: the file is empty' run "$work/saved"

# External data comes from the model's folder, or from where a link to the model leads.
mkdir "$work/model" "$work/store"
printf '\0\0\200\77\0\0\0\100' >"$work/store/weights.bin"
cp "$data/external.onnx" "$work/model/"
ln -s ../store/weights.bin "$work/model/weights.bin"
says 3 "external data 'weights.bin': a symbolic link leads out of the model's folder, to" \
  run "$work/model/external.onnx" --random
sed 's|weights[.]bin|./././././.|' "$work/model/external.onnx" >"$work/model/folder.onnx"
says 3 'cannot map .*model/[./]*: it is not a regular file' run "$work/model/folder.onnx" --random
also "external data: file '[./]*' cannot be used"
mv "$work/model/external.onnx" "$work/store/blob"
ln -s ../store/blob "$work/model/external.onnx"
says 0 '^y: f32\[2\]' run "$work/model/external.onnx" --random

# Of what is nested deeply both ends are told.
says 3 "deep.onnx: node 'if60' .* \.\.\.: .*'then_branch': graphs are nested more than 32 deep" \
  run "$data/deep.onnx" --random

# A run without end is ended.
says 1 "node 'for_ever' .*TN_ERR_CANCELLED" run "$data/endless.onnx" --random --time-limit 0.2
also 'the time of --time-limit is over'
says 2 '--time-limit' run "$data/endless.onnx" --random --time-limit=-1

# Shapes and random values.
says 0 '^y: f32\[1,5\]' run "$net" --random
also "note: input 'x' is f32\[batch,3,4,4\], taken as f32\[1,3,4,4\]"
random=$out
says 0 '' run "$net" --random=1
[ "$out" = "$random" ] || fail "the same seed gives other values"
says 0 '' run "$net" --random=2
[ "$out" != "$random" ] || fail "another seed gives the same values"
says 0 '^y: f32\[3,5\]' run "$net" --random --dim batch=3
says 0 '^y: f32\[2,5\]' run "$net" --random --shape x=2x3x4x4
says 0 '^y: f32\[2,5\]' run "$net" --random --shape 2,3,4,4
says 3 "--shape x=2x3x4x5: does not fit input 'x', which is f32\[batch,3,4,4\]" \
  run "$net" --random --shape x=2x3x4x5
says 3 "--shape x=2x3: does not fit" run "$net" --random --shape x=2x3
says 3 "--shape x=2xx3: dims are written like" run "$net" --random --shape x=2xx3
says 3 "--shape y: the model has no such input" run "$net" --random --shape y=1
says 3 "--dim seq: no input has a dim of this name" run "$net" --random --dim seq=3
says 3 "--dim batch: is written like batch=4" run "$net" --random --dim batch
says 2 "--random takes a whole number" run "$net" --random=x

# Outputs.
says 0 "wrote $work/y.npy: f32\[2,5\]" run "$net" -i "$data/x.npy" -o "$work/y.npy"
says 0 "^equal  y: as in $work/y.npy" compare "$net" -i "$data/x.npy" --with "$work"
says 0 "wrote $work/all/y.npy" run "$net" -i "$data/x.npy" -o "$work/all"
says 0 "wrote $work/named.npy" run "$net" -i "$data/x.npy" -o "y=$work/named.npy"
cmp -s "$work/y.npy" "$work/named.npy" || fail "the same output is written in two ways"
says 3 "the model has no output 'z'" run "$net" -i "$data/x.npy" -o "z=$work/z.npy"
says 3 "out.png: outputs are written as .npy" run "$net" -i "$data/x.npy" -o "y=$work/out.png"
says 3 "cannot make folder /dev/null/out" run "$net" -i "$data/x.npy" -o /dev/null/out
says 3 "cannot create a file next to $work/nowhere/y.npy" \
  run "$net" -i "$data/x.npy" -o "$work/nowhere/y.npy"
says 0 '' run "$net" -i "$data/x.npy" -q
never '^y:'

# Every element type goes in and comes out.
says 0 '^out_bf16: bf16\[3\] .* \[1, 0, 3\]' \
  run "$data/types.onnx" -i "$data/types.npz" -o "$work/types"
also '^out_string: string\[3\]  \["one", "", "dré"\]'
also '^out_i4: i4\[3\] .* \[1, 0, 3\]'
also '^out_c64: c64\[3\] .* \[1\+0i, 0\+0i, 3\+0i\]'
says 0 '^equal  out_string' compare "$data/types.onnx" -i "$data/types.npz" --with "$work/types"
never DIFFER
says 0 '^out_string: string\[2\]' run "$data/types.onnx" --random --dim n=2
says 3 "the model has 17 outputs; write NAME=" run "$data/types.onnx" --random -o "$work/one.npy"
printf '\1\2\3' >"$work/three.bin"
says 0 '^out_u8: u8\[3\] .* \[1, 2, 3\]' run "$data/types.onnx" --random -i "in_u8=$work/three.bin"
also '^out_f32: f32\[3\]' # the open dim n is that of the file everywhere
says 3 "in_f64|three.bin: .* f64" run "$data/types.onnx" --random -i "in_f64=$work/three.bin"
says 3 "raw bytes cannot be elements of type string" \
  run "$data/types.onnx" --random -i "in_string=$work/three.bin"

# Lists, subgraphs, shapes that depend on data.
says 0 '^list: sequence of f32, 2 items' run "$data/branch.onnx" --random -o "$work/lists"
also '^list\[1\]: f32\[4\]'
also '^t: i64\[4,1\]'
[ -f "$work/lists/list_1.npy" ] || fail "items of lists are not written"
says 3 "output 'list' is a list; name a folder" \
  run "$data/branch.onnx" --random -o "list=$work/list.npy"

# Times, profile, JSON.
says 0 '^loaded in .*; planned and first run in ' run "$net" --random --time --repeat 5
also '^then 4 runs: mean .*, shortest '
says 0 "wrote $work/trace.json" run "$net" --random --repeat 2 --profile "$work/trace.json"
json "$work/trace.json" traceEvents.0.ph '^X$'
json "$work/trace.json" traceEvents.0.args.op '^Conv$'
says 0 '' run "$net" -i "$data/x.npy" --json="$work/run.json" --top 1
json "$work/run.json" outputs.0.type '^f32\[2,5\]$'
json "$work/run.json" outputs.0.shape '^\[2,5\]$'
json "$work/run.json" outputs.0.top.0.index '^0,0$'
json "$work/run.json" outputs.0.max '^2\.625'
"$tenon" run "$net" -i "$data/x.npy" --json >"$work/stdout.json" || fail "--json without a file"
json "$work/stdout.json" outputs.0.name '^y$'
says 3 'cannot create a file next to /dev/null/x.json' \
  run "$net" -i "$data/x.npy" --json=/dev/null/x.json
says 3 '--on-device needs --device' run "$net" --random --on-device x
says 3 '--on-device zz: the model has no such input or output' \
  run "$net" --random --device shadow --on-device zz
says 2 '--top takes a whole number from 1' run "$net" --top 0
says 1 'operator com.acme::Foo; no plug-in offers it' run "$data/missing.onnx" --random
# too little memory, even for the message: the reason is given all the same. (A command with the
# address sanitizer cannot even start under a limit.)
if (ulimit -v 4000000 && "$tenon" --version) >/dev/null 2>&1; then
  for kb in $(seq 23000 150 27000); do
    said=$(ulimit -v "$kb" 2>/dev/null; "$tenon" run "$net" -i "$data/x.npy" 2>&1) ||
      [ -n "${said#tenon: error: }" ] || fail "with $kb kB of memory it fails without a reason"
  done
fi
says 3 "conv.*input 'W' is required" run "$data/wrong.onnx" --random
finish
