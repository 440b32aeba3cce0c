#!/bin/bash
# tenon emit-c: what it says and writes, good and bad arguments.
# usage: rules.sh TENON MODELS WORK
set -uo pipefail
# shellcheck source=tests/cli/kit.sh
source "$(dirname "$0")/../cli/kit.sh" "$1" "$2" "$3" none

# the same files each time, also over older ones; other files stay
says 0 'arena [0-9]+ bytes, weights [0-9]+ bytes, 7 steps' emit-c "$data/pools.onnx" -o "$work/a"
says 0 '' emit-c "$data/pools.onnx" -o "$work/b"
touch "$work/b/mine.txt" && echo old >"$work/b/model.c"
says 0 '' emit-c "$data/pools.onnx" -o "$work/b"
[ -e "$work/b/mine.txt" ] && rm "$work/b/mine.txt" || fail "a file of somebody else's is gone"
diff -r "$work/a" "$work/b" || fail "two runs wrote different files"

# names; inputs of one's own
says 0 '' emit-c "$data/pools.onnx" -o "$work/named" --name kws2
grep -q 'void kws2_run(' "$work/named/model.h" || fail "--name does not name the function"
says 0 '' emit-c "$data/pools.onnx" -o "$work/seeded" --random=9
cmp -s "$work/seeded/model.c" "$work/a/model.c" || fail "the vector changes model.c"
cmp -s "$work/seeded/test.c" "$work/a/test.c" && fail "--random=9 changes nothing"

# where it comes from
grep -q "$(sha256sum <"$data/pools.onnx" | cut -d' ' -f1)" "$work/a/model.h" ||
  fail "the header does not say which model it is"
version=$("$tenon" --version | grep -oE '[0-9]+\.[0-9]+[^ ]*' | head -n 1)
grep -q "Tenon $version" "$work/a/model.h" ||
  fail "the header does not say which version wrote it"

# the test that is written can fail
says 0 '' emit-c "$data/convolutions.onnx" -o "$work/wrong"
sed -i '0,/0x1\./s//0x1.1/' "$work/wrong/weights.c"
(cd "$work/wrong" && cc -std=c11 -O2 -w ./*.c -lm -o test) || fail "does not compile"
"$work/wrong/test" && fail "a weight was changed, and the test still passes"

# its CMake file
if command -v cmake >/dev/null; then
  cmake -S "$work/named" -B "$work/cmake" >"$work/log" 2>&1 &&
    cmake --build "$work/cmake" >>"$work/log" 2>&1 &&
    (cd "$work/cmake" && ctest >>"$work/log" 2>&1) || fail "CMake: $(tail -n 5 "$work/log")"
fi

# compilers whose floats would have other bits, or other integers, are refused
says 0 '' emit-c "$data/quantised.onnx" -o "$work/needs" --name needs
compiles() { cc -std=c11 -fsyntax-only "$@" "$work/needs/model.c" 2>"$work/log"; }
compiles || fail "needs: $(cat "$work/log")"
flags=(-ffast-math)
[ "$(uname -m)" != x86_64 ] || flags+=(-mfpmath=387)
for flag in "${flags[@]}"; do
  compiles "$flag" && fail "$flag is taken"
  grep -q 'f32 is not computed in f32' "$work/log" || fail "$flag: $(cat "$work/log")"
  compiles "$flag" -DNEEDS_TOLERANCE=1e-5 || fail "$flag with a tolerance: $(cat "$work/log")"
done
sed 's/#include <limits.h>/&\n#undef INT_MAX\n#define INT_MAX 32767/' "$work/needs/model.c" \
  >"$work/needs/short.c"
cc -std=c11 -fsyntax-only "$work/needs/short.c" 2>"$work/log" && fail "int of 16 bits is taken"
grep -q 'int needs 32 bits' "$work/log" || fail "int of 16 bits: $(cat "$work/log")"

# what each product of codes costs a chip without 64-bit floats would be a hundred instructions
says 0 '' emit-c "$data/dynamic_rows.onnx" -o "$work/rows"
grep -q double "$work/rows/model.c" && fail "rows that become codes are scaled in 64-bit floats"

# all that cannot be written is said at once, and nothing is
says 1 "node 't' \(StringNormalizer\).*" emit-c "$data/refused.onnx" -o "$work/none"
also "node 'n' \(NonZero\), kernel 'non_zero_c': its outputs' shapes depend on data"
also "node 'f' \(Cast\): shapes depend on data of a run"
also "node 'c' \(CumSum\), kernel 'cum_sum_c': there is no C for this kernel yet"
also "input 'text': C has no type for it"
also "node 'b' \(Clip\), kernel 'clip_float_c': takes constant bounds"
also "input 'ends': what is computed was decided by its value"
[ ! -e "$work/none" ] || fail "a refused model leaves a folder"

says 2 'emit-c needs -o DIR' emit-c "$data/pools.onnx"
says 2 'emit-c needs a model' emit-c -o "$work/x"
says 2 "'1st' is no C name" emit-c "$data/pools.onnx" -o "$work/x" --name 1st
says 2 "'a-b' is no C name" emit-c "$data/pools.onnx" -o "$work/x" --name a-b
says 2 'for one thread: --isa and --threads' emit-c "$data/pools.onnx" -o "$work/x" --threads 2
says 1 'for the CPU alone' emit-c "$data/pools.onnx" -o "$work/x" --device shadow
says 3 'cannot open' emit-c "$work/nothing.onnx" -o "$work/x"
touch "$work/file"
says 3 'the folder cannot be made' emit-c "$data/pools.onnx" -o "$work/file"
says 3 'the folder cannot be made' emit-c "$data/pools.onnx" -o "$work/no/where"
mkdir -p "$work/taken/model.c"
says 3 '' emit-c "$data/pools.onnx" -o "$work/taken"
finish
