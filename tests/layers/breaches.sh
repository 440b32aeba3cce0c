#!/bin/bash
# Breaks each rule of check-layers, check-columns and check-objects once, and expects to hear of it.
# usage: breaches.sh SCRIPTS-DIR WORK-DIR CC
set -euo pipefail

scripts=$1 work=$2 cc=$3
failures=0
expect() { # words that must stand in said.txt
  grep -qF -- "$1" said.txt ||
    { echo "FAILED: nothing is said about: $1"; failures=$((failures + 1)); }
}

rm -rf "$work"
mkdir -p "$work" && cd "$work"

mkdir -p tree/{src/base,src/graph,src/exec,ops/a,ops/b,include/tenon}
echo '#include "graph/graph.h"' >tree/src/base/up.c
echo '#  include "plan/plan.h"' >tree/src/graph/up.c
echo '#include "harness/harness.h"' >tree/src/exec/up.c
printf '#include %s\n' '<immintrin.h>' '"tenon/kit/infer.h"' '"a.gen.h"' '"b.h"' >tree/ops/a/a.c
echo '#include <immintrin.h>' >tree/ops/a/a_avx2.c
echo '#include "ops/a/a.h"' >tree/ops/b/b.c
echo '#include <stdio.h>' >tree/include/tenon/plugin.h
printf 'static __attribute__((format(printf, 1, 2)))\nvoid %s(const char *format, ...) {}\n' \
  loud '(low)' >tree/src/base/say.c
if "$scripts/check-layers" tree >said.txt; then echo "FAILED: check-layers passes"; failures=1; fi
expect 'src/base/up.c:1: may not use "graph/graph.h"'
expect 'src/graph/up.c:1: may not use "plan/plan.h"'
expect 'src/exec/up.c:1: may not use "harness/harness.h"'
expect 'ops/a/a.c:1: <immintrin.h>'
expect 'ops/a/a.c:4: "b.h" is not in'
expect 'ops/b/b.c:1: may not use "ops/a/a.h"'
expect 'include/tenon/plugin.h:1: plugin.h needs'
expect 'src/base/say.c:1: the name of what says a message'
expect '10 include lines checked, 8 breaches'

printf '/*%97s*/\n/*%96s*/\n' x x >tree/src/base/wide.c
printf '# \xc3\xa4%97s\n# \xc3\xa4%98s\n' x x >tree/ops/a/a.yaml
if "$scripts/check-columns" tree >said.txt; then
  echo "FAILED: check-columns passes"
  failures=1
fi
expect 'src/base/wide.c:1: longer than 100 columns'
expect 'ops/a/a.yaml:2: longer than 100 columns'
expect '10 files checked, 2 lines too long'

mkdir include
printf 'TN_API int tn_here(void);\nTN_API const char *tn_gone(void);\n' >include/x.h
mkdir include/tenon && mv include/x.h include/tenon/
cat >bad.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int counter;
static int hidden[2] = {1, 2};
int tn_here(void) { return counter++ + hidden[0]++; }
void *take(void) { return malloc(3); }
void leave(void) { puts("bye"); exit(1); }
END
"$cc" -fPIC -c bad.c -o bad.c.o
ar rc libbad.a bad.c.o
"$cc" -shared bad.c.o -o libbad.so
if "$scripts/check-objects" libbad.a libbad.so include >said.txt; then
  echo "FAILED: check-objects passes"
  failures=1
fi
expect 'bad.c.o uses malloc'
expect 'bad.c.o uses puts'
expect 'bad.c.o uses exit'
expect 'bytes of writable globals in .bss'
expect 'bytes of writable globals in .data'
expect 'not in libbad.so: tn_gone'
expect 'not declared with TN_API: counter leave take'

[ "$failures" -eq 0 ] && echo "all breaches noticed"
