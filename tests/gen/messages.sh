#!/bin/bash
# Runs tenon-gen on the files in bad/ and compares what it says with <file>.expected; then checks
# what it writes.
# usage: messages.sh TENON-GEN WORK-DIR
set -euo pipefail

gen=$1
work=$2/messages
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

cd "$(dirname "$0")/bad"
rm -rf "$work"
mkdir -p "$work/out" "$work/again" "$work/docs"

for file in *.yaml; do
  if "$gen" --check "$file" 2>"$work/said"; then fail "$file is accepted"; fi
  diff -u "${file%.yaml}.expected" "$work/said" || fail "$file: the messages differ"
done

# Libraries in the form of ExecuTorch, one behind the other: every problem with the place, or both
# places, that it has.
cd torch
libraries="front.yaml --fallback behind.yaml"
# shellcheck disable=SC2086
if "$gen" --plugin x --check $libraries --schemas schemas.yaml 2>"$work/said"; then
  fail "bad libraries are accepted"
fi
diff -u all.expected "$work/said" || fail "libraries: the messages differ"
# shellcheck disable=SC2086
if "$gen" --check $libraries 2>"$work/said"; then fail "--fallback without --plugin"; fi
grep -q -- '--fallback is for plug-ins' "$work/said" || fail "nothing is said of --fallback"
cd ..

# The schemas that come with Tenon are found where nobody names them; what is no option names those
# that there are.
"$gen" --plugin x --check ../good/torch_names.yaml 2>"$work/said" ||
  fail "add.out is not found: $(cat "$work/said")"
if "$gen" --chekc x.yaml 2>"$work/said"; then fail "--chekc is an option"; fi
grep -q -- 'unknown option --chekc; there are .*--check' "$work/said" || fail "no options are named"

# Problems of all files are reported, and nothing is written if there are any.
if "$gen" cases.yaml ../good/sample.yaml syntax.yaml \
  -o "$work/out" 2>"$work/said"; then fail "bad files are accepted"; fi
grep -q '^cases.yaml:' "$work/said" || fail "problems of the first file are missing"
grep -q '^syntax.yaml:' "$work/said" || fail "problems of the second file are missing"
[ -z "$(ls "$work/out")" ] || fail "something was written in spite of problems"

# The order of the files makes no difference, and files that stay the same keep their date.
cd ../good
"$gen" --plugin sample sample.yaml other.yaml -o "$work/out" --docs "$work/docs"
"$gen" --plugin sample other.yaml sample.yaml -o "$work/again"
for file in plugin.c sample.gen.h other.gen.h; do
  cmp "$work/out/$file" "$work/again/$file" || fail "$file depends on the order of the files"
done
touch -d 2001-01-01 "$work/out/plugin.c"
"$gen" --plugin sample sample.yaml other.yaml -o "$work/out"
[ "$(date -r "$work/out/plugin.c" +%Y)" = 2001 ] ||
  fail "plugin.c was written although nothing changed"
grep -q 'conv2_d_f32_avx512_vnni. | 200 | avx512 avx512_vnni' "$work/docs/sample.md" ||
  fail "the op table lacks a kernel"

# Libraries may have files of one name; every schema that comes with Tenon can be used.
schemas=../../../gen/aten.yaml
mkdir -p "$work/front" "$work/behind"
cp ../torch/doc_functions.yaml "$work/front/ops.yaml"
cp ../torch/doc_fallback.yaml "$work/behind/ops.yaml"
"$gen" --plugin two "$work/front/ops.yaml" --fallback "$work/behind/ops.yaml" --schemas $schemas \
  -o "$work/out" || fail "two libraries of one name"
ls "$work/out/ops.gen.h" "$work/out/ops_2.gen.h" >"$work/said" || fail "a header is missing"
sed -n 's/^- func: \([^(]*\)(.*/- {op: \1, kernels: [{kernel_name: "k::\1"}]}/p' $schemas |
  sed 's/k::\([^"]*\)\./k::\1_/' >"$work/aten.yaml"
[ "$(wc -l <"$work/aten.yaml")" -gt 80 ] || fail "schemas that come with Tenon are missing"
"$gen" --plugin aten --check "$work/aten.yaml" --schemas $schemas || fail "schemas of Tenon"

# Without a family there is still a table; what is no option, folder or file is said.
"$gen" -o "$work/out"
grep -q tn_builtin_query "$work/out/builtin.c" || fail "no table without families"
for arguments in "-o" "--what" "x.yaml" "none.yaml -o $work/out" "-o $work/nowhere"; do
  # shellcheck disable=SC2086
  if "$gen" $arguments 2>"$work/said"; then fail "'$arguments' is accepted"; fi
  [ -s "$work/said" ] || fail "nothing is said about '$arguments'"
done

[ "$failures" -eq 0 ] && echo "all messages as expected"
