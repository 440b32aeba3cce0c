#!/bin/bash
# Plan files: a program with nothing but their kernels gives the outputs of the whole library, and
# refuses what is damaged, of another version, or lacks a kernel.
# usage: plans.sh TENON BUILD SOURCE WORK
set -uo pipefail
tenon=$1 build=$2 source=$3 work=$4 failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
rm -rf "$work" && mkdir -p "$work"

# the plan file that the build has made, in the program that it was made for
plan=$build/selected_plan.select/net.plan
got=$("$build/hello_plan" "$plan") || fail "hello_plan does not run its plan file"
want=$("$build/hello_whole" "$source/tests/data/net.onnx")
[ "$got" = "$want" ] || fail "hello_plan: $got, the whole library: $want"
bytes=$(size "$build/hello_plan" | awk 'NR == 2 { print $1 + $2 }')
whole=$(size "$build/hello_whole" | awk 'NR == 2 { print $1 + $2 }')
echo "hello_plan: $bytes bytes of code and data, $whole with the whole library"
[ $((bytes * 5)) -lt "$whole" ] || fail "hello_plan is not smaller than a fifth of the whole"
nm "$build/hello_plan" | grep -E ' T tn_(model_load|callable_plan|registry_add)$' &&
  fail "it holds a planner"

# any model that a plan file is written of, with the kernels of the whole library
n=0
for model in "$source"/tests/data/*.onnx "$source"/tests/emit/models/*.onnx; do
  "$tenon" select --time-limit 2 --plan --target none "$model" -o "$work/any" >"$work/log" 2>&1 ||
    continue
  name=$(basename "$model" .onnx)
  grep -q 'does not run' "$work/log" && continue
  want=$("$build/hello_whole" "$model" 2>/dev/null) || continue
  got=$("$build/hello_plan_whole" "$work/any/$name.plan" 2>&1) || fail "$name: $got"
  [ "$got" = "$want" ] || fail "$name: $got, the whole library: $want"
  n=$((n + 1))
done
[ "$n" -ge 8 ] || fail "only $n plan files were written: $(cat "$work/log")"

# refuses PATTERN FILE
refuses() {
  "$build/hello_plan" "$2" >"$work/said" 2>&1
  [ $? = 1 ] || fail "$2: is not refused"
  grep -qE "$1" "$work/said" || fail "$2: '$(cat "$work/said")' does not match '$1'"
}
total=$(wc -c <"$plan")
for at in 0 9 20 85 100 200 500 1000 $((total - 1)); do
  cp "$plan" "$work/bad"
  printf '\xa5' | dd of="$work/bad" bs=1 seek="$at" conv=notrunc status=none
  refuses 'plan file|damaged|as long as' "$work/bad"
done
for size in 1 79 80 500 $((total - 64)); do
  head -c "$size" "$plan" >"$work/bad"
  refuses 'plan file|damaged|as long as' "$work/bad"
done
: >"$work/bad"
refuses 'cannot be read' "$work/bad"
refuses 'cannot be read' "$work/nothing"
refuses "lacks a kernel; add to its parts: runs '[a-z_0-9]*'" "$work/any/reductions.plan"

# what cannot stand in one is named
branch=$source/tests/data/branch.onnx
"$tenon" select --plan --target none "$branch" -o "$work/no" >"$work/log" 2>&1
[ $? = 1 ] || fail "branch.onnx: a plan file of subgraphs"
grep -q "node '.*(If), kernel 'if_c': no part of a plan file: it runs subgraphs" "$work/log" ||
  fail "branch.onnx: $(cat "$work/log")"
[ ! -e "$work/no" ] || fail "a refused model leaves a folder"
[ "$failures" = 0 ] && echo "$n plan files"
