#!/bin/sh
# The examples of docs/add-an-op.md and docs/add-a-kernel.md, as they stand there: the operator is
# built as a plug-in and tested by the harness, the kernel is compiled.
# usage: docs_examples.sh SOURCE_DIR BUILD_DIR CC
set -eu
source=$1 build=$2 cc=$3
work=$build/tests/check/docs
rm -rf "$work" && mkdir -p "$work"

# block FILE LANGUAGE N: the N-th fenced block of that language
block() {
  awk -v fence="\`\`\`$2" -v n="$3" \
    '$0 == fence { k++; on = (k == n); next } /^```/ { on = 0 } on' "$source/docs/$1"
}

block add-an-op.md yaml 1 > "$work/gaussian.yaml"
block add-an-op.md c 1 > "$work/gaussian.c"
block add-an-op.md c 2 > "$work/gaussian_c.c"
block add-a-kernel.md c 1 > "$work/pool_avx2.c"
flags="-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
       -Wmissing-prototypes -Werror
       -O2 -fPIC -fvisibility=hidden -ffp-contract=off -I$source/include -I$source/src"

"$build/tenon-gen" --plugin docs "$work/gaussian.yaml" -o "$work"
$cc $flags -I"$work" -shared "$work/gaussian.c" "$work/gaussian_c.c" "$work/plugin.c" \
  "$build/libtenon.a" -lm -o "$work/docs.so"
"$build/tests/check/check" --plugin "$work/docs.so" --op com.example::Gaussian

# Its declarations would come from the line that the page adds to pool.yaml.
if [ "$(uname -m)" = x86_64 ]; then
  $cc $flags -Wno-missing-prototypes -mavx2 -mfma -I"$source/ops/pool" \
    -I"$build/gen" -c "$work/pool_avx2.c" -o "$work/pool_avx2.o"
fi
