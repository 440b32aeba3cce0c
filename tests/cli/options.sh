#!/bin/bash
# What all subcommands do alike: help, unknown options, missing arguments, files that cannot be
# read.
. "$(dirname "$0")/kit.sh"

says 0 '^usage: tenon COMMAND' --help
says 2 '^usage: tenon COMMAND'
says 0 '^tenon [0-9]+\.[0-9]+\.[0-9]+ \(plug-in ABI' --version
says 2 "there is no command 'fly'" fly

commands=$("$tenon" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 10 ] || fail "too few commands: $commands"
for command in $commands; do
  says 0 "^usage: tenon $command " "$command" --help
  also '^examples:'
  also '^  -h, --help'
  never '.{129}' # fits a terminal
  says 2 "tenon $command has no option '--wings'; .tenon $command --help. lists them" \
    "$command" --wings
  says 2 '--threads takes a whole number from 0 to 1024, not .many' "$command" --threads many
  says 2 '--isa: .sse9. is no instruction set' "$command" --isa sse9
  says 2 "--isa: '' is no instruction set" "$command" --isa ''
  says 2 '--weight-cache: the name of the folder is empty' "$command" --weight-cache ''
  says 2 '--plugin needs a value \(FILE\)' "$command" --plugin
  says 2 '--no-optimize takes no value' "$command" --no-optimize=yes
done

says 0 '^format +onnx$' info "$data/net.onnx" --model-format onnx
says 3 "there is no entry 'nosuch': the file holds nothing" info "$data/net.onnx" --entry nosuch
says 3 "there is no format 'nosuch'" info "$data/net.onnx" --model-format nosuch
says 3 'Model: stands outside the file' info "$data/net.onnx" --model-format tflite

for command in run info check explain bench compare convert; do
  says 2 "tenon $command needs " "$command"
  rest=()
  [ $command = compare ] && rest=(--with "$data/net_expected")
  [ $command = convert ] && rest=("$work/out.onnx")
  code=3
  says $code 'cannot open .*/nowhere.onnx: No such file' \
    "$command" "$data/nowhere.onnx" "${rest[@]}"
  says $code 'truncated.onnx: .*longer than the message it stands in' \
    "$command" "$data/truncated.onnx" "${rest[@]}"
  says $code 'regular file|Is a directory' "$command" "$data" "${rest[@]}"
  says $code 'text.onnx: ' "$command" "$here/../data/text.onnx" "${rest[@]}"
  says 3 '/nowhere.so' "$command" "$data/net.onnx" "${rest[@]}" --plugin "$work/nowhere.so"
  no_file "$work/out.onnx"
done
says 2 "one argument too many" run a.onnx b.onnx
says 2 'tenon test needs a folder' test

# What is meant is told.
says 2 "no option '--radnom'; did you mean '--random'\?" run "$data/net.onnx" --radnom
says 2 "no command 'chekc'; did you mean 'check'\?" chekc
says 3 "it has 'x'; did you mean 'x'\?" run "$data/net.onnx" -i "X=$data/x.npy"
says 3 "no input has a dim of this name; did you mean 'batch'\?" \
  run "$data/net.onnx" --random --dim batsh=2
says 3 "has no output 'Y'; did you mean 'y'\?" run "$data/net.onnx" --random -o "Y=$work/y.npy"
says 1 "operator Realu; no plug-in offers it; did you mean 'Relu'\?" run "$data/typo.onnx" --random
says 1 "Realu .*no plug-in offers it; did you mean 'Relu'\?" check "$data/typo.onnx"
says 1 "no operator 'Sofmax'.*did you mean 'Softmax'\?" ops Sofmax

# Operators that come with a plug-in that is not loaded: which, and where it lies.
says 1 "the plug-in 'contrib'.*contrib.so \(--plugin\)" run "$data/shipped.onnx" --random
says 1 "FastGelu \(com.microsoft\).*the plug-in 'contrib'.*contrib.so" check "$data/shipped.onnx"
says 1 "Convolution2DTransposeBias.*the plug-in 'tflite_custom'.*tflite_custom.so \(--plugin\)" \
  check "$data/../tflite_custom/models/conv_transpose_same/model.tflite"

# Nodes without a name are known by number and by what they make.
says 3 "node #1 that makes 'y' \(Conv\): input 'W' is required" run "$data/nameless.onnx" --random

# Operator sets that are newer than this.
says 0 "warning: .*operator set 99 of ai.onnx is newer" run "$data/newer.onnx" --random

# Options may stand anywhere, end with --, and come in three forms.
for form in '-n 2' '--repeat 2' '--repeat=2'; do
  # shellcheck disable=SC2086
  says 0 'then 1 runs' run $form "$data/net.onnx" --input "$data/x.npy" --time
done
cp "$data/net.onnx" "$work/--strange.onnx"
(cd "$work" && says 0 '^y: f32' run -i "$data/x.npy" -- --strange.onnx; exit $failures) ||
  failures=$((failures + 1))

# What takes long is shown on a terminal, and taken away again; nothing of it when piped.
shows() {
  local pattern=$1
  shift
  checks=$((checks + 1))
  script -qec "'$tenon' $*" /dev/null >"$work/shown" 2>&1 </dev/null
  grep -qE -- "$pattern" "$work/shown" || fail "tenon $* shows no '$pattern' on a terminal"
  checks=$((checks + 1))
  # shellcheck disable=SC2086
  eval "\"$tenon\" $*" 2>&1 >"$work/plain" | grep -qE -- "$pattern|$(printf '\033')" &&
    fail "tenon $* shows its progress when it is piped"
}
if command -v script >/dev/null; then
  cp "$data/net.onnx" "$work/$(printf 'x\033[2Jx').onnx"
  shows 'loading [^ ]*net.onnx' info "$data/net.onnx" --dim batch=1
  shows 'writing [^ ]*copy.onnx' convert "$data/net.onnx" "$work/copy.onnx"
  shows 'timing kernels' tune "$data/net.onnx" --dim batch=1 -o "$work/x.tuning"
  shows 'running [^ ]*net.onnx' emit-c "$data/net.onnx" --dim batch=1 -o "$work/c"
  shows '1 of 1: ' select "$data/net.onnx" --dim batch=1 -o "$work/parts.txt"
  shows 'loading [^ ]*x.\[2Jx.onnx' "info '$work/'x*x.onnx" --dim batch=1
fi

# Output that cannot be written is noticed.
if [ -e /dev/full ]; then
  "$tenon" ops >/dev/full 2>"$work/said" && fail "a full disk is not noticed"
  grep -q 'standard output cannot be written' "$work/said" || fail "a full disk is not mentioned"
fi
finish
